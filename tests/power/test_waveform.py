"""Waveform files: what goes in comes out, and anything less than a whole file is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.power.errors import WaveformError
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
