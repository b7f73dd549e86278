"""The text of a new bench.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.board.descriptor import board_types
from harness.core.errors import UsageError
from harness.core.suggest import did_you_mean
from harness.probe.listing import UsbProbe

_HEAD = """\
# Boards this host can reach. `harness boards` shows what became of it.
version: 1
# Emulated boards start when a test asks for one; "off" leaves only the boards listed here.
virtual: on-demand
"""


def parse_boards(texts: Sequence[str]) -> dict[int, str]:
    """`SERIAL=TYPE` texts as a mapping; `UsageError` when one is malformed, repeated or names no board type."""
    known = board_types()
    out: dict[int, str] = {}
    for text in texts:
        serial, mark, kind = text.partition("=")
        if not mark or not serial.isdigit() or not 0 < int(serial) < 2**32:
            raise UsageError(
                f"--board {text!r} is not of the form SERIAL=TYPE.", todo="For example: 683012345=mps2_an386"
            )
        if kind not in known:
            raise UsageError(f"There is no board type {kind!r}.", why=did_you_mean(kind, known))
        if int(serial) in out:
            raise UsageError(f"Serial {serial} is named twice.", todo="One probe has one board.")
        out[int(serial)] = kind
    return out


def bench_text(boards: Mapping[int, str], probes: Iterable[UsbProbe]) -> str:
    """bench.yaml with the boards given; probes on USB that are not among them follow as comments."""
    known = board_types()
    lines = ["boards:" if boards else "boards: []"]
    for serial, kind in boards.items():
        probe = "virtual" if known[kind].source == "emulated" else "jlink"
        lines += [f"  - serial: {serial}", f"    board: {kind}", f"    probe: {probe}", "    transport: rtt"]
    for item in probes:
        if item.serial is not None and item.serial not in boards:
            lines += [
                f"# {item.product} at USB {item.location}; state its board type:",
                f"#  - {{serial: {item.serial}, board: TYPE, probe: jlink, transport: rtt}}",
            ]
    return _HEAD + "\n".join(lines) + "\n"
