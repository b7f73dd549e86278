"""The content-addressed store under damage and beside other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import EvidenceError, HostError
from harness.core.resources import cache_root
from harness.core.store import SEAL_NAME, ContentStore

KEY = "ab" * 32


def _make(directory: Path) -> None:
    (directory / "file").write_bytes(b"content")


@pytest.mark.parametrize("name", ["file", SEAL_NAME])
@pytest.mark.parametrize("damage", [b"", b"other"])
def test_a_damaged_entry_is_made_again(tmp_path: Path, name: str, damage: bytes) -> None:
    store = ContentStore(tmp_path)
    entry = store.get_or_make_sealed(KEY, _make)
    (entry / name).write_bytes(damage)
    assert (store.get_or_make_sealed(KEY, _make) / "file").read_bytes() == b"content"


def test_an_entry_that_never_reads_back_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(100))
    monkeypatch.setattr("harness.core.store.sha256_file", lambda path: str(next(count)))
    with pytest.raises(EvidenceError, match="damages"):
        ContentStore(tmp_path).get_or_make_sealed(KEY, _make)


def test_a_purge_leaves_an_entry_alone_that_is_being_made(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    other = store.get_or_make("cd" * 32, _make)

    def make(directory: Path) -> None:
        _make(directory)
        assert store.info().entries == 1
        assert store.purge() == 1

    assert (store.get_or_make(KEY, make) / "file").read_bytes() == b"content"
    assert not other.exists()


def test_a_cache_that_cannot_be_made_names_the_variable_that_moves_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(HostError, match="cannot be written") as caught:
        ContentStore(tmp_path / "file" / "cache").get_or_make(KEY, _make)
    assert "HARNESS_CACHE_DIR" in caught.value.todo


def test_a_user_without_a_home_is_told_where_the_cache_could_go(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(*args: object, **options: object) -> Path:
        raise RuntimeError("could not determine the home directory for '~/.cache'")

    monkeypatch.delenv("HARNESS_CACHE_DIR", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", homeless)
    with pytest.raises(HostError, match="no place for the cache") as caught:
        cache_root()
    assert "HARNESS_CACHE_DIR" in caught.value.todo


def test_an_entry_on_a_read_only_disk_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ContentStore(tmp_path).get_or_make_sealed(KEY, _make)

    def read_only(path: Path) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr("os.utime", read_only)
    assert ContentStore(tmp_path).get_or_make_sealed(KEY, _make) == entry
