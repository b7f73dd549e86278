"""Board types: what is read, what is inherited, what is refused and how the refusal helps."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from harness.board.descriptor import BOARDS_PATH, board_types, load_board_type
from harness.core.errors import BoardDescriptorError
from harness.core.resources import data_dir


def _shipped(name: str) -> dict:
    return yaml.safe_load((data_dir("boards") / f"{name}.yml").read_text())


def _write(directory: Path, name: str, content: dict | str) -> Path:
    file = directory / f"{name}.yml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump({"name": name, **content}, sort_keys=False))
    return file


CORES = {
    "mps2_an386": ("cortex-m4", "dwt", False),
    "mps2_an500": ("cortex-m7", "dwt", False),
    "mps2_an505": ("cortex-m33", "dwt", False),
    "mps3_an547": ("cortex-m55", "armv8m-pmu", True),
    "stm32f405": ("cortex-m4", "dwt", False),
}


def test_emulated_boards_are_complete() -> None:
    found = {name: board for name, board in board_types().items() if board.source == "emulated"}
    assert {name: (b.core.name, b.core.counter_unit, b.core.mve) for name, b in found.items()} == CORES
    for board in found.values():
        assert board.qualification.state == "emulated" and board.emulator is not None
        assert board.emulator.cost_table.basis.startswith("Modelled, not validated against silicon")
        assert board.port_dir.is_dir() and board.transports[0] == "rtt"


def test_the_real_chip_has_its_own_memory_map() -> None:
    board = load_board_type("stm32f405")
    code, ram = board.region("code"), board.region("ram")
    assert (code.origin, code.length) == (0x0800_0000, 1 << 20)
    assert (ram.origin, ram.length) == (0x2000_0000, 128 << 10)
    assert board.emulator is not None and board.emulator.pages.dwt >= ram.end, "the pages lie where the chip has none"


def test_no_two_shipped_types_share_their_identity() -> None:
    checks = [tuple((c.address, c.mask, c.value) for c in board.identity) for board in board_types().values()]
    assert len(set(checks)) == len(checks)


def test_memory_map_of_the_pages_is_as_firmware_has_it() -> None:
    m4, m55 = load_board_type("mps2_an386"), load_board_type("mps3_an547")
    assert m4.emulator is not None and m55.emulator is not None
    assert (m4.emulator.pages.dwt, m4.emulator.pages.pmu, m4.emulator.pages.observer) == (0x203FC000, None, 0x203FE000)
    assert m55.emulator.pages.pmu == 0x3007D000
    assert m4.region("ram").end == 0x203FC000
    assert m55.region("ram").end == 0x3007C000


def test_a_users_directory_inherits_and_overrides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, "mine", {"based_on": "mps2_an386", "title": "Mine", "clocks": {"rates_hz": {"fast": 50_000_000}}})
    monkeypatch.setenv(BOARDS_PATH, str(tmp_path))
    board = load_board_type("mine")
    assert (board.name, board.title) == ("mine", "Mine")
    assert board.clocks.rates_hz == {"nominal": 25_000_000, "fast": 50_000_000}
    assert board.core == load_board_type("mps2_an386").core
    assert board.path == tmp_path / "mine.yml"
    assert "mine" in board_types()


def test_null_takes_away_what_was_inherited(tmp_path: Path) -> None:
    change = {
        "source": "silicon",
        "qualification": {"state": "unverified"},
        "emulator": None,
        "arena_locations": {"psram": None},
    }
    _write(tmp_path, "mine", {"based_on": "mps2_an386", **change})
    board = load_board_type("mine", extra=[tmp_path])
    assert board.emulator is None and dict(board.arena_locations) == {"ram": "ram"}
    assert dict(board.weights_locations) == {"code": "code", "ram": "ram", "psram": "psram"}


def test_a_port_beside_the_descriptor_wins(tmp_path: Path) -> None:
    (tmp_path / "ports" / "own").mkdir(parents=True)
    _write(tmp_path, "mine", {"based_on": "mps2_an386", "port": "own"})
    assert load_board_type("mine", extra=[tmp_path]).port_dir == tmp_path / "ports" / "own"
    _write(tmp_path, "other", {"based_on": "mps2_an386", "port": "nowhere"})
    with pytest.raises(BoardDescriptorError, match="nowhere"):
        _ = load_board_type("other", extra=[tmp_path]).port_dir


def test_unknown_name_suggests() -> None:
    with pytest.raises(BoardDescriptorError, match="mps3_an547") as caught:
        load_board_type("mps3_an574")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("name: mine\nbased_on: mps2_an386\ncore:\n  cpuflgs: []\n", 4, "Did you mean 'cpuflags'"),
        ("name: mine\nbased_on: mps2_an386\njlnk: {}\n", 3, "Did you mean 'jlink'"),
        ("name: mine\nbased_on: mps2_an386\njlink:\n  speed_khz: true\n", 4, "valid integer"),
        ("name: mine\nbased_on: mps2_an386\nmemory:\n  - {name: a, kind: rom, origin: 0, length: 4}\n", 4, "'code' or"),
        ("name: mine\nbased_on: mps2_an386\ntitle: a\ntitle: b\n", 4, "repeats the key 'title'"),
        ("name: mine\nbased_on: mps3_an574\n", 2, "Did you mean 'mps3_an547'"),
        ("name: yours\n", 1, "must equal the file's"),
        ("name: mine\nbased_on: mps2_an386\npath: x\n", 3, "unknown key 'path'"),
        ("name: mine\nx: [\n", 3, "is not YAML"),
        ("name: mine\nbased_on: &a mps2_an386\ntitle: *a\n", 3, "aliases are not allowed"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, text: str, line: int, expected: str) -> None:
    file = _write(tmp_path, "mine", text)
    with pytest.raises(BoardDescriptorError) as caught:
        load_board_type("mine", extra=[tmp_path])
    assert f"{file}:{line}" in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"memory": [{"name": "a", "kind": "ram", "origin": at, "length": 64} for at in (0, 64)]}, "same name"),
        (
            {
                "memory": [
                    {"name": "code", "kind": "code", "origin": 0, "length": 64},
                    {"name": "ram", "kind": "ram", "origin": 32, "length": 64},
                ],
                "arena_locations": {"ram": "ram"},
            },
            "overlap",
        ),
        *(
            (
                {
                    "memory": [
                        {"name": "code", "kind": "code", "origin": code, "length": 64},
                        {"name": "ram", "kind": "ram", "origin": ram, "length": 64},
                    ]
                },
                expected,
            )
            for code, ram, expected in ((0x40, 0x2000_0000, "multiple of 128"), (0, 0x2000_0004, "multiple of 8"))
        ),
        ({"defaults": {"arena": "tcm"}}, "not among arena_locations"),
        ({"arena_locations": {"ram": "nowhere"}}, "unknown memory 'nowhere'"),
        ({"arena_locations": {"ram": "code"}}, "not of kind ram"),
        ({"clocks": {"default": "fast"}}, "default is not among"),
        ({"source": "silicon"}, "emulator"),
        ({"qualification": {"state": "verified", "by": "me", "on": "2026-01-01"}}, "qualification"),
        ({"qualification": {"state": "verified", "by": "me"}}, "belong to the state verified"),
        ({"qualification": {"state": "verified", "by": "me", "on": "yesterday"}}, "qualification.on"),
        ({"qualification": {"state": "emulated", "by": "me", "on": "2026-01-01"}}, "belong to the state verified"),
        ({"emulator": {"pages": {"dwt": 0x20000000}}}, "lies in memory"),
        ({"emulator": {"qemu_memory": [{"origin": 0, "length": 64, "kind": "flash"}]}}, "sectors fill flash"),
        (
            {"emulator": {"qemu_memory": [{"origin": 0, "length": 64, "kind": "ram", "sectors": [[64, 1]]}]}},
            "sectors fill flash, and only flash",
        ),
        ({"macros": {"UART_BASE": 1}}, "macros"),
        ({"buffers": {"stack": 2049}}, "buffers.stack"),
        ({"identity": [{"name": "CPUID", "address": 0xE000ED00, "value": 1}]}, "identity"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, change: dict, expected: str) -> None:
    _write(tmp_path, "mine", {"based_on": "mps2_an386", **change})
    with pytest.raises(BoardDescriptorError, match=expected):
        load_board_type("mine", extra=[tmp_path])


def test_circular_inheritance_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, "a", {"based_on": "b"})
    _write(tmp_path, "b", {"based_on": "a"})
    with pytest.raises(BoardDescriptorError, match="based on itself"):
        load_board_type("a", extra=[tmp_path])


def test_shadowing_a_shipped_type_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, "mps2_an386", _shipped("mps2_an386"))
    with pytest.raises(BoardDescriptorError, match="Two descriptors claim"):
        load_board_type("mps2_an386", extra=[tmp_path])


def test_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BoardDescriptorError, match="does not exist"):
        load_board_type("mps2_an386", extra=[tmp_path / "none"])


def test_firmware_facts_leave_out_what_cannot_change_an_image(tmp_path: Path) -> None:
    base = load_board_type("mps2_an386")
    _write(
        tmp_path,
        "mine",
        {
            "based_on": "mps2_an386",
            "title": "x",
            "jlink": {"speed_khz": 1000},
            "emulator": {"cost_table": {"version": "x"}},
        },
    )
    mine = load_board_type("mine", extra=[tmp_path]).firmware_facts()
    assert {**mine, "name": base.name} == base.firmware_facts()
    assert base.firmware_facts()["memory"][0] == {"name": "code", "kind": "code", "origin": 0, "length": 0x400000}
