"""`harness compare BASE CAND --profile P`: judge a candidate bundle against a baseline.

Merge gates call this often, so plain command lines are parsed here by hand: loading a command-line library takes longer
than comparing. Anything unusual (`--help`, a mistake) goes to the Typer command, which alone knows help and messages.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.judge.compare import CompareOutcome

_FLAGS = {"--json": "json", "--metrics": "metrics"}


def run_plain(args: list[str]) -> int | None:
    """Run a plain command line; None when it needs the full parser."""
    paths: list[str] = []
    profile = markdown = ""
    flags: set[str] = set()
    rest = iter(args)
    for arg in rest:
        if arg in _FLAGS:
            flags.add(_FLAGS[arg])
        elif arg in ("--profile", "-p"):
            profile = next(rest, "")
            if not profile:
                return None
        elif arg == "--markdown":
            markdown = next(rest, "")
            if not markdown:
                return None
        elif arg.startswith("-"):
            return None
        else:
            paths.append(arg)
    if len(paths) != 2:
        return None
    return judge(
        Path(paths[0]), Path(paths[1]), profile, as_json="json" in flags, metrics="metrics" in flags, markdown=markdown
    )


def judge(base: Path, cand: Path, profile: str, *, as_json: bool, metrics: bool, markdown: str = "") -> int:
    """Compare, print, and return the exit code; errors are raised.

    `markdown` names a file for a comment on a merge, which is written whatever the outcome.
    """
    from harness.judge.compare import try_compare
    from harness.judge.profile_file import find_profile

    outcome = try_compare(base, cand, find_profile(profile) if profile else None)
    if markdown:
        from harness.core.files import atomic_write
        from harness.judge.report import compare_markdown

        atomic_write(Path(markdown), compare_markdown(outcome))
    if outcome.error is not None:
        raise outcome.error
    if as_json:
        print(json.dumps(outcome.to_dict(), indent=2, sort_keys=True, allow_nan=False))
    else:
        print(outcome.explain())
        if metrics:
            print(_metrics(outcome))
    sys.stdout.flush()
    return outcome.exit_code


def _metrics(outcome: CompareOutcome) -> str:
    from harness.judge.explain import number, percent, table

    rows: list[tuple[str, ...]] = []
    for row in outcome.metrics:
        old, new = (value if isinstance(value, int | float) else None for value in (row.baseline, row.candidate))
        rows.append((row.name, number(old), number(new), percent(row.delta, old), row.unit))
    lines = table(("metric", "baseline", "candidate", "change", "unit"), rows)
    return "\n".join(["", f"metrics ({outcome.source or 'source not stated'}):", *lines])


def __getattr__(name: str) -> Any:
    if name == "app":
        return _typer_app()
    raise AttributeError(name)


def _typer_app() -> Any:
    import typer

    app = typer.Typer(add_completion=False)

    def compare(
        base: Path = typer.Argument(help="The baseline's bundle directory."),
        cand: Path = typer.Argument(help="The candidate's bundle directory."),
        profile: str = typer.Option(
            "", "--profile", "-p", help="Comparison profile: a file, or the name of a shipped one."
        ),
        metrics: bool = typer.Option(False, "--metrics", help="Also list every metric of both bundles."),
        markdown: str = typer.Option("", "--markdown", help="Also write a comment for a merge to this file."),
        json_: bool = typer.Option(False, "--json", help="Print the whole outcome as JSON."),
    ) -> None:
        """Compare two bundles.

        Exit codes: 0 pass, warn, skip or no profile; 1 the verdict is fail; 2 the profile cannot be used; 4 the bundles
        are not comparable; 5 a bundle is broken.
        """
        raise typer.Exit(judge(base, cand, profile, as_json=json_, metrics=metrics, markdown=markdown))

    # Annotations are text here, and Typer looks them up in the module.
    compare.__annotations__ = {
        "base": Path,
        "cand": Path,
        "profile": str,
        "metrics": bool,
        "markdown": str,
        "json_": bool,
        "return": None,
    }
    app.command()(compare)
    return app
