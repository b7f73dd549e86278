"""Pages of docs/ written from the code, those of DOCUMENTS: `.venv/bin/python scripts/docs_tables.py`.

Issue codes, metrics and profile exceptions have a writer of their own, `python -m harness.judge.tables docs`.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTE = "<!-- Written by scripts/docs_tables.py from the code; edit that. -->"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def errors() -> str:
    """`docs/errors.md`: every error type with its code, class and exit code."""
    import harness
    from harness.core.errors import INFRASTRUCTURE, HarnessError

    for module in pkgutil.walk_packages(harness.__path__, "harness."):
        if "._data" not in module.name and "__main__" not in module.name and "_child" not in module.name:
            importlib.import_module(module.name)

    def tree(kind: type[HarnessError]) -> Iterable[type[HarnessError]]:
        yield kind
        for sub in sorted(kind.__subclasses__(), key=lambda item: item.__name__):
            # Only what the modules hold now: in a test session there are errors of tests, and those of modules that
            # pytester had imported and dropped again.
            if getattr(sys.modules.get(sub.__module__), sub.__name__, None) is sub and sub.__module__[:8] == "harness.":
                yield from tree(sub)

    rows = []
    for kind in tree(HarnessError):
        infrastructure = "yes" if kind.fault_class in INFRASTRUCTURE else "no"
        text = (kind.__doc__ or "").strip().splitlines()[0]
        rows.append(
            (f"`{kind.__name__}`", f"`{kind.code}`", kind.fault_class, str(kind.exit_code), infrastructure, text)
        )
    return "\n".join(
        [
            "# Errors",
            "",
            NOTE,
            "",
            "An error says in one line each what happened, why or where, and what to do next. With `--json` a command",
            "prints it as an object with `code`, `class`, `what`, `why`, `todo` and `context`. Errors that count as",
            "infrastructure are pytest *errors* in whatever phase they occur, never failures.",
            "",
            table(("type", "code", "class", "exit", "infrastructure", "when"), rows),
            "",
        ]
    )


def options() -> str:
    """`docs/options.md`: settings of a plan, options of the plugin, deadlines, commands."""
    from harness.cli import COMMANDS
    from harness.plan.settings import SETTINGS
    from harness.pytest_plugin.options import OPTIONS
    from harness.runner.deadlines import PHASES

    settings = (
        (
            f"`{s.name}`",
            "" if s.default in (None, {}, []) else f"`{s.default}`",
            "no" if s.host_local else "yes",
            s.help,
        )
        for s in SETTINGS.values()
    )
    plugin = ((f"`{o.flag}`", f"`{o.variable}`", f"`{o.ini}`", o.help) for o in OPTIONS)
    deadlines = ((f"`{p.name}`", f"{p.seconds:g}", p.meaning) for p in PHASES)
    commands = ((f"`harness {name}`", text) for name, (_, text) in COMMANDS.items())
    return "\n".join(
        [
            "# Settings, options, deadlines",
            "",
            NOTE,
            "",
            "## Settings of a run",
            "",
            "In a `-c` YAML file by these names, on the command line of `harness freeze` and `harness profile` as",
            "`--name`, in the `hil` marker and in Python with underscores. Settings that are not frozen belong to this",
            "host.",
            "",
            table(("setting", "default", "frozen", "meaning"), settings),
            "",
            "## Options of the pytest plugin",
            "",
            "The command line wins over the variable, the variable over the ini file.",
            "",
            table(("option", "variable", "ini key", "meaning"), plugin),
            "",
            "## Deadlines",
            "",
            "Seconds; change one with `--hil-deadline PHASE=SECONDS` or `harness run --deadline PHASE=SECONDS`.",
            "",
            table(("phase", "seconds", "what it covers"), deadlines),
            "",
            "## Commands",
            "",
            table(("command", "what it does"), commands),
            "",
        ]
    )


def boards() -> str:
    """`docs/boards.md`: every shipped board type."""
    from harness.board.descriptor import BoardType, board_types

    def size(length: int) -> str:
        return f"{length // 1024:,} KiB"

    def memory(board: BoardType) -> str:
        return ", ".join(f"{m.name} {size(m.length)} at {m.origin:#010x}" for m in board.memory)

    def counters(board: BoardType) -> str:
        unit = {"dwt": "DWT cycles", "armv8m-pmu": f"DWT cycles, PMU with {board.core.counter_slots} counters"}
        return unit[board.core.counter_unit] + (", observer" if board.emulator is not None else "")

    def row(board: BoardType) -> tuple[str, ...]:
        clock = f"{board.clock_hz() / 1e6:g} MHz"
        transports = ", ".join(board.transports)
        return (
            f"`{board.name}`", board.title, str(board.qualification), board.core.name, clock, memory(board), transports,
            counters(board),
        )  # fmt: skip

    known = board_types()
    bases = [
        textwrap.fill(
            f"* `{board.name}`, cost table {board.emulator.cost_table.version}: {board.emulator.cost_table.basis}",
            120,
            subsequent_indent="  ",
        )
        for board in known.values()
        if board.emulator is not None
    ]
    return "\n".join(
        [
            "# Board types",
            "",
            NOTE,
            "",
            "`harness boards --types` lists them, with those of `HIL_BOARDS_PATH`. *Emulated* types run in CI on",
            "QEMU: the digits suite on each, over every transport it has (`tests/e2e/test_board_table.py`).",
            "*Unverified* types are written from public documents: they are linked in CI and their images are",
            "checked against their memory maps, but nobody has run them. *Verified* ones state by whom and when.",
            "How to add one is in [first-board.md](first-board.md).",
            "",
            table(
                ("type", "what it is", "qualification", "core", "clock", "memory", "transports", "counters"),
                map(row, known.values()),
            ),
            "",
            "## What modelled cycles rest on",
            "",
            *bases,
            "",
        ]
    )


TRANSPORTS_HEAD = """
A transport carries the frames of [the wire protocol](wire-protocol.md) between target and host. All of them carry the
same frames, so a run over one gives the bundle of a run over another; which one it was is the dimension `transport`.
It is a setting of the plan, since it decides what is linked: `--transport` of `harness freeze` and `harness profile`,
`transport:` in a `-c` file or in the `hil` marker. `--hil-transport` puts one in the place of whatever the tests say.
A transport that the board type does not list is refused.
"""

TRANSPORTS_TAIL = """
On emulated boards a UART is a pty of the emulator, and the counter plugin makes the trace packets of an ITM, which the
virtual J-Link captures. On silicon every transport is unverified.

