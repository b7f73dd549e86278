"""Board types that nobody has run here, and new ones: their images are linked and checked against their memory maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bench.inventory import load_bench
from harness.board.descriptor import BoardType, board_types, load_board_type
from harness.board.skeleton import Skeleton, write_skeleton
from harness.image.build import build
from harness.image.elf import ElfFacts
from harness.image.record import Build
from harness.plan.freeze import freeze
from tests.image.conftest import MODEL

SILICON = {name: board for name, board in board_types().items() if board.source == "silicon"}
VECTORS = 16


def word(facts: ElfFacts, address: int) -> int:
    for start, data in facts.segments:
        if start <= address and address + 4 <= start + len(data):
            return int.from_bytes(data[address - start : address - start + 4], "little")
    raise AssertionError(f"nothing is programmed at {address:#x}")


def check_image(made: Build, board: BoardType) -> None:
    """What the core and the probe take for granted, against the descriptor."""
    facts, code, ram = made.elf_facts, board.region("code"), board.region("ram")
    for section in facts.sections:
        homes = [m for m in board.memory if m.origin <= section.address and section.address + section.size <= m.end]
        assert len(homes) == 1, section
        assert section.kind != "text" or homes[0].kind == "code", section
    sections = {section.name: section for section in facts.sections}
    # The vector table: first word the top of the stack, second the entry, the others Thumb code in code memory.
    assert sections[".vectors"].address == code.origin
    assert word(facts, code.origin) == sections[".stack"].address + sections[".stack"].size
    assert sections[".stack"].size >= board.buffers.stack
    handlers = [word(facts, code.origin + 4 * number) for number in range(1, VECTORS)]
    assert handlers[0] == facts.entry | 1
    assert all(handler & 1 and code.origin <= handler < code.end for handler in handlers)
    # Every byte to program lies in code memory, behind which nothing is written.
    assert all(code.origin <= start and start + len(data) <= code.end for start, data in facts.segments)
    assert ram.origin <= facts.rtt_address < ram.end
    arena = sections[".arena_ram"]
    assert arena.size >= made.engine.arena_bytes and ram.origin <= arena.address < ram.end
    assert sections[".pmu_access"].address % 0x400 == 0 and sections[".pmu_access"].size <= 0x800


@pytest.mark.parametrize("name", SILICON)
def test_image_fits_its_memory_map(name: str, tmp_path: Path) -> None:
    board = SILICON[name]
    made = build(freeze(MODEL, board=name), tmp_path / "out")
    check_image(made, board)
    header = (made.directory / "generated/board_map.h").read_text()
    assert "#define BOARD_DWT_BASE 0xe0001000u" in header
    assert ("#define BOARD_PMU_BASE 0xe0003000u" in header) == (board.core.counter_unit == "armv8m-pmu")
    assert "OBSERVER" not in header, "silicon has no observer"


def test_other_memory_of_a_board_holds_its_arena(tmp_path: Path) -> None:
    made = build(freeze(MODEL, board="apollo510_evb", arena_location="sram"), tmp_path / "out")
    arena = next(section for section in made.elf_facts.sections if section.name == ".arena_sram")
    sram = SILICON["apollo510_evb"].region("sram")
    assert sram.origin <= arena.address and arena.address + arena.size <= sram.end


def test_unverified_types_are_never_offered_as_boards() -> None:
    assert {"nrf52840dk", "apollo510_evb"} <= set(SILICON)
    for board in SILICON.values():
        assert board.qualification.state in ("unverified", "verified") and board.emulator is None
    assert not {info.board_type for info in load_bench(None).boards()} & set(SILICON)


@pytest.mark.parametrize(
    "wish",
    [
        Skeleton("mine", "cortex-m3", code=(0x0800_0000, 1 << 18), ram=(0x2000_0000, 96 << 10)),
        Skeleton("mine", "cortex-m7"),
        Skeleton("mine", based_on="mps2_an505"),
        Skeleton("mine", based_on="apollo510_evb"),
    ],
    ids=lambda wish: wish.core or wish.based_on,
)
def test_a_new_board_type_links(wish: Skeleton, tmp_path: Path) -> None:
    boards = tmp_path / "boards"
    write_skeleton(wish, boards)
    plan = freeze(MODEL, board="mine", boards_path=[str(boards)])
    made = build(plan, tmp_path / "out", boards_path=[boards])
    check_image(made, load_board_type("mine", extra=[boards]))
    assert "port/startup.c" in made.basis["units"]
