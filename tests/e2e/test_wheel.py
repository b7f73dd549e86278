"""The wheel carries everything: unpacked read-only, away from the clone, it runs the example.

No pip here: the wheel is built with the build backend and unpacked beside the dependencies of this environment, where
nothing of the clone can be found. `scripts/campaign wheel` does the same with pip in an empty environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from tests.e2e.conftest import ROOT


def test_example_runs_from_the_wheel(tmp_path: Path) -> None:
    tree = tmp_path / "clone"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in tracked.decode().split("\0"):
        if name and (ROOT / name).is_file():
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=tree,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    shutil.copytree(tree / "examples/digits", tmp_path / "digits")
    shutil.rmtree(tree)
    subprocess.run(["chmod", "-R", "a-w", str(site)], check=True)
    # -S -I keeps the environment's .pth files away, which would put the clone on the path.
    start = (
        "import sys; "
        f"sys.path[:0] = [{str(site)!r}, {sysconfig.get_paths()['purelib']!r}]; "
        "import importlib.util, pytest; "
        f"assert importlib.util.find_spec('harness').origin.startswith({str(site)!r}); "
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST"))},
        "HARNESS_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", start, "-p", "no:cacheprovider", "--hil-strict", "-q"],
        cwd=tmp_path / "digits",
        env=environment,
        capture_output=True,
        text=True,
    )
    subprocess.run(["chmod", "-R", "u+w", str(site)], check=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "2 passed, 2 xfailed" in done.stdout
