"""The binary blobs of a capture: frames, stripe lists, and statistics words. Everything is little-endian u32."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.interop.errors import ForeignFormatError

Generation = Literal["G1", "G2"]
DEBUG_MAGIC, INFO_MAGIC = 0x1122FFEE, 0x2211EEFF
MAX_BLOB = 256 * 1024 * 1024
MODE1_COUNTERS = (
    "nx_active", "dl_active", "ir_active", "wf_active", "ce_active", "ve_active", "tu_active", "ow_active",
    "task_init_stall", "rd_ll_stall", "rd_hl_stall", "dma_wr_stall", "ir_idx_stall", "ce_src0_stall", "ce_src1_stall",
    "ve_src0_ir_stall", "ve_src0_ce_stall", "ve_src0_ve_stall", "ve_src0_tu_stall", "ve_src1_ir_stall",
    "ve_src1_ve_stall", "ve_src1_tu_stall", "tu_src0_ir_stall", "tu_src0_ve_stall", "tu_src0_tu_stall",
    "ow_src0_ir_stall", "ow_src0_ve_stall", "ow_src0_tu_stall", "ow_idx_stall",
)  # fmt: skip
"""Words 1 to 29 of a mode 1 task; word 0 is the core."""
G2_COUNTERS: Mapping[int, str] = {31: "me_src0_stall", 32: "me_src1_stall"}
_TASKS_PER_BLOCK = {(0, "G1"): 512, (0, "G2"): 1024, (1, "G1"): 256, (1, "G2"): 256}
_WORDS_PER_TASK = {(0, "G1"): 16, (0, "G2"): 16, (1, "G1"): 32, (1, "G2"): 64}
_TOKEN = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class StripeStatistics:
    """One stripe: aggregated counters, and in mode 1 every core's own sums, which the maximum hides."""

    stripe: int
    counters: Mapping[str, int]
    cores: Mapping[int, Mapping[str, int]]
    op_cycles: int

    @property
    def total_cycles(self) -> int:
        """The same as `op_cycles`: activity counted, not time elapsed."""
        return self.op_cycles


def unframed(data: bytes, magic: int, file: str, field: str) -> bytes:
    """The payload of a blob, with or without its 12-byte frame."""
    if int.from_bytes(data[:4], "little") != magic or len(data) < 4:
        return data
    if len(data) < 12:
        raise ForeignFormatError("A framed blob is cut short.", file=file, field=field, why=f"{len(data)} bytes")
    version, size = int.from_bytes(data[4:8], "little"), int.from_bytes(data[8:12], "little")
    if version != 1:
        raise ForeignFormatError("A framed blob has an unknown version.", file=file, field=field, why=str(version))
    if size != len(data) - 12:
        raise ForeignFormatError(
            "A framed blob has another length than it states.",
            file=file,
            field=field,
            why=f"it states {size} bytes, {len(data) - 12} follow",
        )
    return data[12:]


def read_info(data: bytes, file: str, *, is_text: bool = False) -> tuple[int, ...]:
    """Stripe ids in the order of the file.

    Raises:
        ForeignFormatError: not whole words, not numbers, or a stripe listed twice.
    """
    field = "statistics_info"
    if is_text:
        ids = _text_ids(data, file, field)
    else:
        payload = unframed(data, INFO_MAGIC, file, field)
        if len(payload) % 4:
            raise ForeignFormatError(
                "Statistics info is not whole words.", file=file, field=field, why=f"{len(payload)} bytes"
            )
        ids = tuple(int(value) for value in np.frombuffer(payload, "<u4"))
    if not ids:
        raise ForeignFormatError("Statistics info lists no stripe.", file=file, field=field)
    if len(set(ids)) != len(ids):
        twice = sorted({value for value in ids if ids.count(value) > 1}) if len(ids) < 10_000 else "several"
        raise ForeignFormatError("Statistics info lists a stripe twice.", file=file, field=field, why=str(twice))
    return ids


