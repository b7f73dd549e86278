"""Which dispatches of a capture are those of a VGF model: the ones whose SPIR-V lies in the model, byte for byte.

The model's container is not decoded: a pipeline belongs to it when its whole shader module is found in the file, on a
word boundary. Segments are in the order in which their modules lie there; modules that no pipeline has are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.interop.captures.layout import CaptureTree, Dispatch
from harness.interop.errors import ForeignFormatError

MAX_BYTES = 1 << 30
SPIRV_MAGIC = b"\x03\x02\x23\x07"
SPIRV_HEADER = 20
WORD = 4


@dataclass(frozen=True)
class VgfModel:
    """A VGF file's bytes, and where SPIR-V modules begin in it."""

    path: Path
    data: bytes
    modules: tuple[int, ...]


def read_vgf_model(path: Path) -> VgfModel:
    """Read a model.

    Raises:
        ForeignFormatError: it cannot be read, is too large, or holds no SPIR-V module.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ForeignFormatError("The model is too large.", file=str(path))
        data = path.read_bytes()
    except OSError as error:
        raise ForeignFormatError("The model cannot be read.", file=str(path), why=str(error)) from None
    modules = tuple(at for at in _found(data, SPIRV_MAGIC) if len(data) - at >= SPIRV_HEADER)
    if not modules:
        raise ForeignFormatError(
            "The model holds no SPIR-V module.",
            file=str(path),
            why="captures are of VGF models",
            todo="Name the .vgf file that ran.",
        )
    return VgfModel(path, data, modules)


def _found(data: bytes, wanted: bytes) -> list[int]:
    out: list[int] = []
    at = data.find(wanted)
    while at >= 0:
        if at % WORD == 0:
            out.append(at)
        at = data.find(wanted, at + 1)
    return out


def dispatches_of(tree: CaptureTree, model: VgfModel, named: Sequence[Dispatch]) -> tuple[list[Dispatch], list[str]]:
    """The dispatches that are the model's, one a segment, and what is to be warned about.

    Args:
        tree: the capture.
        model: the model.
        named: dispatches that the caller named: none, one that says which execution, or one for every segment.

    Raises:
        ForeignFormatError: none, or which one is not clear; candidates are named.
    """
    places = {dispatch.pipeline: _place(dispatch, model) for dispatch in tree.dispatches}
    known = {pipeline: place for pipeline, place in places.items() if place is not None}
    strangers = [dispatch for dispatch in named if dispatch.pipeline not in known]
    if not known or strangers:
        raise ForeignFormatError(
            "A dispatch is of another model." if strangers else "No pipeline of the capture is of this model.",
            file=str(model.path),
            field="SPIR-V",
            why=f"{strangers[0].relative} has a module that is not in it" if strangers else "no module is in it",
            todo="Name the .vgf file that ran.",
        )
    if len(named) > 1:
        _each_once(named, known)
        return list(named), _unused(model, [known[dispatch.pipeline] for dispatch in named])
    if len(set(known.values())) != len(known):
        raise ForeignFormatError(
            "Several pipelines have the same SPIR-V.",
            file=str(model.path),
            field="SPIR-V",
            why="which one is which segment cannot be told",
            todo="Name one dispatch directory for each segment, in the model's order.",
        )
    order = sorted(known, key=lambda pipeline: known[pipeline])
    chosen = [_one(tree, pipeline, named[0].executed_index if named else None, model) for pipeline in order]
    return chosen, _unused(model, list(known.values()))


def _place(dispatch: Dispatch, model: VgfModel) -> int | None:
    found = _found(model.data, dispatch.shader.read_bytes())
    if len(found) > 1:
        raise ForeignFormatError(
            "The model holds one SPIR-V module twice.",
            file=str(model.path),
            field="SPIR-V",
            why=f"the one of {dispatch.pipeline_name or dispatch.pipeline}, at {found[0]} and {found[1]}",
            todo="Import without --model, naming the dispatches.",
        )
    return found[0] if found else None


def _each_once(named: Sequence[Dispatch], known: dict[int, int]) -> None:
    pipelines = [dispatch.pipeline for dispatch in named]
    if len(set(pipelines)) != len(pipelines):
        raise ForeignFormatError("Two of the dispatches are of one pipeline.", field="SPIR-V")
    places = [known[pipeline] for pipeline in pipelines]
    if places != sorted(places):
        raise ForeignFormatError(
            "The dispatches are not in the model's order.",
            field="SPIR-V",
            todo="Name them in the order of its modules.",
        )


def _one(tree: CaptureTree, pipeline: int, executed: int | None, model: VgfModel) -> Dispatch:
    all_of_it = [dispatch for dispatch in tree.dispatches if dispatch.pipeline == pipeline]
    found = [dispatch for dispatch in all_of_it if executed is None or dispatch.executed_index == executed]
    if len(found) != 1:
        raise ForeignFormatError(
            "Which dispatch?" if found else "A segment has no such execution.",
            file=str(model.path),
            why=f"candidates are {', '.join(dispatch.relative for dispatch in (found or all_of_it)[:3])}",
            todo="Name one dispatch directory; the other segments' are those of the same execution.",
        )
    return found[0]


def _unused(model: VgfModel, used: Sequence[int]) -> list[str]:
    rest = [at for at in model.modules if at not in used]
    return [f"{len(rest)} SPIR-V modules of {model.path.name} have no dispatch in the capture"] if rest else []
