"""What a compiler or linker complained about, as one typed error with the numbers in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.core.errors import BuildError, HarnessError, HostError
from harness.core.proc import Finished

_COMPILER = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal error|error): (?P<text>.+)$", re.MULTILINE
)
_FULL = re.compile(r"No space left on device|Disk quota exceeded|Cannot allocate memory|Read-only file system")
_OVERFLOW = re.compile(r"region `(?P<region>[^']+)' overflowed by (?P<bytes>\d+) bytes?")
_UNDEFINED = re.compile(r"undefined reference to `(?P<symbol>[^']+)'")
_LINKER = re.compile(r"^(?:\S*ld(?:\.bfd)?|\S*collect2[^:]*): (?:error: )?(?P<text>.+)$", re.MULTILINE)


class ImageTooLargeError(BuildError):
    """The image does not fit into the board's memory."""

    code = "build.too_large"


def compile_error(unit: str, finished: Finished) -> HarnessError:
    """The error for a compilation that failed; names the first message."""
    if full := _FULL.search(finished.stderr):
        return _host_failed(full[0], f"compiling {unit}", finished)
    match = _COMPILER.search(finished.stderr)
    if match:
        why = f"{match['file']}:{match['line']}: {match['text']}"
    elif finished.status > 128:
        why = f"The compiler was killed by signal {finished.status - 128}."
    else:
        why = (finished.stderr.strip() or finished.stdout.strip() or f"Exit status {finished.status}.").splitlines()[0]
    return BuildError(
        f"{unit} does not compile.",
        why=why,
        todo="Nothing was written; correct the cause and repeat the command.",
        context={"unit": unit, "status": finished.status, "stderr": finished.stderr[-4000:]},
    )


def _host_failed(reason: str, doing: str, finished: Finished) -> HostError:
    # The source is not to blame for what the compiler could not write.
    return HostError(
        f"{reason} while {doing}.",
        todo="Free some space in the cache (HARNESS_CACHE_DIR) and the temporary directory.",
        context={"status": finished.status, "stderr": finished.stderr[-4000:]},
    )


def link_error(finished: Finished, regions: Mapping[str, int]) -> HarnessError:
    """The error for a link that failed; `regions` maps memory regions to their lengths in bytes."""
    if full := _FULL.search(finished.stderr):
        return _host_failed(full[0], "linking the image", finished)
    overflows = {match["region"]: int(match["bytes"]) for match in _OVERFLOW.finditer(finished.stderr)}
    if overflows:
        return too_large({name: (regions.get(name, 0) + over, regions.get(name)) for name, over in overflows.items()})
    undefined = sorted({match["symbol"] for match in _UNDEFINED.finditer(finished.stderr)})
    if undefined:
        why = f"Undefined: {', '.join(undefined[:8])}{', ...' if len(undefined) > 8 else ''}."
    elif finished.status > 128:
        why = f"The linker was killed by signal {finished.status - 128}."
    else:
        match = _LINKER.search(finished.stderr)
        why = match["text"] if match else finished.stderr.strip()[:300]
    return BuildError(
        "The image does not link.",
        why=why,
        todo="Nothing was written; correct the cause and repeat the command.",
        context={"status": finished.status, "stderr": finished.stderr[-4000:], "undefined": undefined},
    )


def too_large(needs: Mapping[str, tuple[int, int | None]]) -> ImageTooLargeError:
    """The error for an image that does not fit; `needs` maps a region to bytes needed and bytes there."""
    lines = [
        f"{name}: needs {needed} bytes, has {length}, {needed - length} too many."
        if length is not None
        else f"{name}: {needed} bytes too many."
        for name, (needed, length) in sorted(needs.items())
    ]
    return ImageTooLargeError(
        "The image does not fit into the board's memory.",
        why="\n".join(lines),
        todo="Place the arena or the weights elsewhere (arena-location, weights-location), or use a smaller model.",
        context={
            "regions": {
                name: {"needed": needed, "length": length, "overflow": needed - (length or 0)}
                for name, (needed, length) in needs.items()
            }
        },
    )
