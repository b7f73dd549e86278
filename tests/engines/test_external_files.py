"""What a person gives as an external engine: runtime.yaml refused by line and key, static libraries by member."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import BuildError, HarnessError, ModelError, SettingsError, UnsupportedModelError
from harness.engines.base import EngineOptions, get_engine
from harness.engines.catalogue import known, one
from harness.engines.external import known as known_module
from harness.engines.external.archive import check_archive
from harness.engines.external.manifest import RuntimeFileError, load_runtime
from harness.model.load import load_model

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples/digits/digits.tflite"
POCKET = ROOT / "examples/external-engine/pocket"
GOOD = "harness_runtime: 1\nname: toy\nversion: '1.0'\nsources: [a.c]\narena_bytes: 64\n"
M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
SOFT = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft")
M55 = ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard")


def runtime(tmp_path: Path, text: str = GOOD, name: str = "toy") -> Path:
    place = tmp_path / name
    place.mkdir()
    (place / "a.c").write_text("int a;\n")
    (place / "runtime.yaml").write_text(text)
    return place


def options(place: Path, **more: object) -> EngineOptions:
    return EngineOptions({"directory": str(place)}, core="cortex-m4", cpuflags=M4, toolchain="gcc", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD + "libaries: []\n", ":6: unknown key 'libaries'. Did you mean 'libraries'?"),
        (GOOD + "libraries: [{path: l.a, core: [x]}]\n", "unknown key 'libraries.0.core'. Did you mean 'cores'?"),
        (GOOD.replace("'1.0'", "1.0"), ":3: version: Input should be a valid string"),
        (GOOD.replace("toy", "Toy"), ":2: name:"),
        (GOOD.replace("toy", "firmware"), ":2: name: 'firmware' is taken"),
        (GOOD.replace("a.c", "../a.c"), ":4: sources.0: '../a.c' leaves the directory"),
        (GOOD.replace("a.c", "/a.c"), ":4: sources.0: '/a.c' leaves the directory"),
        (GOOD.replace("a.c", "b*.c"), ":4: sources: 'b*.c' names no file"),
        (GOOD.replace("a.c", "runtime.yaml"), ":4: sources: runtime.yaml is no source file"),
        (GOOD.replace("sources: [a.c]\n", ""), "neither sources nor libraries"),
        (GOOD + "includes: [nowhere]\n", ":6: includes: 'nowhere' is no directory"),
        (GOOD + "flags: [-I.]\n", ":6: flags.0: '-I.' is not of the form"),
        (GOOD + "flags: ['-Wl,-x']\n", ":6: flags.0: '-Wl,-x' is not of the form"),
        (GOOD + "flags: [-mcpu=cortex-m0]\n", ":6: flags.0: -mcpu=cortex-m0 is not allowed"),
        (GOOD + "model: own\n", "model: own and model_sha256 go together"),
        (GOOD + "arena_bytes: 1\n", ":6 repeats the key 'arena_bytes'"),
        (GOOD + "layers: [{operator: 2, name: A}, {operator: 1, name: B}]\n", "in the order of the model file"),
        (GOOD.replace("harness_runtime: 1", "harness_runtime: 2"), ":1: harness_runtime:"),
        ("- a\n", "is not a mapping"),
        ("", "is not a mapping"),
        ("name: [\n", "is not YAML"),
    ],
)
def test_a_mistake_is_named_by_file_line_and_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(RuntimeFileError) as caught:
        load_runtime(runtime(tmp_path, text))
    assert told in str(caught.value) and "runtime.yaml" in str(caught.value)


def test_the_digest_covers_every_file_and_no_place(tmp_path: Path) -> None:
    place = runtime(tmp_path)
    first = load_runtime(place).sha256
    assert load_runtime(Path(shutil.copytree(place, tmp_path / "copy"))).sha256 == first
    (place / "notes.txt").write_text("x")
    assert load_runtime(place).sha256 != first


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    place = runtime(tmp_path)
    (place / "b.c").symlink_to(DIGITS)
    with pytest.raises(SettingsError, match="leads out"):
        load_runtime(place)


def test_model_board_and_options_must_fit(tmp_path: Path) -> None:
    engine, model = get_engine("external"), load_model(DIGITS)
    engine.check(model, options(POCKET))
    for number, (more, error, told) in enumerate(
        (
            ("cores: [cortex-m55]\n", SettingsError, "does not support core 'cortex-m4'"),
            ("toolchains: [llvm]\n", SettingsError, "does not support toolchain 'gcc'"),
            ("operators: [CONV_2D, SOFTMAX]\n", UnsupportedModelError, "operator 8 (FULLY_CONNECTED)"),
            (f"model: own\nmodel_sha256: {'ab' * 32}\n", ModelError, "holds another model"),
            ("layers: [{operator: 4, name: A}]\n", SettingsError, "layers end with operator 4"),
        )
    ):
        with pytest.raises(error) as caught:
            engine.check(model, options(runtime(tmp_path, GOOD + more, f"r{number}")))
        assert told in str(caught.value)
    with pytest.raises(UnsupportedModelError) as caught:
        engine.check(model, options(runtime(tmp_path, GOOD + "operators: [ADD]\n", "all")))
    assert len(caught.value.context["problems"]) == len(model.operators)
    with pytest.raises(SettingsError, match="how large its arena"):
        engine.check(model, options(runtime(tmp_path, GOOD.replace("arena_bytes: 64\n", ""), "no-arena")))
    with pytest.raises(SettingsError, match="Did you mean 'directory'"):
        engine.check(model, EngineOptions({"directory": str(POCKET), "directry": "x"}))
    with pytest.raises(SettingsError, match="needs a runtime"):
        engine.check(model, EngineOptions({}))


def test_known_runtimes_come_from_variable_and_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "several").mkdir()
    one_place = runtime(tmp_path / "several", GOOD, "one")
    runtime(tmp_path / "several", "name: [\n", "broken")
    other = runtime(tmp_path, GOOD.replace("toy", "other"), "other")
    monkeypatch.setenv("HARNESS_RUNTIMES", os.pathsep.join([str(tmp_path / "several"), str(tmp_path / "nowhere")]))
    entries = [
        EntryPoint("a", "os:getcwd", known_module.GROUP),
        EntryPoint("b", "no_such_module:x", known_module.GROUP),
    ]
    monkeypatch.setattr(known_module, "entry_points", lambda group: entries)
    monkeypatch.chdir(other)
    found = {(info.name, info.state): info for info in known()}
    assert {("toy", "ready"), ("other", "ready"), ("broken", "broken"), ("aot", "ready")} <= set(found)
    assert found["other", "ready"].origin == "entry point a"
    assert any("no_such_module" in info.problem for info in known() if info.state == "broken")
    assert one("toy").sha256 == load_runtime(one_place).sha256
    with pytest.raises(SettingsError, match="Did you mean 'other'"):
        one("othr")
    with pytest.raises(HarnessError, match="is not YAML"):
        one("broken")
    Path(shutil.copytree(one_place, tmp_path / "several/two") / "more.c").write_text("int b;\n")
    with pytest.raises(SettingsError, match="2 different runtimes"):
        one("toy")


def archive(place: Path, flags: tuple[str, ...], text: str = "int f(int x) { return x + 1; }\n") -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / "a_member_with_a_long_name.c").write_text(text)
    source, member = place / "a_member_with_a_long_name.c", place / "a_member_with_a_long_name.o"
    compiler = "arm-none-eabi-gcc" if flags else "gcc"
    subprocess.run([compiler, *flags, "-c", str(source), "-o", str(member)], check=True, timeout=60)
    subprocess.run(["arm-none-eabi-ar", "rcs", str(place / "lib.a"), str(member)], check=True, timeout=60)
    return place / "lib.a"


def test_a_fitting_library_passes(tmp_path: Path) -> None:
    check_archive(archive(tmp_path / "m4", M4), "cortex-m4", M4)
    check_archive(archive(tmp_path / "m55", M55), "cortex-m55", M55)
    check_archive(tmp_path / "m4/lib.a", "cortex-m55", M55)


@pytest.mark.parametrize(
    ("flags", "text", "told"),
    [
        (SOFT, "", "its float ABI is soft, the board's is hard"),
        (M55, "", "Armv8.1-M Mainline, not for cortex-m4"),
        (("-mcpu=cortex-a9", "-mfloat-abi=hard", "-mfpu=neon"), "", "profile A, not for cortex-m4"),
        ((), "", "64-bit little-endian object for EM_X86_64"),
        ((*M4, "-flto"), "", "only what link-time optimisation needs"),
        (M4, "__attribute__((constructor)) void early(void) {}\n", "static constructors"),
    ],
)
def test_a_member_that_does_not_fit_is_named(tmp_path: Path, flags: tuple[str, ...], text: str, told: str) -> None:
    library = archive(tmp_path, flags, text or "int f(int x) { return x + 1; }\n")
    with pytest.raises(BuildError) as caught:
        check_archive(library, "cortex-m4", M4)
    assert told.lower() in caught.value.why.lower()
    assert caught.value.context["member"] == "a_member_with_a_long_name.o"


@given(cut=st.integers(0, 4000), at=st.integers(0, 4000), byte=st.integers(0, 255))
def test_a_damaged_library_is_refused_or_passes_but_never_breaks(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, byte: int
) -> None:
    whole = _whole(tmp_path_factory)
    data = bytearray(whole[: max(len(whole) - cut, 0)])
    if at < len(data):
        data[at] = byte
    file = tmp_path_factory.getbasetemp() / "damaged.a"
    file.write_bytes(data)
    try:
        check_archive(file, "cortex-m4", M4)
    except BuildError as error:
        assert error.what and error.why


def _whole(factory: pytest.TempPathFactory) -> bytes:
    place = factory.getbasetemp() / "whole"
    return (place / "lib.a").read_bytes() if (place / "lib.a").is_file() else archive(place, M4).read_bytes()


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "lib.a"
    for data, told in (
        (b"", "not an archive"),
        (b"!<thin>\n", "thin archive"),
        (b"!<arch>\n", "no objects"),
        (b"!<arch>\n" + struct.pack("60s", b"a.o/"), "damaged at byte 8"),
    ):
        file.write_bytes(data)
        with pytest.raises(BuildError) as caught:
            check_archive(file, "cortex-m4", M4)
        assert told in caught.value.why


@pytest.mark.parametrize("pattern", [".", "src/**.c", "a" * 300])
def test_what_is_no_pattern_is_named_by_line(tmp_path: Path, pattern: str) -> None:
    place = runtime(tmp_path, GOOD.replace("[a.c]", f"['{pattern}']"))
    with pytest.raises(RuntimeFileError, match=r"runtime\.yaml:4: sources: .* is no pattern"):
        load_runtime(place)


def test_a_link_that_leads_out_is_refused_wherever_it_lies(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.c").write_text("int x;\n")
    for number, (text, link, target) in enumerate(
        [
            (GOOD.replace("[a.c]", "[link/x.c]"), "link", outside),
            (GOOD + "includes: [link]\n", "link", outside),
            (GOOD, "deep/link", outside),
            (GOOD, "x.c", outside / "x.c"),
        ]
    ):
        place = runtime(tmp_path, text, f"toy{number}")
        (place / "deep").mkdir()
        (place / link).symlink_to(target)
        with pytest.raises(SettingsError, match="leads out of the directory"):
            load_runtime(place)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (GOOD.replace("[a.c]", "[.x/b.c]"), ".x/b.c"),
        (GOOD.replace("[a.c]", "[__pycache__/b.c]"), "__pycache__/b.c"),
        (GOOD + "includes: [.x]\n", ".x/b.h"),
        (GOOD + "includes: [inner]\n", ".x/b.h"),
        (GOOD + "libraries: [{path: .x/b.a}]\n", ".x/b.a"),
    ],
)
def test_nothing_that_the_digest_leaves_out_can_be_named(tmp_path: Path, text: str, file: str) -> None:
    place = runtime(tmp_path, text)
    (place / file).parent.mkdir()
    (place / file).write_text("int b;\n")
    (place / "inner").symlink_to(".x")
    with pytest.raises(RuntimeFileError, match="digest does not cover"):
        load_runtime(place)


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo])
def test_a_library_that_is_no_file_is_refused_and_not_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    place = runtime(tmp_path, GOOD + "libraries: [{path: l.a}]\n")
    make(place / "l.a")
    with pytest.raises(RuntimeFileError, match=r"digest does not cover l\.a"):
        load_runtime(place)


def test_where_an_inner_link_leads_is_part_of_the_digest(tmp_path: Path) -> None:
    place = runtime(tmp_path, GOOD + "includes: [now]\n")
    for name in ("one", "two"):
        (place / name).mkdir()
        (place / name / "a.h").write_text(f"/* {name} */\n")
    (place / "now").symlink_to("one")
    first = load_runtime(place).sha256
    (place / "now").unlink()
    (place / "now").symlink_to("two")
    assert load_runtime(place).sha256 != first


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    place = runtime(tmp_path)
    (place / os.fsdecode(b"\xff.h")).write_text("")
    with pytest.raises(SettingsError, match="no name in UTF-8"):
        load_runtime(place)


def test_a_list_of_runtimes_survives_each_broken_one(tmp_path: Path) -> None:
    runtime(tmp_path, GOOD.replace("[a.c]", "['.']"), "broken")
    runtime(tmp_path, GOOD + f"includes: [{'i' * 300}]\n", "odd")
    runtime(tmp_path)
    states = {info.name: info.state for info in known([tmp_path])}
    assert (states["broken"], states["odd"], states["toy"]) == ("broken", "broken", "ready")
