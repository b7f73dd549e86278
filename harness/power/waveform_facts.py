"""What a waveform file says of itself, and the checks that no file passes whose words cannot be true.

A waveform may have been edited, or written by something else: each value is of its kind and within what a monitor can
have meant, or the file is refused. Nothing behind this module has to doubt a header or a footer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from harness.power.errors import MonitorError
from harness.power.ppk2_wire import COUNTER_MASK, Calibration

Encoding = Literal["ppk2-words", "float32"]
LISTS = ("edges", "gaps", "lateness", "notes")
"""Keys of a footer that hold lists."""


class UnfitError(ValueError):
    """A header or footer that cannot be true; the text says why. The reader of the file words the error."""


@dataclass(frozen=True)
class Gap:
    """Samples missing before the stored sample `index`; `ambiguous`: maybe more, by multiples of 64."""

    index: int
    lost: int
    kind: str
    ambiguous: bool = False
    dropped_bytes: int = 0


@dataclass(frozen=True)
class Accuracy:
    """What is known of a monitor's errors; absent knowledge is stated, not zero.

    `relative` and `offset_a` are half-widths at 95 %, None when nobody calibrated. `noise_lsb` is the rms noise of one
    sample in ADC steps.
    """

    relative: float | None = None
    offset_a: float | None = None
    noise_lsb: float = 0.7
    basis: str = "not calibrated"


@dataclass(frozen=True)
class Header:
    """What a waveform is of.

    `volts` is the supply that energy is computed with; None when the waveform carries volts sample by sample.
    `source` is where the numbers come from: silicon or emulated. `gate_line` is the logic input of the gate.
    """

    monitor: str
    serial: str
    rate_hz: float
    encoding: Encoding
    source: str
    volts: float | None
    gate_line: int = 0
    mode: str = "source"
    accuracy: Accuracy = field(default_factory=Accuracy)
    calibration: Calibration | None = None
    started: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            **{k: v for k, v in vars(self).items() if k not in ("accuracy", "calibration")},
            "accuracy": asdict(self.accuracy),
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
        }

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Header:
        """A header from its JSON form; `UnfitError` when anything in it is not what a monitor can have written."""
        rest = dict(value)
        calibration = rest.pop("calibration", None)
        accuracy = rest.pop("accuracy", None)
        try:
            header = cls(
                **rest,
                accuracy=Accuracy(**accuracy),
                calibration=None if calibration is None else Calibration.from_dict(calibration),
            )
        except (TypeError, AttributeError, MonitorError) as error:
            raise UnfitError(f"its header does not fit: {error}") from None
        _check_header(header)
        return header


@dataclass(frozen=True)
class Footer:
    """What was known when the capture ended.

    `edges` are (first sample of the new level, level) of the gate line, `initial` its level in the first sample.
    `lateness` are (host seconds since the start, seconds by which the earliest sample of that while came later than a
    clock of the nominal rate says). `gone` tells why the monitor ended early, empty when it did not.
    """

    samples: int
    edges: tuple[tuple[int, int], ...] = ()
    initial: int = 0
    gaps: tuple[Gap, ...] = ()
    lateness: tuple[tuple[float, float], ...] = ()
    gone: str = ""
    notes: tuple[str, ...] = ()


def _check_header(header: Header) -> None:
    accuracy = header.accuracy
    texts = (header.monitor, header.serial, header.encoding, header.source, header.mode, header.started, accuracy.basis)
    if not all(isinstance(text, str) for text in texts):
        raise UnfitError("its header does not fit: a name in it is not text")
    for name, number, low, high in (
        ("rate_hz", header.rate_hz, 1e-3, 1e9),
        ("volts", header.volts, 1e-3, 1e3),
        ("accuracy.relative", accuracy.relative, 0.0, 1e3),
        ("accuracy.offset_a", accuracy.offset_a, 0.0, 1e3),
        ("accuracy.noise_lsb", accuracy.noise_lsb, 0.0, 1e5),
    ):
        optional = name in ("volts", "accuracy.relative", "accuracy.offset_a")
        if not (_number(number, low, high) or (optional and number is None)):
            raise UnfitError(f"its header does not fit: {name} is {number!r}")
    if not _whole(header.gate_line, 7):
        raise UnfitError(f"its header does not fit: gate_line is {header.gate_line!r}")
    if header.encoding not in ("ppk2-words", "float32"):
        raise UnfitError(f"unknown encoding {header.encoding!r}")
    if header.encoding == "ppk2-words" and (header.calibration is None or header.volts is None):
        raise UnfitError("PPK2 words without the calibration or voltage that give them a meaning")


def read_footer(document: dict[str, Any], header: Header, largest: int) -> tuple[Footer, list[dict[str, int]]]:
    """A footer from its JSON form, and the chunks it lists: `samples` and, with PPK2 words, the first `counter`.

    Raises:
        UnfitError: anything in it is not what a writer of chunks of at most `largest` samples can have written.
    """
    names = {item.name for item in fields(Footer)} | {"chunks"}
    if set(document) != names or not all(isinstance(document[n], list) for n in ("chunks", *LISTS)):
        raise UnfitError("its footer does not fit: keys are missing, unknown or of another kind")
    samples, chunks = document["samples"], document["chunks"]
    wanted = {"samples", "counter"} if header.encoding == "ppk2-words" else {"samples"}
    if not all(
        isinstance(chunk, dict)
        and set(chunk) == wanted
        and _whole(chunk["samples"], largest)
        and chunk["samples"]
        and _whole(chunk.get("counter", 0), COUNTER_MASK)
        for chunk in chunks
    ):
        raise UnfitError("its footer does not fit: a chunk of no possible size or count")
    if not _whole(samples) or sum(chunk["samples"] for chunk in chunks) != samples:
        raise UnfitError("its footer contradicts itself")
    pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in (*document["edges"], *document["lateness"]))
    if not pairs or not all(_whole(at, samples) and _whole(level, 1) for at, level in document["edges"]):
        raise UnfitError("its footer does not fit: an edge that no gate has")
    if not all(_number(at, -1e9, 1e9) and _number(late, -1e9, 1e9) for at, late in document["lateness"]):
        raise UnfitError("its footer does not fit: an impossible time")
    texts = (document["gone"], *document["notes"])
    if not _whole(document["initial"], 1) or not all(isinstance(text, str) for text in texts):
        raise UnfitError("its footer does not fit: a level that is none, or a note that is no text")
    footer = Footer(
        samples=samples,
        edges=tuple((at, level) for at, level in document["edges"]),
        initial=document["initial"],
        gaps=tuple(_gap(item, samples) for item in document["gaps"]),
        lateness=tuple((float(at), float(late)) for at, late in document["lateness"]),
        gone=document["gone"],
        notes=tuple(document["notes"]),
    )
    return footer, chunks


def _gap(item: Any, samples: int) -> Gap:
    try:
        gap = Gap(**item)
    except TypeError as error:
        raise UnfitError(f"its footer does not fit: {error}") from None
    # Samples that were kept twice count as less than none lost.
    lost = -gap.lost if gap.kind == "repeated-kept" and isinstance(gap.lost, int) else gap.lost
    fits = (
        _whole(gap.index, samples)
        and _whole(lost)
        and _whole(gap.dropped_bytes)
        and isinstance(gap.kind, str)
        and isinstance(gap.ambiguous, bool)
    )
    if not fits:
        raise UnfitError(f"its footer does not fit: no gap is {item!r}")
    return gap


def _number(value: object, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _whole(value: object, high: int = 1 << 53) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high