def _text_ids(data: bytes, file: str, field: str) -> tuple[int, ...]:
    try:
        tokens = [token for token in _TOKEN.split(data.rstrip(b"\0").decode("ascii")) if token]
        ids = tuple(int(token, 16 if token[:2].lower() == "0x" else 10) for token in tokens if _plain(token))
    except (UnicodeDecodeError, ValueError) as error:
        raise ForeignFormatError(
            "Statistics info is not a list of numbers.", file=file, field=field, why=str(error)[:120]
        ) from None
    if len(ids) != len(tokens) or any(value > 0xFFFFFFFF for value in ids):
        raise ForeignFormatError("Statistics info holds something that is no 32-bit number.", file=file, field=field)
    return ids


def _plain(token: str) -> bool:
    return re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10}", token) is not None


def read_statistics(
    data: bytes, mode: int, generation: Generation, info: Sequence[int], file: str
) -> tuple[StripeStatistics, ...]:
    """Aggregate the statistics of every listed stripe, in the order of the list.

    Mode 0 sums each section over the tasks of a stripe. Mode 1 sums each counter per core and takes, counter by
    counter, the maximum over the cores.

    Raises:
        ForeignFormatError: empty, not whole tasks, a stripe beyond the file, or activity in one that is not listed.
    """
    field = f"statistics_mode{mode}"
    words, tasks = _WORDS_PER_TASK[mode, generation], _TASKS_PER_BLOCK[mode, generation]
    if not data:
        raise ForeignFormatError("The statistics are empty.", file=file, field=field)
    if len(data) > MAX_BLOB:
        raise ForeignFormatError("The statistics are too large.", file=file, field=field, why=f"{len(data)} bytes")
    if len(data) % 64 or len(data) % (4 * words):
        raise ForeignFormatError(
            "The statistics are not whole tasks.",
            file=file,
            field=field,
            why=f"{len(data)} bytes is no multiple of 64 and of {4 * words}",
        )
    table = np.frombuffer(data, "<u4").reshape(-1, words)
    blocks = -(-len(table) // tasks)
    beyond = [stripe for stripe in info if stripe >= blocks]
    if beyond:
        raise ForeignFormatError(
            "Statistics info lists stripes beyond the statistics.",
            file=file,
            field="statistics_info",
            why=f"stripes {beyond[:5]}, the file has {blocks}",
        )
    listed = set(info)
    start = 0 if mode == 0 else 1
    for block in range(blocks):
        if block not in listed and table[block * tasks : (block + 1) * tasks, start:].any():
            raise ForeignFormatError(
                "A stripe has activity but is not listed.", file=file, field="statistics_info", why=f"stripe {block}"
            )
    make = _mode0 if mode == 0 else _mode1
    return tuple(make(stripe, table[stripe * tasks : (stripe + 1) * tasks], generation) for stripe in info)


def _sums(rows: np.ndarray) -> list[int]:
    return [int(value) for value in rows.sum(axis=0, dtype=np.uint64)]


def _mode0(stripe: int, rows: np.ndarray, generation: Generation) -> StripeStatistics:
    sums = _sums(rows)
    return StripeStatistics(stripe, {f"section_{i}": value for i, value in enumerate(sums)}, {}, sum(sums))


def _mode1(stripe: int, rows: np.ndarray, generation: Generation) -> StripeStatistics:
    places = {1 + index: name for index, name in enumerate(MODE1_COUNTERS)}
    if generation == "G2":
        places |= G2_COUNTERS
    rows = rows[rows.any(axis=1)]
    cores: dict[int, dict[str, int]] = {}
    for core in sorted({int(value) for value in rows[:, 0]}):
        sums = _sums(rows[rows[:, 0] == core])
        cores[core] = {name: sums[place] for place, name in places.items()}
    most = {name: max((table[name] for table in cores.values()), default=0) for name in places.values()}
    return StripeStatistics(stripe, most, cores, most["nx_active"])
