"""The `harness` command: one thin module a subcommand, imported only when it is called."""

from __future__ import annotations

import sys
from io import TextIOWrapper

COMMANDS: dict[str, tuple[str, str]] = {
    "freeze": ("harness.cli.freeze", "freeze a model and settings to a plan"),
    "build": ("harness.cli.build", "build a firmware image from a plan"),
    "analyze": ("harness.cli.analyze", "show what a model costs, without hardware"),
    "estimate": ("harness.cli.estimate", "predict what a model would cost on a board"),
    "vela": ("harness.cli.vela", "estimate a model on an Ethos-U with Vela"),
    "model": ("harness.cli.model", "fit cost models from bundles, show what is in them"),
    "validate": ("harness.cli.validate", "re-verify a build without hardware"),
    "run": ("harness.cli.run", "flash a build, measure, publish a bundle"),
    "profile": ("harness.cli.profile", "freeze, build and run in one go"),
    "profiles": ("harness.cli.profiles", "write, list and check comparison profiles"),
    "metrics": ("harness.cli.metrics", "list the metrics that a profile may name"),
    "compare": ("harness.cli.compare", "judge a candidate bundle against a baseline"),
    "ab": ("harness.cli.ab", "build two firmware trees, measure in pairs, judge: the merge gate"),
    "bisect": ("harness.cli.bisect", "find the commit that made a metric worse, on a board"),
    "baseline": ("harness.cli.baseline", "approve baselines, and see what is approved"),
    "history": ("harness.cli.history", "index many bundles; trends and outliers"),
    "sql": ("harness.cli.sql", "ask the index of runs in SQL"),
    "results": ("harness.cli.results", "list, show and verify bundles"),
    "advice": ("harness.cli.advice", "what rules say of a run, with the figures they rest on"),
    "etdump": ("harness.cli.etdump", "read an ETDump from a board's memory or RTT"),
    "import": ("harness.cli.import_", "read a foreign result: MLIA, captures, ETDump, Vela, bundles"),
    "export": ("harness.cli.export", "write a result as mlia, hpx, csv or model-explorer"),
    "boards": ("harness.cli.boards", "list boards and board types, write a type of one's own"),
    "probes": ("harness.cli.probes", "list debug probes without opening them"),
    "ports": ("harness.cli.ports", "list probes, serial ports, power monitors and hubs without opening them"),
    "bench": ("harness.cli.bench", "write bench.yaml for the boards on this host"),
    "power": ("harness.cli.power", "power monitors: list, capture, show, calibrate, supply"),
    "doctor": ("harness.cli.doctor", "check what this host can do"),
    "runtimes": ("harness.cli.runtimes", "list, check and prepare the engines of this host"),
    "cache": ("harness.cli.cache", "show or shrink the compile cache"),
}
"""Subcommand name -> (module with a Typer `app`, one-line help). Adding a command is one module and one line here."""


def main() -> None:
    """Entry point of the `harness` command."""
    from harness.cli._main import run_cli

    if isinstance(sys.stdout, TextIOWrapper):
        # File names and texts of bundles may hold what the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run_cli(sys.argv[1:]))
