"""Build records: any change to any file is found and named."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core import strict_json
from harness.core.errors import EvidenceError
from harness.core.hashing import sha256_file
from harness.image.elf import read_elf
from harness.image.record import Build, board_regions, load_build
from tests.image.conftest import BOARDS


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_every_file_of_a_build_is_pinned(reference: dict[str, Build]) -> None:
    made = reference[BOARDS[0]]
    pinned = {made.elf_file, made.flat_image, made.link_map, made.model_file, *made.generated}
    names = {pin.name for pin in pinned} | {item.file.name for item in made.inputs} | {"build.json"}
    assert {path.relative_to(made.directory).as_posix() for path in _files(made.directory)} == names


def test_a_changed_byte_anywhere_is_found_and_named(copied: Path) -> None:
    chance = random.Random(7)
    for path in _files(copied):
        original = path.read_bytes()
        places = {0, len(original) - 1, *(chance.randrange(len(original)) for _ in range(12))}
        for place in sorted(places):
            changed = bytearray(original)
            changed[place] ^= 1 << chance.randrange(8)
            path.write_bytes(changed)
            with pytest.raises(EvidenceError) as caught:
                load_build(copied)
            if path.name != "build.json":
                assert path.relative_to(copied).as_posix() in caught.value.what
            assert caught.value.exit_code == 5
        path.write_bytes(original)
    load_build(copied)


def test_truncated_and_missing_files_are_named(copied: Path) -> None:
    for path in _files(copied):
        original = path.read_bytes()
        name = path.relative_to(copied).as_posix()
        path.write_bytes(original[: len(original) // 2])
        with pytest.raises(EvidenceError, match=None if path.name == "build.json" else name):
            load_build(copied)
        path.unlink()
        with pytest.raises(EvidenceError, match=name):
            load_build(copied)
        path.write_bytes(original)


def _rewrite(directory: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    record = json.loads((directory / "build.json").read_text())
    edit(record)
    (directory / "build.json").write_text(strict_json.pretty(record))


def _repin(record: dict[str, Any], directory: Path, key: str) -> None:
    pin = record["files"][key]
    pin["sha256"] = sha256_file(directory / pin["path"])
    pin["size_bytes"] = (directory / pin["path"]).stat().st_size


@pytest.mark.parametrize("mutilation", ["truncated", "empty", "text", "other board", "other build id"])
def test_an_image_that_was_pinned_again_is_still_refused(
    copied: Path, reference: dict[str, Build], mutilation: str
) -> None:
    elf = copied / "image.elf"
    data = elf.read_bytes()
    build_id = reference[BOARDS[0]].build_id.encode()
    replacement = {
        "truncated": data[: len(data) // 3],
        "empty": b"",
        "text": b"not an image",
        "other board": reference[BOARDS[1]].elf.read_bytes(),
        "other build id": data.replace(build_id, b"0" * len(build_id)),
    }[mutilation]
    elf.write_bytes(replacement)
    _rewrite(copied, lambda record: _repin(record, copied, "elf"))
    with pytest.raises(EvidenceError, match=r"image\.elf"):
        load_build(copied)


@pytest.mark.parametrize(
    "edit",
    [
        lambda record: record.update(schema="hpx.compiled-build"),
        lambda record: record.update(schema_version=2),
        lambda record: record.update(schema_version=True),
        lambda record: record.update(lifecycle="single"),
        lambda record: record.update(timing_scope="restore_and_invoke"),
        lambda record: record.update(build_id="0" * 32),
        lambda record: record.update(comment="x"),
        lambda record: record.pop("inputs"),
        lambda record: record.update(inputs=[]),
        lambda record: record["inputs"][0].update(source="other"),
        lambda record: record["basis"]["cflags"].append("-O0"),
        lambda record: record["basis"]["sources"].update({"firmware/app/main.c": "0" * 64}),
        lambda record: record["generated"].pop(),
        lambda record: record["plan"]["settings"].update(iterations=1),
        lambda record: record["plan"]["board"].update(name="other"),
        lambda record: record["engine"].update(name="other"),
        lambda record: record["engine"]["layers"].pop(),
        lambda record: record["engine"].update(layers=3),
        lambda record: record["engine"].update(surprise=1),
        lambda record: record["engine"].update(layers=[3]),
        lambda record: record["engine"]["input_tensors"][0].update(quantization="x"),
        lambda record: record["image"].update(rtt_address=0),
        lambda record: record["image"]["memory"]["code"].update(text=1),
        lambda record: record.update(harness_version=1),
        lambda record: record.update(build_hash="harness.build/1:sha256:" + "0" * 64),
        lambda record: record["files"]["elf"].update(path="../build/image.elf"),
        lambda record: record["files"]["elf"].update(path="/etc/passwd"),
        lambda record: record["files"]["elf"].update(root="cache"),
        lambda record: record["files"]["model"].update(path="image.map"),
    ],
)
def test_edited_records_are_refused(copied: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    _rewrite(copied, edit)
    with pytest.raises(EvidenceError):
        load_build(copied)


def test_a_link_out_of_the_directory_is_refused(copied: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.elf"
    (copied / "image.elf").rename(outside)
    (copied / "image.elf").symlink_to(outside)
    with pytest.raises(EvidenceError, match=r"leaves its directory"):
        load_build(copied)


def test_what_is_not_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"build\.json"):
        load_build(tmp_path)
    for text in ("", "{}", "[]", "\x00", '{"schema": "harness.compiled-build", "schema_version": 1}'):
        (tmp_path / "build.json").write_text(text)
        with pytest.raises(EvidenceError):
            load_build(tmp_path)


def test_damaged_images_never_raise_anything_else(reference: dict[str, Build], tmp_path: Path) -> None:
    made = reference[BOARDS[0]]
    data, regions = made.elf.read_bytes(), board_regions(made.plan)
    file = tmp_path / "x.elf"
    chance = random.Random(11)
    for _ in range(60):
        changed = bytearray(data[: chance.choice([len(data), chance.randrange(len(data))])])
        for _ in range(chance.randrange(1, 6)):
            changed[chance.choice([chance.randrange(min(64, len(changed))), chance.randrange(len(changed))])] = (
                chance.randrange(256)
            )
        file.write_bytes(changed)
        try:
            read_elf(file, regions)
        except EvidenceError:
            continue
