"""What the engine `aot` compiles for any model: its kernels, and those of a library from outside."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.resources import data_dir
from harness.engines.aot import cmsis_nn_sources
from harness.engines.base import GeneratedEngine
from harness.engines.trees import SourceTree

ADAPTERS = frozenset({"cmsis_nn_adapter.c"})
"""Kernels that call a library."""


def prebuilt_kernels(trees: Sequence[SourceTree], engine_version: str, kernels_version: str) -> GeneratedEngine:
    """The kernels as an engine without a model."""
    kernels = data_dir("firmware").resolve() / "kernels"
    own = [path for path in sorted(kernels.glob("*.c")) if trees or path.name not in ADAPTERS]
    library = [path for tree in trees for path in cmsis_nn_sources.locate(tree.path, cmsis_nn_sources.UNITS)]
    headers = [path for tree in trees for path in cmsis_nn_sources.locate(tree.path, cmsis_nn_sources.HEADERS)]
    return GeneratedEngine(
        sources=(),
        kernel_sources=(*own, *library),
        include_dirs=(".", str(kernels), *dict.fromkeys(str(path.parent) for path in headers)),
        arena_bytes=0,
        weights_bytes=None,
        layers=(),
        input_tensors=(),
        output_tensors=(),
        engine_version=engine_version,
        kernels_version=kernels_version,
        trees=tuple(trees),
        tree_flags=("-w",),
    )
