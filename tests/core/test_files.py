"""Files and directories appear whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core import files, strict_json, strict_yaml
from harness.core.errors import HarnessError
from harness.core.files import atomic_write, published_dir, read_at_most, write_synced


def test_a_directory_that_is_not_there_is_told_by_the_name_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as fault:
        atomic_write(tmp_path / "absent" / "f", "x")
    assert fault.value.filename == str(tmp_path / "absent" / "f")


def test_atomic_write_replaces_whole_content(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    atomic_write(target, "old")
    atomic_write(target, "new and longer")
    assert target.read_text() == "new and longer"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_failed_write_leaves_old_content(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    atomic_write(target, "old")
    with pytest.raises(UnicodeEncodeError):
        atomic_write(target, "\ud800")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_published_dir_is_invisible_until_done(tmp_path: Path) -> None:
    final = tmp_path / "bundle"
    with published_dir(final) as work:
        (work / "x").write_text("1")
        assert not final.exists()
    assert (final / "x").read_text() == "1"


def test_published_dir_leaves_nothing_on_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), published_dir(tmp_path / "bundle") as work:
        (work / "x").write_text("1")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_published_dir_refuses_existing(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError), published_dir(tmp_path):
        pass


@pytest.mark.parametrize("write", [write_synced, atomic_write])
def test_a_full_disk_is_told_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None]
) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space") as caught:
        write(tmp_path / "file", b"data")
    assert caught.value.filename == str(tmp_path / "file")


def test_no_more_is_read_than_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 5_000_000)
    assert len(read_at_most(tmp_path / "a", 3_000_000)) == 3_000_000
    assert len(read_at_most(tmp_path / "a", 6_000_000)) == 5_000_000
    assert read_at_most(Path("/dev/zero"), 10) == bytes(10)
    with pytest.raises(IsADirectoryError):
        read_at_most(tmp_path, 10)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b"a: 1\n" * 40_000))
    writer.start()
    try:
        assert read_at_most(tmp_path / "pipe", 1 << 20) == b"a: 1\n" * 40_000
    finally:
        writer.join()


@pytest.mark.parametrize("load", [strict_yaml.load, strict_json.load])
def test_a_pipe_that_nobody_writes_to_is_given_up(
    tmp_path: Path, load: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HarnessError, match="cannot be read") as caught:
        load(tmp_path / "pipe")
    assert "Nothing more was written" in str(caught.value)


@pytest.mark.parametrize("load", [strict_yaml.load, strict_json.load])
def test_a_device_that_never_ends_is_too_large(load: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_json, "MAX_BYTES", 1 << 16)
    with pytest.raises(HarnessError, match="is larger than"):
        load(Path("/dev/zero"))
