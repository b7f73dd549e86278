"""What goes into an image: the headers found are at least those the compiler reads; keys follow every input."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harness.board.descriptor import load_board_type
from harness.core.errors import BuildError
from harness.engines.base import get_engine
from harness.image.build_header import FILE_NAME, build_header, fault_flags
from harness.image.compile import image_key, object_key
from harness.image.port_files import write_port_files
from harness.image.project import Project, firmware_project
from harness.image.record import Build
from harness.model.load import load_model
from harness.plan.checks import TEST_FAULTS
from harness.plan.freeze import engine_options
from harness.plan.toolchain import find_toolchain
from tests.image.conftest import BOARDS


@pytest.fixture(params=BOARDS)
def project(request: pytest.FixtureRequest, reference: dict[str, Build], tmp_path: Path) -> Project:
    plan = reference[request.param].plan
    board = load_board_type(plan.board)
    generated = tmp_path / "generated"
    generated.mkdir()
    engine = get_engine("aot").generate(
        load_model(reference[request.param].model_path), engine_options(plan), generated
    )
    write_port_files(board, generated)
    (generated / FILE_NAME).write_text(build_header(plan, "0" * 32, "carry", "invoke_only"))
    return firmware_project(plan.settings, board, find_toolchain("gcc", board.core.cpuflags), generated, engine)


def test_headers_found_are_at_least_those_the_compiler_reads(project: Project) -> None:
    for unit in project.units:
        command = [str(project.toolchain.compiler), *project.flags(unit), "-MM", str(unit.path)]
        command += [f"-I{directory.path}" for directory in project.include_dirs]
        rule = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        read = {Path(word).resolve() for word in rule.replace("\\\n", " ").split()[1:]}
        found = {header.path.resolve() for header in project.closure(unit)} | {unit.path.resolve()}
        assert read <= found, unit.name


def test_every_unit_has_a_name_of_its_own(project: Project) -> None:
    names = [unit.name for unit in project.units]
    assert names == sorted(set(names))
    assert any(name.startswith("generated/") for name in names)
    assert "port/startup.c" in names and "firmware/app/main.c" in names


def test_a_changed_header_changes_the_keys_of_its_users_only(project: Project) -> None:
    before = {unit.name: object_key(project, unit) for unit in project.units}
    header = project.roots["generated"] / FILE_NAME
    header.write_text(header.read_text().replace("0" * 32, "1" * 32))
    again = replace(project, units=tuple(replace(unit) for unit in project.units))
    changed = {unit.name for unit in again.units if object_key(again, unit) != before[unit.name]}
    users = {
        unit.name for unit in again.units if any(item.name == f"generated/{FILE_NAME}" for item in again.closure(unit))
    }
    assert changed == users
    assert "firmware/app/main.c" in changed and "firmware/app/frames.c" not in changed


def test_flags_and_toolchain_change_every_key(project: Project) -> None:
    unit = project.units[0]
    other = replace(project, cflags=(*project.cflags, "-fno-inline"))
    newer = replace(
        project,
        toolchain=replace(project.toolchain, facts=replace(project.toolchain.facts, version="other")),
    )
    assert len({object_key(item, unit) for item in (project, other, newer)}) == 3
    linked = replace(project, ldflags=(*project.ldflags, "-Wl,-O1"))
    assert image_key(linked, {}) != image_key(project, {})


def test_includes_through_macros_are_refused(project: Project, tmp_path: Path) -> None:
    file = project.roots["generated"] / "odd.c"
    file.write_text("#define WHAT <stdint.h>\n#include WHAT\n")
    with pytest.raises(BuildError, match="macro WHAT"):
        project.closure(project.source(file))


def test_files_outside_the_roots_are_refused(project: Project, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="outside"):
        project.source(tmp_path / "elsewhere.c")


def test_firmware_knows_every_fault_that_a_plan_may_ask_for(project: Project) -> None:
    header = (project.roots["firmware"] / "app" / "test_fault.h").read_text()
    for fault in TEST_FAULTS:
        (flag,) = fault_flags(fault)
        assert f"#define {flag.split('=')[1]} " in header
    assert fault_flags("none") == ()
    assert fault_flags("hang@3")[1] == "-DHARNESS_TEST_FAULT_AT=3u"
    assert fault_flags("corrupt@3")[1] == "-DHARNESS_TEST_FAULT_OP=3u"
