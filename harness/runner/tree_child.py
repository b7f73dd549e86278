"""The child process of `harness.runner.trees`: freezes and builds what a request file asks for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harness.core.errors import HarnessError


def main(request_file: str) -> int:
    """Returns 0, or 1 with the error as JSON on standard output."""
    from harness.image.build import build
    from harness.plan.freeze import freeze

    request = json.loads(Path(request_file).read_text())
    try:
        plan = freeze(request["model"], **request["settings"])
        build(plan, request["out"], model=request["model"])
    except HarnessError as error:
        sys.stdout.write(json.dumps(error.to_dict(), default=str))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
