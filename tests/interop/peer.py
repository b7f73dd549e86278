"""The reference implementation in its own environment, asked in batches through one child process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

PYTHON = Path(__file__).parents[2] / ".peers" / "mlia" / "bin" / "python"

_CHILD = r"""
import json, logging, os, signal, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from mlia.core import output_postprocessing as post, output_schema as schema, output_validation as validation
from mlia.core.settings import ApplicationSettings, CollapseRule
def late(*_):
    raise TimeoutError("late")
signal.signal(signal.SIGALRM, late)
import dataclasses
for line in sys.stdin:
    task = json.loads(line)
    document = task["document"]
    answer = {}
    try:
        signal.setitimer(signal.ITIMER_REAL, task["seconds"])
        settings = ApplicationSettings()
        if task["rules"]:
            rules = tuple(CollapseRule(r["kind"], r["attribute"], tuple(r["globs"])) for r in task["rules"])
            settings = dataclasses.replace(settings, filtering=dataclasses.replace(settings.filtering, collapse=rules))
        answer["errors"] = validation.collect_validation_errors(document)
        if not answer["errors"]:
            answer["kept"] = schema.StandardizedOutput.from_dict(document).to_dict()
            answer["processed"] = post.postprocess_standardized_output(document, settings)
    except TimeoutError:
        answer["late"] = True
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(answer), flush=True)
"""


class Peer:
    """Context manager: `ask` gives the reference's errors, typed round trip and post-processed document."""

    def __enter__(self) -> Peer:
        if not PYTHON.exists():
            raise AssertionError(f"{PYTHON} is missing: run scripts/setup")
        self.process = subprocess.Popen(
            [str(PYTHON), "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self

    def ask(self, document: Any, *, rules: Any = (), seconds: float = 10.0) -> dict[str, Any]:
        """One document to the reference; `late` is set when it needed longer than `seconds`."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(
            json.dumps({"document": document, "rules": list(rules), "seconds": seconds}).encode() + b"\n"
        )
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the reference ended"
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()
