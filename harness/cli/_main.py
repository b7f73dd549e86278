"""Dispatch, error rendering and exit codes."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

import click
import typer
from typer.core import TyperGroup
from typer.main import get_command

from harness.cli import COMMANDS
from harness.core.errors import HarnessError, RegressionFailed


class LazyGroup(TyperGroup):
    """A group whose subcommands are imported when called, not when listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if ctx.resilient_parsing or "--help" in sys.argv[1:2] or len(sys.argv) < 2:
            return click.Command(cmd_name, help=entry[1], short_help=entry[1])
        command = get_command(import_module(entry[0]).app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=LazyGroup, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, name="harness"
)


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    """Hardware-in-the-loop tests for ML firmware on microcontrollers."""
    if version:
        from harness import __version__

        typer.echo(f"harness {__version__}")
        raise typer.Exit


def _report(error: HarnessError, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"error": error.to_dict()}, indent=2, sort_keys=True, default=str))
        return
    lines = str(error).splitlines()
    typer.echo(f"error: {lines[0]}", err=True)
    for line in lines[1:]:
        typer.echo(f"  {line}", err=True)


def run_cli(args: list[str]) -> int:
    """Run one command line; returns the exit code. Errors of the harness become lines, never a traceback."""
    try:
        result = get_command(app).main(args=args, prog_name="harness", standalone_mode=False)
        return int(result) if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except HarnessError as error:
        _report(error, "--json" in args)
        return error.exit_code
    except RegressionFailed as error:
        typer.echo(str(error), err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {where}{error.strerror or error}\n  Check the path, permissions and free space.", err=True)
        return 1
