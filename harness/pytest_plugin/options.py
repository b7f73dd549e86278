"""The `--hil-*` options: each is one row, with a command-line flag, a `HIL_*` variable and an ini key.

The command line wins over the variable, the variable over the ini file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import pytest


@dataclass(frozen=True)
class Option:
    """One setting of the plugin."""

    name: str
    kind: Literal["text", "flag", "list"]
    help: str
    metavar: str | None = None

    @property
    def flag(self) -> str:
        """Command-line form."""
        return "--hil-" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Environment form; lists are separated by commas, flags are 1 or 0."""
        return "HIL_" + self.name.upper()

    @property
    def ini(self) -> str:
        """Ini form."""
        return "hil_" + self.name


OPTIONS: tuple[Option, ...] = (
    Option("bench", "text", "bench description; without one, emulated boards are started on demand", "FILE"),
    Option("board", "list", "use only boards of this type or serial (repeatable)", "TYPE|SERIAL"),
    Option(
        "baseline",
        "text",
        "bundle, store of approved baselines, or directory of bundles, to compare with instead of a second boot",
        "PATH",
    ),
    Option("base", "text", "directory or git ref of the firmware to compare with, in pairs of runs", "REF|PATH"),
    Option("seed", "text", "seed of the order in pairs of runs (default: drawn)", "N"),
    Option("power", "text", "power monitor that measures energy: its name, any, or none", "MONITOR"),
    Option("out", "text", "directory for bundles (default: hil-results)", "DIR"),
    Option("transport", "text", "what carries bytes off the boards, whatever the tests' settings say", "NAME"),
    Option("deadline", "list", "set the deadline of one phase (repeatable)", "PHASE=SECONDS"),
    Option(
        "retries", "text", "how often a run is tried again after a failure of bench, link or wire (default: 1)", "N"
    ),
    Option("fail_on_flaky", "flag", "a run that needed more than one attempt is an error"),
    Option("strict", "flag", "a test without a matching board is an error, not a skip"),
    Option("keep", "flag", "keep build directories beside the bundles"),
    Option("json", "text", "write a summary of all runs and verdicts", "FILE"),
)

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


def add_options(parser: pytest.Parser) -> None:
    """Register every option and its ini key."""
    group = parser.getgroup("hil", "hardware in the loop")
    for option in OPTIONS:
        dest = "hil_" + option.name
        if option.kind == "flag":
            group.addoption(option.flag, dest=dest, action="store_true", default=None, help=option.help)
            parser.addini(option.ini, option.help, type="bool", default=False)
        elif option.kind == "list":
            group.addoption(
                option.flag, dest=dest, action="append", default=None, metavar=option.metavar, help=option.help
            )
            parser.addini(option.ini, option.help, type="args", default=[])
        else:
            group.addoption(option.flag, dest=dest, default=None, metavar=option.metavar, help=option.help)
            parser.addini(option.ini, option.help, default="")


def get_option(config: pytest.Config, name: str) -> Any:
    """The value in force: str or None for text, bool for a flag, tuple of str for a list.

    Raises:
        pytest.UsageError: a variable holds something that is not a flag.
    """
    option = next(candidate for candidate in OPTIONS if candidate.name == name)
    value = config.getoption("hil_" + name)
    if value is None and option.variable in os.environ:
        value = _from_variable(option, os.environ[option.variable])
    if value is None:
        value = config.getini(option.ini)
    if option.kind == "list":
        return tuple(value)
    if option.kind == "flag":
        return bool(value)
    return str(value) if value else None


def _from_variable(option: Option, text: str) -> Any:
    if option.kind == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    if option.kind == "flag":
        if text.lower() in _TRUE:
            return True
        if text.lower() in _FALSE:
            return False
        raise pytest.UsageError(f"{option.variable}={text!r} is neither true nor false; use 1 or 0.")
    return text
