"""ETDumps read from emulated boards: out of memory and over RTT, the bytes that the firmware has."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.board.descriptor import load_board_type
from tests.e2e.conftest import BOARDS, ROOT
from tests.e2e.test_cli import answer, harness
from tests.interop.samples import etdump, etrecord

EVENTS = [("OPERATOR_CALL", 0, 0, 10, 30), ("OPERATOR_CALL", 0, 1, 40, 45)]
DUMP = etdump([("Execute", EVENTS)] * 4)
Firmware = Callable[[str, bytes], Path]


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    def build(board: str, dump: bytes) -> Path:
        place = tmp_path_factory.mktemp("firmware")
        listed = ",".join(map(str, dump))
        (place / "dump.h").write_text(f"static const uint8_t dump[] = {{{listed}}};\n")
        board_type = load_board_type(board)
        cpu = next(flag for flag in board_type.core.cpuflags if flag.startswith("-mcpu="))
        command = [
            *(
                "arm-none-eabi-gcc",
                cpu,
                "-mthumb",
                "-mfloat-abi=soft",
                "-std=c11",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
            ),
            *("-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", f"-I{place}"),
            f"-Wl,--defsym=CODE_ORIGIN={board_type.region('code').origin:#x}",
            f"-Wl,--defsym=RAM_ORIGIN={board_type.region('ram').origin:#x}",
            *("-T", str(ROOT / "tests/virtual/firmware/link.ld"), "-o", str(place / "image.elf")),
            str(ROOT / "tests/interop/firmware/etdump.c"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return place / "image.elf"

    return build


@pytest.mark.parametrize("way", [(), ("--rtt",)], ids=["memory", "rtt"])
@pytest.mark.parametrize("board", BOARDS)
def test_the_dump_of_the_firmware_comes_back(
    firmware: Firmware, board: str, way: tuple[str, ...], tmp_path: Path
) -> None:
    elf, out = firmware(board, DUMP), tmp_path / "dump.etdp"
    told = answer("etdump", elf, "--board", board, "--flash", *way, "--out", out)
    assert out.read_bytes() == DUMP
    assert (told["runs"], told["events"], told["source"], told["bytes"]) == (4, 8, "emulated", len(DUMP))
    record = etrecord(tmp_path / "r.etrecord", {"forward": {0: 1, 1: 2}}, [("a", "aten.a", 1), ("b", "aten.b", 2)])
    document = answer("import", out, record)
    figures = {
        item["entity_id"]: {metric["name"]: metric["value"] for metric in item["metrics"]}
        for item in document["results"][0]["breakdowns"]
    }
    assert figures["source_operator/a"]["executions"] == 3, "the first execution is left out"
    assert figures["source_operator/a"]["runtime"] == pytest.approx(20e-6)


def test_what_never_comes_ends_by_its_deadline(firmware: Firmware, tmp_path: Path) -> None:
    elf, out = firmware("mps2_an386", DUMP), tmp_path / "dump.etdp"
    common = ("etdump", elf, "--board", "mps2_an386", "--flash", "--out", out)
    late = harness(*common, "--size-symbol", "never_set", "--timeout", "4", "--json")
    assert late.returncode == 1 and json.loads(late.stdout)["error"]["code"] == "capture.deadline"
    assert "never_set is still 0" in late.stdout
    missing = harness(*common, "--symbol", "no_such_symbol")
    assert missing.returncode == 6 and "no_such_symbol" in missing.stderr
    assert harness(*common, "--rtt", "--symbol", "x").returncode == 2
    assert not out.exists()


def test_what_is_no_dump_is_refused(firmware: Firmware, tmp_path: Path) -> None:
    elf, out = firmware("mps2_an386", b"\x05" * 64), tmp_path / "dump.etdp"
    refused = harness("etdump", elf, "--board", "mps2_an386", "--flash", "--out", out)
    assert refused.returncode == 5 and not out.exists()
