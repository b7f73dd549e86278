"""Build the wheel, install it into an empty environment, make that read-only, and run the example elsewhere.

Uses pip and therefore the network: a campaign, not a test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """Returns 0 when the example passes."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        clone = work / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(work), str(clone)]
        subprocess.run(build, check=True)
        (wheel,) = work.glob("*.whl")
        shutil.copytree(clone / "examples/digits", work / "digits")
        constraints = shutil.copy(clone / "constraints/dev.txt", work / "constraints.txt")
        subprocess.run([sys.executable, "-m", "venv", str(work / "venv")], check=True)
        python = work / "venv/bin/python"
        install = [python, "-m", "pip", "install", "--quiet", "-c", constraints, f"{wheel}[reference]"]
        subprocess.run(install, check=True)
        shutil.rmtree(clone)
        subprocess.run(["chmod", "-R", "a-w", str(work / "venv")], check=True)
        environment = {**os.environ, "HARNESS_CACHE_DIR": str(work / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            run = [python, "-m", "pytest", "-p", "no:cacheprovider", "--hil-strict", *arguments]
            return subprocess.run(run, cwd=work / "digits", env=environment).returncode
        finally:
            subprocess.run(["chmod", "-R", "u+w", str(work / "venv")], check=True)