A debug probe captures SWO at 1 MHz and has no way to slow the target down. What it misses, and what the target's trace
unit drops, shows as overflows, and the frames that were hit end the capture. The bundle states how many
synchronisation packets, errors and overflows there were.

## Serial ports

`bench.yaml` says where a board's ports are; without an entry the serial port is the one whose USB device has the
probe's serial number, which is the virtual COM port of a J-Link.

```yaml
boards:
  - serial: 683012345
    board: nrf52840dk
    ports:
      serial: {path: /dev/ttyUSB0}           # a device
      # serial: {usb_serial: A50285BI}       # or the tty of the USB device with this serial number
      cdc: {usb_serial: HARNESS-683012345}   # the board's own USB device
    hub: {location: 1-2, port: 3}            # where the probe is plugged in
```

`harness ports` lists probes, serial ports, power monitors and hubs, and says which board each belongs to. It opens
none: what a device says of itself is read from the kernel.

A port is opened for one process alone, before the board is reset, and what it holds from an earlier boot is discarded.
A port that vanishes in the middle of a capture (a board that reboots its USB, a cable that is moved) is looked for
again for 5 seconds, also under another name. The bundle records both moments in seconds after the boot. Bytes that were
lost meanwhile show as damaged or missing frames and end the capture.

## USB CDC

The board's own USB device is found with pyusb by its serial number and opened through its tty. An emulated board has a
virtual USB device whose descriptors lie beside its sockets and whose tty is the pty of a second UART. On silicon a port
has to bring `hal_cdc` for its USB controller; none of the shipped ones does.

## A stuck probe

