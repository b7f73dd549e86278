"""Dispatch, error rendering and exit codes."""

from __future__ import annotations

import difflib
import errno
import json
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path

from harness.cli import COMMANDS
from harness.core.errors import HarnessError, HostError, InternalError, RegressionFailed, UsageError

_OF_PATHS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP})
USAGE = "usage: harness COMMAND [OPTIONS] ...    (harness COMMAND --help for each)"


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join([USAGE, "", "Hardware-in-the-loop tests for ML firmware on microcontrollers.", "", *lines])


def _dispatch(args: list[str]) -> int:
    name = args[0] if args else "--help"
    if name in ("-h", "--help", "help"):
        print(_overview())
        return 0 if args else 2
    if name == "--version":
        from harness import __version__

        print(f"harness {__version__}")
        return 0
    if name == "profile" and args[1:2] in (["new"], ["check"]):
        # `profile` runs a model; what is asked for here is a comparison profile.
        name = "profiles"
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        raise UsageError(
            f"There is no command {name!r}.",
            why=f"Did you mean {near[0]!r}?" if near else "",
            todo="`harness --help` lists the commands.",
        )
    module = import_module(COMMANDS[name][0])
    plain = getattr(module, "run_plain", None)
    code: int | None = plain(args[1:]) if plain is not None else None
    if code is not None:
        return code
    from typer.main import get_command

    command = get_command(module.app)
    result = command.main(args=args[1:], prog_name=f"harness {name}", standalone_mode=False)
    return result if isinstance(result, int) else 0


def _report(error: HarnessError, as_json: bool) -> None:
    if as_json:
        try:
            print(json.dumps({"error": error.to_dict()}, indent=2, sort_keys=True, default=str), flush=True)
        except BrokenPipeError:
            _drop_output()
        return
    lines = str(error).splitlines()
    print(f"error: {lines[0]}", file=sys.stderr)
    for line in lines[1:]:
        print(f"  {line}", file=sys.stderr)
    if "bundle" in error.context:
        print(f"  bundle: {error.context['bundle']}", file=sys.stderr)


def _drop_output() -> None:
    """Whoever read our output is gone; the interpreter must not fail when it flushes the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_cli(args: list[str]) -> int:
    """Run one command line; returns the exit code. Errors of the harness become lines, never a traceback."""
    try:
        return _dispatch(args)
    except HarnessError as error:
        _report(error, "--json" in args)
        return error.exit_code
    except RegressionFailed as error:
        print(str(error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        told: HarnessError = HostError.of(error)
        if error.errno in _OF_PATHS:
            # A path that somebody mistyped, not this host; nor may it end as a regression does.
            told = UsageError(told.what[:400], todo="Check the path.")
        _report(told, "--json" in args)
        return told.exit_code
    except Exception as error:
        return _typer_error(error, "--json" in args)


def _typer_error(error: Exception, as_json: bool) -> int:
    import typer

    if isinstance(error, typer.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    if isinstance(error, typer.TyperException):
        if not error.format_message():
            # A group without a command has printed its help.
            return UsageError.exit_code
        told = UsageError(error.format_message())
        _report(told, as_json)
        return told.exit_code
    if os.environ.get("HARNESS_TRACEBACK"):
        raise error
    place = traceback.extract_tb(error.__traceback__)[-1]
    _report(
        InternalError(
            f"{type(error).__name__}: {error}",
            why=f"A fault of the harness, in {Path(place.filename).name} line {place.lineno}.",
            todo="Run again with HARNESS_TRACEBACK=1 and report what it prints.",
        ),
        as_json,
    )
    return InternalError.exit_code
