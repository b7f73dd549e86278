"""`harness boards new`: what it writes validates, inherits, and never overwrites."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.board.descriptor import BOARDS_PATH, load_board_type
from harness.board.skeleton import CORES, Skeleton, parse_region, write_skeleton
from harness.cli._main import run_cli
from harness.core.errors import UsageError


@pytest.mark.parametrize("core", CORES)
def test_every_core_gives_a_valid_board_type(core: str, tmp_path: Path) -> None:
    out = tmp_path / "boards"
    files = write_skeleton(Skeleton("mine", core, code=(0x0800_0000, 1 << 20), ram=(0x2000_0000, 1 << 17)), out)
    assert [path.relative_to(out).as_posix() for path in files] == [
        "mine.yml",
        "ports/mine/board.h",
        "ports/mine/startup.c",
    ]
    board = load_board_type("mine", extra=[out])
    assert (board.core.name, board.source, board.qualification.state) == (core, "silicon", "unverified")
    assert f"-mcpu={core}" in board.core.cpuflags
    assert (board.region("code").origin, board.region("ram").length) == (0x0800_0000, 1 << 17)
    assert board.identity[0].value == CORES[core].cpuid
    assert board.port_dir == out / "ports" / "mine"
    assert board.buffers.stack + 4 * board.buffers.sample_words + board.buffers.rtt_up < board.region("ram").length / 2


def test_shipped_descriptors_agree_about_their_cores() -> None:
    for name in ("mps2_an386", "mps2_an500", "mps2_an505", "mps3_an547", "nrf52840dk", "apollo510_evb"):
        core = load_board_type(name).core
        facts = CORES[core.name]
        assert ", ".join(core.cpuflags) == facts.flags
        assert (core.fpu, core.mve, core.counter_unit, core.counter_slots) == (
            facts.fpu,
            facts.mve,
            facts.counter_unit,
            facts.counter_slots,
        )
        assert load_board_type(name).identity[0].value == facts.cpuid


def test_one_based_on_an_emulated_board_is_silicon(tmp_path: Path) -> None:
    write_skeleton(Skeleton("mine", based_on="mps3_an547", ram=(0x2000_0000, 0x18000), device="CHIP"), tmp_path)
    mine, base = load_board_type("mine", extra=[tmp_path]), load_board_type("mps3_an547")
    assert mine.emulator is None and mine.source == "silicon" and mine.jlink.device == "CHIP"
    assert mine.core == base.core and mine.region("code") == base.region("code")
    assert dict(mine.arena_locations) == {"ram": "ram"} and mine.region("ram").length == 0x18000


def test_one_based_on_silicon_keeps_how_the_chip_is_told(tmp_path: Path) -> None:
    write_skeleton(Skeleton("mine", based_on="nrf52840dk"), tmp_path)
    mine, base = load_board_type("mine", extra=[tmp_path]), load_board_type("nrf52840dk")
    assert (mine.identity, mine.jlink, mine.memory) == (base.identity, base.jlink, base.memory)


def test_nothing_is_overwritten_and_a_refusal_leaves_nothing(tmp_path: Path) -> None:
    wish = Skeleton("mine", "cortex-m4")
    write_skeleton(wish, tmp_path)
    (tmp_path / "mine.yml").write_text("# mine\n")
    with pytest.raises(UsageError, match="already"):
        write_skeleton(wish, tmp_path)
    assert (tmp_path / "mine.yml").read_text() == "# mine\n"
    (tmp_path / "mine.yml").unlink()
    with pytest.raises(UsageError, match=r"board\.h exists"):
        write_skeleton(wish, tmp_path)
    assert not (tmp_path / "mine.yml").exists()
    with pytest.raises(UsageError, match="overlap"):
        write_skeleton(Skeleton("other", "cortex-m4", code=(0, 0x8000), ram=(0x4000, 0x8000)), tmp_path)
    assert not (tmp_path / "ports" / "other").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["Mine", "--core", "cortex-m4"], "no name of a board type"),
        (["mine"], "Neither --core nor --based-on"),
        (["mine", "--core", "cortex-m5"], "Did you mean 'cortex-m55'"),
        (["mine", "--based-on", "mps3_an574"], "Did you mean 'mps3_an547'"),
        (["mps2_an386", "--core", "cortex-m4"], "already"),
        (["mine", "--core", "cortex-m4", "--ram", "128K"], "no ORIGIN:LENGTH"),
        (["mine", "--core", "cortex-m4", "--ram", "0xFFFFFFFF:2"], "no ORIGIN:LENGTH"),
    ],
)
def test_mistakes_are_refused(
    arguments: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["boards", "new", *arguments, "--out", str(tmp_path / "new")]) == 2
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_the_command_lists_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "boards"
    command = ["boards", "new", "mine", "--core", "cortex-m33", "--code", "0:256K", "--ram", "0x20000000:0x10000"]
    assert run_cli([*command, "--out", str(out), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["board_type"] == "mine" and all(Path(path).is_file() for path in written["files"])
    monkeypatch.setenv(BOARDS_PATH, str(out))
    assert run_cli(["boards", "--types"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("mine "))
    assert "cortex-m33" in line and "unverified" in line


def test_regions_are_read_with_their_units() -> None:
    assert parse_region("0x20000000:128K", "--ram") == (0x2000_0000, 1 << 17)
    assert parse_region("0:0x100", "--code") == (0, 256)
    assert parse_region("134217728:1M", "--code") == (0x0800_0000, 1 << 20)
