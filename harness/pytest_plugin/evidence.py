"""What a failing test shows: the verdict, the outputs, the last words of the target, and where the bundle lies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.core.errors import HarnessError

LOG_LINES = 20
_CONTROL = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]")


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
