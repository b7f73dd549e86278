"""Native helpers of the virtual bench: compiled on first use with the host's C compiler, kept by content digest."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path

from harness.core.deadline import Deadline
from harness.core.errors import BuildError, ToolMissingError
from harness.core.hashing import sha256_bytes, sha256_file
from harness.core.proc import clean_env, run_guarded
from harness.core.resources import cache_root
from harness.core.store import ContentStore
from harness.core.strict_json import canonical

NATIVE_DIR = Path(__file__).with_name("native")
COMPILER_VARIABLE = "HARNESS_HOST_CC"
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden")
COMPILE_SECONDS = 120.0


def host_compiler() -> Path:
    """The host's C compiler: `HARNESS_HOST_CC`, else the first of cc, gcc, clang.

    Raises:
        ToolMissingError: there is none.
    """
    wanted = os.environ.get(COMPILER_VARIABLE)
    for name in [wanted] if wanted else ["cc", "gcc", "clang"]:
        found = shutil.which(name)
        if found:
            return Path(found)
    raise ToolMissingError(
        "No C compiler for this host was found.",
        why=f"{wanted or 'cc, gcc and clang'}: not on PATH. The virtual bench compiles its helpers on first use.",
        todo="apt-get install -y gcc libc6-dev",
    )


def build_shared(name: str, sources: Path, *, flags: Sequence[str] = (), libraries: Sequence[str] = ()) -> Path:
    """The shared library `name` made of all `*.c` files of a directory.

    Args:
        name: file name of the library, as in "libjlinkarm.so".
        sources: directory with the C files and their headers.
        flags: compiler flags beside `FLAGS`.
        libraries: linker arguments, placed last.

    Returns:
        Path of the library in the cache; made once a digest of sources, flags and compiler.

    Raises:
        ToolMissingError: no compiler on this host.
        BuildError: the compiler refused.
        DeadlineError: it did not end.
    """
    compiler = host_compiler()
    files = sorted(file for file in sources.iterdir() if file.suffix in (".c", ".h"))
    state = compiler.resolve().stat()
    key = sha256_bytes(
        canonical(
            {
                "name": name,
                "files": {file.name: sha256_file(file) for file in files},
                "flags": [*FLAGS, *flags, *libraries],
                "compiler": [str(compiler.resolve()), state.st_size, state.st_mtime_ns],
                "machine": platform.machine(),
            }
        )
    )

    def make(directory: Path) -> None:
        command = [str(compiler), *FLAGS, *flags, f"-Wl,-soname,{name}", "-o", str(directory / name)]
        command += [str(file) for file in files if file.suffix == ".c"]
        deadline = Deadline(COMPILE_SECONDS, f"the compiler to make {name}", "this host")
        done = run_guarded([*command, *libraries], deadline, env=clean_env())
        if not done.ok:
            raise BuildError(
                f"{name} does not compile on this host.",
                why="\n".join(done.stderr.splitlines()[:12]),
                todo=f"Name another C compiler in {COMPILER_VARIABLE}, or report this with the compiler's version.",
                context={"command": command, "status": done.status},
            )

    return ContentStore(cache_root() / "native").get_or_make_sealed(key, make) / name


def jlink_library() -> Path:
    """Our `libjlinkarm.so`, which pylink loads for emulated boards. Raises like `build_shared`."""
    return build_shared("libjlinkarm.so", NATIVE_DIR / "jlink", libraries=("-lpthread",))
