"""What a compiler's complaints become: the source is blamed for what is wrong with it, the host for the rest."""

from __future__ import annotations

import pytest

from harness.core.errors import BuildError, HarnessError, HostError
from harness.core.proc import Finished
from harness.image.diagnostics import compile_error, link_error

FULL = "x.s: Assembler messages:\nx.s: Fatal error: can't write 52 bytes to section .text: 'No space left on device'\n"


def failed(stderr: str) -> Finished:
    return Finished(("cc",), 1, "", stderr)


@pytest.mark.parametrize(
    "error",
    [
        compile_error("app/main.c", failed(FULL)),
        link_error(failed("ld: final link failed: No space left on device\n"), {}),
        compile_error("app/main.c", failed("app/main.c:1: error: unable to write: Disk quota exceeded\n")),
    ],
)
def test_a_full_disk_is_a_fault_of_the_host(error: HarnessError) -> None:
    assert isinstance(error, HostError)
    assert "while" in error.what and "HARNESS_CACHE_DIR" in error.todo


def test_the_first_error_of_a_source_is_named() -> None:
    error = compile_error("app/main.c", failed("app/main.c:3:5: error: 'x' undeclared\n"))
    assert isinstance(error, BuildError)
    assert error.why == "app/main.c:3: 'x' undeclared"
