"""Where CMSIS-NN's sources are: a directory the user named, or those inside the installed package `bakenn`."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from harness.core.errors import SettingsError, ToolMissingError
from harness.engines.trees import SourceTree, digest_of, files_of

NAME = "cmsis-nn"
"""Name of the tree in a build, of the engine option that names a directory, and of the backend."""
PACKAGE, PACKAGE_VERSION = "bakenn", "1.0.0"
PACKAGE_SHA256 = "2a764deb6e9142767cc228ffa75ff3386f74f385c86a0245d675d5c06d05ec8f"
"""Digest of the sources inside `bakenn` 1.0.0; what is installed must be those."""
INSTALL = "pip install 'harness-hil[cmsis-nn]'"

UNITS = (
    "arm_avgpool_s8.c",
    "arm_convolve_1_x_n_s8.c",
    "arm_convolve_1x1_s8.c",
    "arm_convolve_1x1_s8_fast.c",
    "arm_convolve_s8.c",
    "arm_convolve_wrapper_s8.c",
    "arm_depthwise_conv_3x3_s8.c",
    "arm_depthwise_conv_s8.c",
    "arm_depthwise_conv_s8_opt.c",
    "arm_depthwise_conv_wrapper_s8.c",
    "arm_fully_connected_s8.c",
    "arm_max_pool_s8.c",
    "arm_nn_depthwise_conv_nt_t_padded_s8.c",
    "arm_nn_depthwise_conv_nt_t_s8.c",
    "arm_nn_mat_mul_core_1x_s8.c",
    "arm_nn_mat_mul_core_4x_s8.c",
    "arm_nn_mat_mult_kernel_s8_s16.c",
    "arm_nn_mat_mult_nt_t_s8.c",
    "arm_nn_mat_mult_s8.c",
    "arm_nn_vec_mat_mult_t_s8.c",
    "arm_q7_to_q15_with_offset.c",
)
"""Files of CMSIS-NN 4 that the adapter's operators are made of."""
HEADERS = ("arm_nnfunctions.h", "arm_nnsupportfunctions.h", "cmsis_compiler.h")
"""Headers whose directories are searched: the library's, and those of the CMSIS core."""
_SUFFIXES = (".c", ".h")
_REVISION = re.compile(r"\$Revision:\s*V?\.?([\w.]+)")
_LATER_INTERFACE = ("upscale_dims", "weight_sum_buf")
"""Parameters that the functions got after version 4."""


def find_tree(path: str | None) -> SourceTree:
    """The pinned sources.

    Args:
        path: directory with CMSIS-NN 4 and the headers of the CMSIS core; None: those of the installed package.

    Raises:
        SettingsError: the directory is none, lacks files, or is another version of the library.
        ToolMissingError: the package is not installed, or is not the known version.
    """
    if path is None:
        return _installed()
    root = Path(path)
    if not root.is_dir():
        raise SettingsError(
            f"Engine option {NAME!r} names {path}, which is no directory.",
            todo=f"Name a directory with CMSIS-NN 4, or leave the option out and {INSTALL}.",
        )
    header = (locate(root, ("arm_nnfunctions.h",))[0]).read_text("utf-8", "replace")
    locate(root, (*UNITS, *HEADERS))
    if any(word in header for word in _LATER_INTERFACE):
        raise SettingsError(
            f"{path} holds a later CMSIS-NN than version 4.",
            why="Its functions take other parameters.",
            todo="Use release 4.0.0 or 4.1.0.",
        )
    revision = _REVISION.search(header)
    version = f"header revision {revision.group(1)}" if revision else "unknown"
    return SourceTree(NAME, root.absolute(), version, digest_of(root, _SUFFIXES), option=NAME)


def locate(root: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    """The files of the given names below a directory, in that order.

    Raises:
        SettingsError: some are missing, or there are several of a name.
    """
    found: dict[str, list[Path]] = {name: [] for name in names}
    for path in files_of(root, _SUFFIXES):
        if path.name in found:
            found[path.name].append(path)
    missing = [name for name, paths in found.items() if not paths]
    if missing:
        raise SettingsError(
            f"{root} lacks files of CMSIS-NN.",
            why=f"Missing: {', '.join(missing)}.",
            todo="Name a directory with CMSIS-NN 4 and, beside it, the Include directory of the CMSIS core.",
        )
    double = [f"{name} ({len(paths)} times)" for name, paths in found.items() if len(paths) > 1]
    if double:
        raise SettingsError(
            f"{root} holds files of CMSIS-NN more than once.",
            why=", ".join(double) + ".",
            todo="Name the directory of one copy.",
        )
    return tuple(found[name][0] for name in names)


def _installed() -> SourceTree:
    try:
        version = distribution(PACKAGE).version
        spec = find_spec(PACKAGE)
    except PackageNotFoundError:
        version, spec = "", None
    if spec is None or not spec.submodule_search_locations:
        raise ToolMissingError(
            f"The package {PACKAGE}, which carries the sources of CMSIS-NN, is not installed.",
            todo=f"{INSTALL}, or name a directory with CMSIS-NN 4 as --engine-config {NAME}=DIRECTORY.",
            context={"tool": PACKAGE},
        )
    root = Path(spec.submodule_search_locations[0]) / "backend" / "cmsis_nn" / "vendor"
    digest = digest_of(root, _SUFFIXES) if root.is_dir() else "no such directory"
    if version != PACKAGE_VERSION or digest != PACKAGE_SHA256:
        raise ToolMissingError(
            f"The installed {PACKAGE} does not carry the known sources of CMSIS-NN.",
            why=f"It is {version} with {digest}; known is {PACKAGE_VERSION} with {PACKAGE_SHA256}.",
            todo=f"{INSTALL} again.",
            context={"tool": PACKAGE},
        )
    return SourceTree(NAME, root, f"{PACKAGE} {version}", digest)
