"""What a failing test shows: the verdict, the outputs, the last words of the target, and where the bundle lies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from harness.core.errors import HarnessError

LOG_LINES = 20
_CONTROL = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]")


def plain_error(item: pytest.Item, error: BaseException) -> str | None:
    """Errors of the harness as lines, not a traceback, unless one was asked for (`--tb=long`, `--full-trace`)."""
    style = item.config.getoption("tbstyle", "auto")
    if not isinstance(error, HarnessError) or style not in ("auto", "short", "line"):
        return None
    if item.config.getoption("fulltrace", False):
        return None
    return "\n".join([f"{error.what} [{error.code}]", *(f"  {line}" for line in (error.why, error.todo) if line)])


def sections(record: Mapping[str, Any], error: BaseException) -> list[tuple[str, str]]:
    """(title, text) pairs for the report of a failed test."""
    out: list[tuple[str, str]] = []
    for verdict in record["verdicts"]:
        out.append((f"hil verdict ({verdict['status']})", verdict["table"]))
    if record.get("outputs"):
        out.append(("hil outputs", record["outputs"]))
    log = record.get("log") or _log_of(error)
    if log:
        lines = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", log).splitlines()
        out.append((f"hil target log (last {min(LOG_LINES, len(lines))} lines)", "\n".join(lines[-LOG_LINES:])))
    places = [f"{bundle['role']}: {bundle['path']}" for bundle in record["bundles"]]
    if isinstance(error, HarnessError) and "bundle" in error.context:
        places.append(f"failed run: {error.context['bundle']}")
    if places:
        out.append(("hil bundles", "\n".join(places)))
    return out


def _log_of(error: BaseException) -> str:
    return str(error.context.get("log", "")) if isinstance(error, HarnessError) else ""
