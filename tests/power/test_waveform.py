"""Waveform files: what goes in comes out, and anything less than a whole file is refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.errors import HarnessError
from harness.power.errors import WaveformError
from harness.power.gating import GatePlan
from harness.power.report import analyse
from harness.power.waveform import CHUNK, Gap, Waveform, WaveformWriter
from harness.virtual.ppk2_signal import Encoder
from tests.power.support import header, idle_words, options


def test_words_come_back_bit_by_bit_across_chunks(tmp_path: Path) -> None:
    words = np.random.default_rng(2).integers(0, 1 << 32, CHUNK + 12345, dtype=np.uint64).astype("<u4")
    writer = WaveformWriter(tmp_path / "w", header())
    for start in range(0, len(words), 70_001):
        writer.append_words(words[start : start + 70_001])
    gaps = (Gap(5, 3, "lost", True, 12),)
    read = Waveform(writer.close(gaps=gaps, lateness=[(0.5, 0.001)], gone="unplugged"))
    assert np.array_equal(np.concatenate([part for _, part in read.words()]), words)
    assert read.header == header()
    assert (read.footer.gaps, read.footer.gone, len(read)) == (gaps, "unplugged", len(words))
    bits = words >> 24 & 1
    flips = np.flatnonzero(np.diff(bits)) + 1
    assert read.footer.edges == tuple((int(i), int(bits[i])) for i in flips)


def test_floats_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    amperes, volts = rng.normal(0, 1e-3, 5000).astype("f4"), rng.normal(3.3, 0.01, 5000).astype("f4")
    logic = rng.integers(0, 2, 5000).astype("u1")
    writer = WaveformWriter(tmp_path / "w", header(encoding="float32", volts=None, calibration=None))
    writer.append(amperes[:2000], volts[:2000], logic[:2000])
    writer.append(amperes[2000:], volts[2000:], logic[2000:])
    blocks = list(Waveform(writer.close()).blocks())
    assert np.array_equal(np.concatenate([b.amperes for b in blocks]), amperes.astype(float))
    assert np.array_equal(np.concatenate([b.volts for b in blocks]), volts.astype(float))
    assert np.array_equal(np.concatenate([b.logic for b in blocks]), logic)


def test_no_value_that_is_not_a_number_gets_in(tmp_path: Path) -> None:
    writer = WaveformWriter(tmp_path / "w", header(encoding="float32", calibration=None))
    with pytest.raises(ValueError, match="finite"):
        writer.append(np.array([1.0, np.nan], "f4"), None, np.zeros(2, "u1"))
    writer.abandon()
    assert not (tmp_path / "w").exists()


def test_a_capture_that_crashed_is_not_a_waveform(tmp_path: Path) -> None:
    writer = WaveformWriter(tmp_path / "w", header())
    writer.append_words(idle_words(Encoder(options()), CHUNK + 10))
    writer._zip.fp.flush()  # type: ignore[union-attr]
    copy = tmp_path / "copy"
    copy.write_bytes((tmp_path / "w").read_bytes())
    with pytest.raises(WaveformError):
        Waveform(copy)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("waveform") / "w"
    writer = WaveformWriter(path, header())
    writer.append_words(idle_words(Encoder(options()), 500))
    return writer.close().read_bytes()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damage_is_an_error_of_its_own_or_harmless(
    stored: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    if data.draw(st.booleans()):
        path.write_bytes(stored[: data.draw(st.integers(0, len(stored) - 1))])
    else:
        at = data.draw(st.integers(0, len(stored) - 1))
        path.write_bytes(stored[:at] + bytes([stored[at] ^ data.draw(st.integers(1, 255))]) + stored[at + 1 :])
    try:
        blocks = list(Waveform(path).blocks())
    except WaveformError:
        return
    assert sum(len(block.amperes) for block in blocks) == 500


def test_a_footer_that_contradicts_the_chunks_is_refused(tmp_path: Path, stored: bytes) -> None:
    (tmp_path / "w").write_bytes(stored)
    with zipfile.ZipFile(tmp_path / "w") as old, zipfile.ZipFile(tmp_path / "new", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "footer.json":
                content = content.replace(b'"samples": 500}]', b'"samples": 501}]')
            new.writestr(name, content)
    with pytest.raises(WaveformError):
        Waveform(tmp_path / "new")


def test_the_same_samples_make_the_same_bytes(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        writer = WaveformWriter(tmp_path / name, header())
        writer.append_words(idle_words(Encoder(options(seed=4)), 3000))
        files.append(writer.close().read_bytes())
    assert files[0] == files[1]


def edited(source: Path, member: str, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a waveform with one of its two documents changed."""
    copy = source.with_name("edited")
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == member:
                document = json.loads(data)
                change(document)
                data = json.dumps(document).encode()
            new.writestr(name, data)
    return copy


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    writer = WaveformWriter(tmp_path_factory.mktemp("w") / "w", header())
    words = idle_words(Encoder(options()), 4000)
    words[1000:3000] |= np.uint32(1 << 24)
    writer.append_words(words)
    return writer.close(gaps=(Gap(5, 3, "lost"),), lateness=[(0.5, 0.001)])


