"""One host compiler for all tests of a worker."""

from __future__ import annotations

import pytest

from tests.engines.host import HostCompiler


@pytest.fixture(scope="session")
def host_compiler(tmp_path_factory: pytest.TempPathFactory) -> HostCompiler:
    return HostCompiler(tmp_path_factory.mktemp("engines"))
