"""Which boards a test runs on: those it names, or those that meet what it requires, and whether the bench has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.core.errors import HarnessError
from harness.pytest_plugin.marker import HilMark, closest
from harness.pytest_plugin.options import get_option

if TYPE_CHECKING:
    from harness.bench.inventory import Bench
    from harness.board.descriptor import BoardType

BENCH = pytest.StashKey["Bench"]()


@dataclass(frozen=True)
class Choice:
    """A board type to run on, or the reason why there is none."""

    name: str
    unavailable: str = ""


def bench_of(config: pytest.Config) -> Bench:
    """The bench of this session, loaded once."""
    if BENCH not in config.stash:
        from harness.bench.inventory import load_bench

        path = get_option(config, "bench")
        try:
            config.stash[BENCH] = load_bench(Path(path) if path else None)
        except HarnessError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[BENCH]


def serial_for(config: pytest.Config, board_type: str) -> int | None:
    """The serial that `--hil-board` asks for, when it names a board of this type by serial."""
    wanted = {int(text) for text in get_option(config, "board") if text.isdecimal()}
    for info in bench_of(config).boards():
        if info.board_type == board_type and info.serial in wanted:
            return int(info.serial)
    return None


def select_boards(config: pytest.Config, mark: HilMark, nodeid: str) -> list[Choice]:
    """The choices for one test, never empty.

    Raises:
        pytest.UsageError: an unknown board type or an unknown fact.
    """
    from harness.board.descriptor import board_types

    try:
        known = board_types()
        present = _present(config)
    except HarnessError as error:
        raise pytest.UsageError(str(error)) from None
    for name in mark.boards:
        if name not in known:
            hint = closest(name, list(known)) or "; `harness boards --types` lists them"
            raise pytest.UsageError(f"{nodeid}: there is no board type {name!r}{hint}")
    names = mark.boards or tuple(present)
    matching = [name for name in names if _meets(known[name], mark.requires, nodeid)]
    if not matching:
        wish = f" that meets {dict(mark.requires)}" if mark.requires else ""
        return [Choice("no-board", f"no board{wish} on the bench; it has: {', '.join(present) or 'none'}")]
    return [_choice(name, present) for name in matching]


def _choice(name: str, present: Mapping[str, object]) -> Choice:
    if name in present:
        return Choice(name)
    return Choice(name, f"no {name} on the bench; it has: {', '.join(present) or 'none'}")


def _present(config: pytest.Config) -> dict[str, None]:
    wanted = get_option(config, "board")
    boards = bench_of(config).boards()
    for text in wanted:
        if not any(text in (info.board_type, str(info.serial)) for info in boards):
            have = ", ".join(sorted({info.board_type for info in boards})) or "none"
            raise pytest.UsageError(f"--hil-board {text}: the bench has no such board; it has: {have}")
    return {
        info.board_type: None
        for info in boards
        if not wanted or info.board_type in wanted or str(info.serial) in wanted
    }


def facts_of(board: BoardType) -> dict[str, Any]:
    """What `requires` can ask for."""
    return {
        "source": board.source,
        "core": board.core.name,
        "fpu": board.core.fpu,
        "mve": board.core.mve,
        "pmu": board.core.counter_unit == "armv8m-pmu",
        "counter_unit": board.core.counter_unit,
    }


def _meets(board: BoardType, requires: Mapping[str, Any], nodeid: str) -> bool:
    facts = facts_of(board)
    for name in requires:
        if name not in facts:
            raise pytest.UsageError(
                f"{nodeid}: requires asks for the unknown fact {name!r}{closest(name, facts)} "
                f"(facts: {', '.join(facts)})"
            )
    return all(facts[name] == value for name, value in requires.items())