Where `bench.yaml` names the hub that a probe is plugged into, and the hub switches its ports one by one, recovery of a
board takes the probe's power for two seconds when a reset through the probe fails, waits until it is on USB again, and
resets once more. Hubs that only switch all ports, or none, are refused before anything is switched. The requests are
tested on virtual USB devices; no real hub has been tried.
"""


def transports() -> str:
    """`docs/transports.md`: the transports, when to use which, which board types have them."""
    from harness.board.descriptor import board_types
    from harness.board.transports import TRANSPORTS

    kinds = table(
        ("transport", "to the host", "to the target", "needs", "choose it when"),
        ((f"`{kind.name}`", kind.up, kind.down, kind.needs, kind.choose) for kind in TRANSPORTS.values()),
    )
    boards = table(
        ("board type", *TRANSPORTS),
        (
            (f"`{board.name}`", *("yes" if name in board.transports else "" for name in TRANSPORTS))
            for board in board_types().values()
        ),
    )
    parts = ["# Transports", NOTE, TRANSPORTS_HEAD.strip(), "## Which one", kinds]
    parts += ["How fast each is: [figures](figures.md).", "## Which board type has which", boards]
    return "\n\n".join([*parts, TRANSPORTS_TAIL.strip()]) + "\n"


def virtual_faults() -> str:
    """`docs/virtual-faults.md`: the catalogue of faults on purpose."""
    from harness.virtual.faults import FAULTS, RUNS

    rows = []
    for spec in FAULTS.values():
        at = f"{spec.unit}, `{spec.at:#x}`" if spec.at >= 2**16 else f"{spec.unit}, `{spec.at}`"
        rows.append(
            (
                f"`{spec.name}`",
                spec.text,
                at if spec.unit else "-",
                f"`{spec.seconds:g}`" if spec.seconds is not None else "-",
                spec.runs,
                " or ".join(f"`{end}`" if "." in end else end for end in spec.ends),
                f"{spec.limit:g}",
                spec.evidence + (" (cores with event counters)" if spec.pmu else ""),
            )
        )
    headings = (
        "fault",
        "what happens",
        "`at`, default",
        "`seconds`",
        "`runs`",
        "a run ends with",
        "within, s",
        "evidence",
    )
    return "\n".join(
        [
            "# Faults on purpose",
            "",
            NOTE,
            "",
            "Emulated boards can be made to fail by name, to see what a bench, a suite or this harness makes of it:",
            "",
            "* in `bench.yaml`, for all emulated boards or those of one type:",
            "  `faults: [{name: flash-error, runs: once, board: mps2_an386}]`",
            '* for one test: `@pytest.mark.hil(..., faults=["frame-dropped@7", "flash-error/once"])`',
            "* in Python, on a leased board: `lease.inject({'name': 'stall', 'at': 7, 'seconds': 0.5})`",
            "",
            "As text a fault is `NAME[@AT][+SECONDS][/RUNS]`. `at` says where it strikes, counted from 0 in the unit",
            f"that the table states; `runs`, in which runs on the board: {', '.join(RUNS)}. Faults at the probe and",
            "the target are carried out by the virtual J-Link, those of counters by the counter plugin, those of the",
            "wire between transport and conversation, whatever the transport is. Real boards refuse them.",
            "",
            table(headings, rows),
            "",
            "The limit holds when every phase may take three seconds. `passes` means that the run survives it and that",
            "an event in the bundle tells of it. Failures of bench, link and wire are tried again (`--retries`,",
            "`--hil-retries`, setting `retries`; once by default), on a board brought back to a defined state; a run",
            "that then succeeds is flaky: issue `run.flaky`, the evidence of each attempt in `attempts/` of the",
            "bundle, a line in pytest's summary, `hil.flaky` in the JUnit report. `--hil-fail-on-flaky` makes it an",
            "error. What the firmware does wrong, and what was measured, is never tried again.",
            "",
            "Faults of the firmware itself are built in with the setting `test-fault`. The whole catalogue is run by",
            "`scripts/campaign faults`; its last table is [fault-campaign.md](fault-campaign.md).",
            "",
        ]
    )


DOCUMENTS = {
    "virtual-faults.md": virtual_faults,
    "errors.md": errors,
    "options.md": options,
    "boards.md": boards,
    "transports.md": transports,
}


def main() -> int:
    """Rewrite the documents in place."""
    for name, write in DOCUMENTS.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