ODD: tuple[Any, ...] = (None, True, "x", [1], -1.5, 1e300, 10**18)


def members(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document; of a list its first item."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document[:1])
    for key, value in pairs:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from members(value, (*path, key))


@pytest.mark.parametrize("member", ["header.json", "footer.json"])
def test_no_edited_value_gets_past_the_reader_as_anything_but_a_number_that_makes_sense(
    sound: Path, member: str
) -> None:
    with zipfile.ZipFile(sound) as archive:
        places = tuple(members(json.loads(archive.read(member))))
    assert len(places) > 10
    for place in places:
        for value in ODD:
            assert_refused_or_sane(edited(sound, member, partial(put, place, value)))


def put(place: tuple[Any, ...], value: object, document: Any) -> None:
    """Set one place of a document."""
    for key in place[:-1]:
        document = document[key]
    document[place[-1]] = value


def assert_refused_or_sane(path: Path) -> None:
    try:
        report = analyse(Waveform(path), GatePlan(windows=1, inferences=10))
    except HarnessError:
        return
    json.dumps(report.to_dict(), allow_nan=False)
    assert all(item.energy_j > 0 and item.u95_j >= 0 for item in report.per_inference)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("rate_hz",), 0),
        (("volts",), -3.3),
        (("volts",), 0),
        (("gate_line",), 9),
        (("accuracy", "relative"), -0.1),
        (("accuracy", "noise_lsb"), "low"),
        (("calibration", "r"), [1e-300] * 5),
    ],
)
def test_an_impossible_header_is_refused_by_name(sound: Path, place: tuple[Any, ...], value: object) -> None:
    path = edited(sound, "header.json", partial(put, place, value))
    with pytest.raises(WaveformError, match="edited"):
        list(Waveform(path).blocks())


def test_volts_that_are_no_number_are_refused(tmp_path: Path) -> None:
    writer = WaveformWriter(tmp_path / "w", header(encoding="float32", volts=None, calibration=None))
    volts = np.full(100, 3.3, "f4")
    writer.append(np.full(100, 1e-3, "f4"), volts, np.zeros(100, "u1"))
    path = writer.close()
    with zipfile.ZipFile(path) as archive:
        documents = {name: archive.read(name) for name in archive.namelist()}
    rows = np.frombuffer(documents["chunk/0"], np.uint8).reshape(9, 100).copy()
    rows[4:8, 50] = np.frombuffer(np.float32(np.nan).tobytes(), np.uint8)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in documents.items():
            archive.writestr(name, rows.tobytes() if name == "chunk/0" else data)
    with pytest.raises(WaveformError, match="finite"):
        list(Waveform(path).blocks())
