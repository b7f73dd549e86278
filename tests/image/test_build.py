"""Building: the same plan gives the same bytes anywhere; a build that fails leaves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.board.descriptor import load_board_type
from harness.core.errors import BuildError, PlanError, ToolMissingError, UsageError
from harness.core.hashing import sha256_bytes
from harness.image.build import build
from harness.image.diagnostics import ImageTooLargeError
from harness.image.elf import read_elf
from harness.image.port_files import link_script
from harness.image.record import Build, board_regions, code_region, load_build
from harness.plan.freeze import freeze
from harness.plan.record import Plan
from harness.plan.toolchain import TOOLCHAINS
from tests.image.conftest import BOARDS

_CLOCK = """
#include <stddef.h>
#include <sys/time.h>
#include <time.h>
#define WHEN 1893456000
time_t time(time_t *out) { if (out) *out = WHEN; return WHEN; }
int clock_gettime(clockid_t id, struct timespec *out) { (void)id; out->tv_sec = WHEN; out->tv_nsec = 0; return 0; }
int gettimeofday(struct timeval *out, void *zone) { (void)zone; out->tv_sec = WHEN; out->tv_usec = 0; return 0; }
"""


def _nothing_left(parent: Path, *, besides: set[str] = frozenset()) -> bool:
    return {entry.name for entry in parent.iterdir()} <= besides


@pytest.mark.parametrize("board", BOARDS)
def test_a_build_states_what_it_is(reference: dict[str, Build], board: str) -> None:
    made = reference[board]
    assert made.elf_facts.build_id == made.build_id
    assert any(region.kind == "ram" and region.holds(made.rtt_address) for region in board_regions(made.plan))
    assert 0 < made.memory["code"].used < made.memory["code"].length
    assert made.memory["ram"].bss > made.engine.arena_bytes
    assert made.elf_facts.symbolise(made.elf_facts.entry).startswith("Reset_Handler")
    assert made.inputs and all(item.source == "zero" for item in made.inputs)
    assert [len(data) for data in made.input_bytes()] == [tensor.nbytes for tensor in made.engine.input_tensors]
    assert made.model_path.read_bytes() != b""
    assert load_build(made.record_path) == load_build(made.directory)


def test_no_path_of_this_host_is_in_the_image(reference: dict[str, Build]) -> None:
    for made in reference.values():
        image = made.elf.read_bytes()
        for path in (Path(__file__).parents[2], made.directory.parent, Path(shutil.which("python3") or "/").parent):
            assert str(path).encode() not in image


def test_same_bytes_in_any_directory_at_any_date_with_cold_caches(
    reference: dict[str, Build],
    tmp_path: Path,
    fake_compiler: Callable[[str], None],
) -> None:
    source, shim = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(_CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
    fake_compiler(f"export LD_PRELOAD={shim}")
    first = reference[BOARDS[0]]
    made = build(first.plan, tmp_path / ("a-much-longer-directory-name-" * 5) / "x", cache=False)
    assert made.sha256 == first.sha256
    assert made.build_id == first.build_id
    assert made.record_path.read_bytes() == first.record_path.read_bytes()


def test_warm_cache_gives_the_same_bytes_without_compiling(
    reference: dict[str, Build], tmp_path: Path, fake_compiler: Callable[[str], None]
) -> None:
    fake_compiler('case "$*" in *" -c "*|*-Wl,-Map*) exit 9;; esac')
    first = reference[BOARDS[0]]
    assert build(first.plan, tmp_path / "again").sha256 == first.sha256


@pytest.mark.parametrize("name", ["image.elf", "unit.o", "seal"])
def test_damage_in_the_cache_is_repaired(
    reference: dict[str, Build], tmp_path: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    first = reference[BOARDS[0]]
    cache = Path(shutil.copytree(shared_cache, tmp_path / "cache"))
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(cache))
    for file in cache.rglob(name):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    assert build(first.plan, tmp_path / "again").sha256 == first.sha256


def test_what_decides_the_image_changes_its_id(reference: dict[str, Build], tmp_path: Path) -> None:
    first = reference[BOARDS[0]]
    single = build(first.plan, tmp_path / "single", lifecycle="single")
    scope = build(first.plan, tmp_path / "scope", timing_scope="restore_and_invoke")
    fewer = build(freeze(first.plan.model.path, board=BOARDS[0], iterations=3), tmp_path / "fewer")
    builds = [first, single, scope, fewer]
    assert len({made.build_id for made in builds}) == 4
    assert len({made.sha256 for made in builds}) == 4
    assert len({made.build_hash for made in builds}) == 4


def test_inputs_are_pinned_and_never_linked(reference: dict[str, Build], tmp_path: Path) -> None:
    first = reference[BOARDS[0]]
    files = []
    for number, tensor in enumerate(first.engine.input_tensors):
        files.append(tmp_path / f"{number}.raw")
        files[-1].write_bytes(bytes((7 * i + number) % 256 for i in range(tensor.nbytes)))
    made = build(first.plan, tmp_path / "out", inputs=files)
    assert made.input_bytes() == tuple(file.read_bytes() for file in files)
    assert {item.source for item in made.inputs} == {"file"}
    assert made.sha256 == first.sha256
    assert made.build_hash != first.build_hash


def test_inputs_that_do_not_fit_are_refused_and_leave_nothing(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "short.raw").write_bytes(b"x")
    out = tmp_path / "out"
    with pytest.raises(UsageError, match="has 1 bytes"):
        build(plan, out, inputs=[tmp_path / "short.raw"])
    with pytest.raises(UsageError, match="9 input files"):
        build(plan, out, inputs=[tmp_path / "short.raw"] * 9)
    assert not out.exists()
    assert _nothing_left(tmp_path, besides={"short.raw"})


def test_out_must_be_new_or_empty(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    build(plan, out)
    before = (out / "build.json").read_bytes()
    with pytest.raises(UsageError, match="not a new or empty directory"):
        build(plan, out)
    assert (out / "build.json").read_bytes() == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError):
        build(plan, tmp_path / "file")


def test_a_moved_directory_validates(copied: Path, reference: dict[str, Build]) -> None:
    assert load_build(copied).build_hash == reference[BOARDS[0]].build_hash


def test_a_moved_model_is_found_by_its_bytes(model: Path, tmp_path: Path) -> None:
    plan = freeze(model, board=BOARDS[0])
    moved = model.rename(tmp_path / "elsewhere.tflite")
    assert freeze(moved, board=BOARDS[0]).intent_hash == plan.intent_hash
    with pytest.raises(PlanError, match="does not exist"):
        build(plan, tmp_path / "a")
    assert build(plan, tmp_path / "b", model=moved).plan == plan


def test_drift_is_listed_frozen_versus_now(plan: Plan, tmp_path: Path, fake_compiler: Callable[[str], None]) -> None:
    fake_compiler('[ "$1" = --version ] && { echo "gcc 99"; exit 0; }')
    with pytest.raises(PlanError) as caught:
        build(plan, tmp_path / "out")
    assert "toolchain.version: frozen arm-none-eabi-gcc" in caught.value.why
    assert "now gcc 99" in caught.value.why
    assert not (tmp_path / "out").exists()


def test_a_failed_build_leaves_no_temporary_directory(
    plan: Plan, tmp_path: Path, fake_compiler: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    fake_compiler('[ "$1" = --version ] && { echo "gcc 99"; exit 0; }')
    with pytest.raises(PlanError):
        build(plan)
    assert list(place.iterdir()) == []


def test_missing_compiler(plan: Plan, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ToolMissingError) as frozen:
        freeze(model, board=BOARDS[0])
    with pytest.raises(ToolMissingError) as built:
        build(plan, tmp_path / "out")
    for caught in (frozen, built):
        assert caught.value.exit_code == 6
        assert "arm-none-eabi-gcc" in caught.value.what
    assert not (tmp_path / "out").exists()


def test_a_compiler_error_is_one_typed_error(
    plan: Plan, tmp_path: Path, fake_compiler: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(cache))
    fake_compiler('case "$*" in *frames.c*) echo "firmware/app/frames.c:7:3: error: no such thing" >&2; exit 1;; esac')
    with pytest.raises(BuildError) as caught:
        build(plan, tmp_path / "out")
    assert caught.value.what == "firmware/app/frames.c does not compile."
    assert caught.value.why == "firmware/app/frames.c:7: no such thing"
    assert not (tmp_path / "out").exists()
    assert not list(cache.rglob(".tmp-*"))
    monkeypatch.setenv("PATH", os.environ["PATH"].split(os.pathsep, 1)[1])
    build(plan, tmp_path / "out")


def test_dates_in_sources_do_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("const char *when = __DATE__;\n")
    spec = TOOLCHAINS["gcc"]
    done = subprocess.run(
        [spec.compiler, *spec.cflags, "-c", str(source), "-o", str(tmp_path / "a.o")], capture_output=True
    )
    assert done.returncode != 0 and b"date-time" in done.stderr


def test_an_image_that_does_not_fit_is_refused_with_numbers(tmp_path: Path, model: Path) -> None:
    boards = tmp_path / "boards"
    boards.mkdir()
    small = 16 * 1024
    (boards / "small.yml").write_text(
        "name: small\nbased_on: mps2_an386\nmemory:\n"
        "  - {name: code, kind: code, origin: 0, length: 0x400000}\n"
        f"  - {{name: ram, kind: ram, origin: 0x20000000, length: {small}}}\n"
        "  - {name: psram, kind: ram, origin: 0x21000000, length: 0x1000000}\n"
    )
    plan = freeze(model, board="small", boards_path=[str(boards)])
    with pytest.raises(ImageTooLargeError) as caught:
        build(plan, tmp_path / "out", boards_path=[boards])
    facts = caught.value.context["regions"]["ram"]
    assert facts["length"] == small
    assert facts["needed"] - facts["length"] == facts["overflow"] > 0
    assert f"has {small}" in caught.value.why
    assert not (tmp_path / "out").exists()


def test_a_ports_own_linker_script_wins(tmp_path: Path, model: Path) -> None:
    boards = tmp_path / "boards"
    base = load_board_type("mps2_an386")
    port = Path(shutil.copytree(base.port_dir, boards / "ports" / "own"))
    (boards / "own.yml").write_text("name: own\nbased_on: mps2_an386\nport: own\n")
    script = link_script(base).replace("_stack_bytes = 32768", "_stack_bytes = 4096")
    (port / "link.ld").write_text(script)
    made = build(freeze(model, board="own", boards_path=[str(boards)]), tmp_path / "out", boards_path=[boards])
    assert next(section.size for section in made.elf_facts.sections if section.name == ".stack") == 4096
    assert "port/link.ld" in made.basis["sources"] and "generated/link.ld" not in made.basis["sources"]


def test_an_arena_that_is_too_small_is_refused_with_numbers(reference: dict[str, Build], tmp_path: Path) -> None:
    needed = reference[BOARDS[0]].engine.arena_bytes
    with pytest.raises(BuildError, match="arena") as caught:
        build(freeze(reference[BOARDS[0]].plan.model.path, board=BOARDS[0], arena_size=16), tmp_path / "out")
    assert str(needed) in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_placement_follows_the_plan(reference: dict[str, Build], tmp_path: Path) -> None:
    first = reference[BOARDS[0]]
    moved = build(freeze(first.plan.model.path, board=BOARDS[0], arena_location="psram"), tmp_path / "out")
    assert first.memory["psram"].used == 0
    assert moved.memory["psram"].bss >= moved.engine.arena_bytes
    assert moved.memory["ram"].used < first.memory["ram"].used


def test_a_test_fault_is_part_of_plan_and_image(reference: dict[str, Build], tmp_path: Path) -> None:
    first = reference[BOARDS[0]]
    faulty = build(freeze(first.plan.model.path, board=BOARDS[0], test_fault="corrupt@1"), tmp_path / "out")
    assert faulty.plan.intent_hash != first.plan.intent_hash
    assert faulty.elf_facts.symbol("harness_test_fault_op") is not None
    assert first.elf_facts.symbol("harness_test_fault_op") is None


def test_read_elf_agrees_with_the_toolchains_own_tools(reference: dict[str, Build], tmp_path: Path) -> None:
    for made in reference.values():
        listing = subprocess.run(["arm-none-eabi-nm", str(made.elf)], check=True, capture_output=True, text=True).stdout
        addresses = {row[2]: int(row[0], 16) for row in map(str.split, listing.splitlines()) if len(row) == 3}
        facts = read_elf(made.elf, board_regions(made.plan))
        assert facts.rtt_address == addresses["_SEGGER_RTT"]
        assert {symbol.name: symbol.address for symbol in facts.symbols if symbol.name == "main"} == {
            "main": addresses["main"]
        }
        code = code_region(made.plan)
        flat = made.flat_image.path.read_bytes()
        sections = [section for section in facts.sections if section.kind == "text"]
        assert {".vectors", ".text", ".pmu_access"} <= {section.name for section in sections}
        for section in sections:
            file = tmp_path / "section.bin"
            options = ["-O", "binary", "-j", section.name]
            subprocess.run(["arm-none-eabi-objcopy", *options, str(made.elf), str(file)], check=True)
            start = section.address - code.origin
            assert sha256_bytes(flat[start : start + section.size]) == sha256_bytes(file.read_bytes()), section.name
