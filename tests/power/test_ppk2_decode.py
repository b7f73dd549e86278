"""The PPK2 decoder against a sample-by-sample restatement of the rules, and streams that lost or repeat something."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.power.errors import MonitorError
from harness.power.ppk2_decode import Decoder, StreamParser
from harness.power.ppk2_wire import ADC_VOLTS, Calibration, parse_metadata, regulator_command
from harness.virtual.ppk2_signal import Terms

QUIET = settings(deadline=None, max_examples=60)

CALIBRATION = Calibration(
    gs=(1.0, 0.9, 0.8, 1.01, 1.02), gi=(0.9, 1.1, 1.0, 1.0, 1.0), o=(10.0, 20.0, 30.0, 4.0, 5.0),
    s=(1e-7, 2e-7, 1e-6, 1e-6, 1e-5), i=(1e-8, 1e-8, 1e-6, 0.0, 1e-4), ug=(1.01, 1.0, 1.0, 0.99, 1.0),
)  # fmt: skip


def plain_current(word: int, cal: Calibration, volts: float) -> float:
    rng = min(word >> 14 & 7, 4)
    g = ((word & 0x3FFF) * 4 - cal.o[rng]) * ADC_VOLTS / cal.r[rng]
    return cal.ug[rng] * (g * (cal.gs[rng] * g + cal.gi[rng]) + cal.s[rng] * volts + cal.i[rng])


def plain_filter(words: list[int], cal: Calibration, volts: float) -> list[float]:
    """Two averages; three samples from a range change on show one of them; range 4 freezes both for two samples."""
    out: list[float] = []
    fast = slow = 0.0
    before, left = None, 0
    for word in words:
        rng, value = min(word >> 14 & 7, 4), plain_current(word, cal, volts)
        if before is None:
            fast = slow = value
        elif rng != before:
            left = 3
        before = rng
        if not (left > 1 and rng == 4):
            fast += 0.18 * (value - fast)
            slow += 0.06 * (value - slow)
        out.append((slow if rng == 4 else fast) if left else value)
        left = max(left - 1, 0)
    return out


def numbered(keys: NDArray[np.integer]) -> NDArray[np.uint32]:
    """Words with these codes and ranges and a running counter."""
    words: NDArray[np.uint32] = (keys | (np.arange(len(keys)) % 64) << 18).astype("<u4")
    return words


@QUIET
@given(
    runs=st.lists(st.tuples(st.integers(0, 7), st.integers(1, 9)), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 1400), max_size=6),
    seed=st.integers(0, 1000),
)
def test_display_filter_is_the_rule_whatever_the_chunks(
    runs: list[tuple[int, int]], cuts: list[int], seed: int
) -> None:
    ranges = np.repeat([r for r, _ in runs], [n for _, n in runs])
    words = numbered(np.random.default_rng(seed).integers(0, 1 << 14, len(ranges)) | ranges << 14)
    data = words.tobytes()
    parser, decoder = StreamParser(), Decoder(CALIBRATION, 3.3)
    parts = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    got = [decoder.decode(parser.feed(data[a:b])) for a, b in itertools.pairwise(parts)]
    got.append(decoder.decode(parser.finish()))
    exact = np.concatenate([part[0] for part in got])
    display = np.concatenate([part[1] for part in got])
    if len(words) < 12:
        # Too short to believe any alignment.
        assert len(exact) == 0
        return
    assert parser.events == []
    assert exact == pytest.approx([plain_current(int(w), CALIBRATION, 3.3) for w in words], rel=1e-12)
    assert display == pytest.approx(plain_filter(words.tolist(), CALIBRATION, 3.3), rel=1e-9, abs=1e-15)


def noise(count: int, seed: int = 0) -> NDArray[np.uint32]:
    rng = np.random.default_rng(seed)
    return numbered(np.rint(rng.normal(5000, 3, count)).astype(int) | 2 << 14)


def parsed(data: bytes, step: int = 997) -> tuple[NDArray[np.uint32], StreamParser]:
    parser = StreamParser()
    parts = [parser.feed(data[at : at + step]) for at in range(0, len(data), step)]
    return np.concatenate([*parts, parser.finish()]), parser


@QUIET
@given(at=st.integers(1000, 7000), count=st.integers(1, 30), step=st.integers(40, 3000))
def test_lost_bytes_cost_a_few_samples_and_are_counted(at: int, count: int, step: int) -> None:
    words = noise(2500)
    data = words.tobytes()
    got, parser = parsed(data[:at] + data[at + count :], step)
    lost = sum(event.lost for event in parser.events)
    assert parser.events
    assert len(got) + lost == len(words)
    assert lost <= count // 4 + 7
    first = parser.events[0]
    assert np.array_equal(got[: first.index], words[: first.index])
    assert np.array_equal(got[first.index :], words[first.index + lost :])


@QUIET
@given(at=st.integers(12, 2000), count=st.integers(1, 63), step=st.integers(40, 3000))
def test_lost_samples_are_counted_with_the_word_at_the_join(at: int, count: int, step: int) -> None:
    words = noise(2500)
    got, parser = parsed(np.concatenate((words[:at], words[at + count :])).tobytes(), step)
    assert [(e.kind, e.index, e.lost) for e in parser.events] == [("lost", at, count + 1)]
    assert np.array_equal(got, np.concatenate((words[:at], words[at + count + 1 :])))


@QUIET
@given(at=st.integers(600, 2000), count=st.integers(1, 500).filter(lambda n: n % 64), step=st.integers(40, 3000))
def test_a_repeated_block_is_left_out(at: int, count: int, step: int) -> None:
    words = noise(2500)
    got, parser = parsed(np.concatenate((words[:at], words[at - count : at], words[at:])).tobytes(), step)
    assert np.array_equal(got, words)
    assert [(e.kind, e.index, e.dropped_bytes) for e in parser.events] == [("repeated", at, 4 * count)]


def test_a_corrupt_word_costs_itself_only() -> None:
    words = noise(500)
    bad = words.copy()
    bad[200] ^= np.uint32(0x15 << 18)
    got, parser = parsed(bad.tobytes())
    assert np.array_equal(got, np.delete(words, 200))
    assert [(e.kind, e.index, e.lost) for e in parser.events] == [("corrupt", 200, 1)]


def test_a_rest_of_an_earlier_stream_is_skipped() -> None:
    words = noise(500)
    got, parser = parsed(words.tobytes()[3:])
    assert np.array_equal(got, words[1:])
    assert [event.kind for event in parser.events] == ["start"]


@QUIET
@given(st.binary(max_size=3000), st.integers(20, 500))
def test_noise_is_never_taken_for_samples_and_never_fails(data: bytes, step: int) -> None:
    got, parser = parsed(data, step)
    assert 4 * len(got) + sum(e.dropped_bytes for e in parser.events) <= len(data)


def test_much_noise_is_forgotten_and_the_stream_found_again() -> None:
    words = noise(3000)
    junk = np.random.default_rng(1).bytes(200_001)
    got, parser = parsed(words[:1500].tobytes() + junk + words[1500:].tobytes(), 4096)
    assert np.array_equal(got[-1400:], words[-1400:])
    assert any(event.kind in ("realigned", "start") for event in parser.events)


def test_metadata_of_the_virtual_device_reads_back() -> None:
    terms = Terms()
    read = parse_metadata(terms.metadata())
    assert (read.r, read.gs, read.gi, read.o) == (terms.r, terms.gs, terms.gi, terms.o)
    assert read.calibrated and read.hardware == "9173"
    assert Calibration.from_dict(read.to_dict()) == read


def test_metadata_keeps_defaults_for_what_is_no_number() -> None:
    read = parse_metadata("Calibrated: 0\nR0: 0.0\nR1: -nan\nUG3: 1.02\nFUTURE: 7\nIA: 5\nEND\n")
    assert read.r == Calibration().r
    assert read.ug == (1.0, 1.0, 1.0, 1.02, 1.0)
    assert not read.calibrated


def test_other_text_is_not_metadata() -> None:
    with pytest.raises(MonitorError, match="metadata"):
        parse_metadata("hello\nEND")


@QUIET
@given(st.dictionaries(st.sampled_from(["r", "gs", "bad"]), st.lists(st.floats(), max_size=6)))
def test_a_stored_calibration_is_used_whole_or_refused(value: dict[str, object]) -> None:
    try:
        made = Calibration.from_dict(value)
    except MonitorError:
        return
    assert np.isfinite(made.amperes(3.3)).all()


@pytest.mark.parametrize(
    ("millivolts", "sent"), [(800, b"\x0d\x03\x20"), (3300, b"\x0d\x0c\xe4"), (9000, b"\x0d\x13\x88")]
)
def test_regulator_command(millivolts: int, sent: bytes) -> None:
    assert regulator_command(millivolts) == sent
