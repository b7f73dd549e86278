"""`harness etdump ELF --board B --out FILE`: an ETDump out of a board's memory, or off its RTT."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def etdump(
    elf: Annotated[Path, typer.Argument(help="the image, for its symbols")],
    board: Annotated[str, typer.Option("--board", help="board type")],
    out: Annotated[Path, typer.Option("--out", "-o", help="where to write the dump")],
    symbol: Annotated[str | None, typer.Option("--symbol", help="buffer of the dump (etdump_buffer)")] = None,
    size_symbol: Annotated[
        str | None, typer.Option("--size-symbol", help="word with its bytes, set when it is complete (etdump_bytes)")
    ] = None,
    rtt: Annotated[bool, typer.Option("--rtt", help="the firmware sends it on RTT channel 0")] = False,
    flash: Annotated[bool, typer.Option("--flash", help="write the image and boot it first")] = False,
    serial: Annotated[int | None, typer.Option("--serial", "--jlink-serial", help="serial of the probe")] = None,
    bench: Annotated[Path | None, typer.Option("--bench", help="bench description (default: bench.yaml)")] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="seconds until it must be complete")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Read an ETDump from a board; `harness import` turns it, with its ETRecord, into a result."""
    from harness.bench.inventory import load_bench
    from harness.bench.provider import LeaseRequest
    from harness.cli._output import emit_json
    from harness.core.deadline import Deadline
    from harness.core.errors import UsageError
    from harness.core.files import atomic_write
    from harness.core.hashing import sha256_bytes
    from harness.interop.etdump.dump import read_etdump
    from harness.runner.dumps import DumpPlace, check_place, read_dump

    if out.exists() or not out.parent.is_dir():
        raise UsageError(f"{out} cannot be written.", why="It exists, or its directory does not.")
    if not elf.is_file():
        raise UsageError(f"There is no image {elf}.", todo="Name the ELF file that is in the board.")
    if not timeout > 0:
        raise UsageError("--timeout is not above 0.")
    usual = DumpPlace()
    place = DumpPlace(symbol or usual.symbol, size_symbol or usual.size_symbol, rtt)
    check_place(place, symbols_named=symbol is not None or size_symbol is not None)
    deadline = Deadline(timeout, "a complete ETDump", board)
    request = LeaseRequest(board_types=(board,), serial=serial, holder="harness etdump")
    with load_bench(bench).lease(request, deadline) as lease:
        data = read_dump(lease, elf, place, deadline, flash=flash)
        where, source = lease.info.serial, lease.board_type.source
    atomic_write(out, data)
    found = read_etdump(data, str(out))
    events = sum(len(run.events) for run in found.runs)
    if as_json:
        told = {"path": str(out), "bytes": len(data), "sha256": sha256_bytes(data), "board": board, "serial": where}
        emit_json({**told, "source": source, "runs": len(found.runs), "events": events})
        return
    typer.echo(f"{board} {where} ({source}): {len(data):,} bytes, {len(found.runs)} runs, {events} events")
    typer.echo(f"written: {out}\nnext: harness import {out} [ETRECORD]")
