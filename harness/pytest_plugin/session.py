"""What the fixtures do, once a test has asked for a run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.core.errors import HarnessError, HostError
from harness.core.signals import TERMINATED, unwound_by_sigterm
from harness.pytest_plugin.hooks import mark_of
from harness.pytest_plugin.options import get_option
from harness.pytest_plugin.outcome import (
    ASKED,
    BROKEN,
    STARTED,
    BlockedError,
    FlakyRunError,
    breaks_board,
    record_of,
)
from harness.pytest_plugin.selection import Choice, bench_of, serial_for
from harness.pytest_plugin.verdicts import JudgedPair
from harness.runner.deadlines import Deadlines

if TYPE_CHECKING:
    from harness.bench.provider import BoardLease
    from harness.capture.record import Capture
    from harness.image.record import Build
    from harness.judge.compare import CompareOutcome
    from harness.judge.paired import PairedOutcome
    from harness.plan.record import Plan
    from harness.results.power import PowerEvidence
    from harness.runner.board import FlashedBoard
    from harness.runner.run import RunOutcome


def item_of(request: pytest.FixtureRequest) -> pytest.Item:
    """The test a fixture works for."""
    node = request.node
    if not isinstance(node, pytest.Item):
        raise pytest.UsageError("hil fixtures belong to one test each; do not widen their scope.")
    return node


def board_type(request: pytest.FixtureRequest) -> str:
    """Resolve the parameter; skip, or fail under `--hil-strict`, when the bench has no such board."""
    choice: Choice | None = getattr(request, "param", None)
    item = item_of(request)
    record = record_of(item)
    if choice is None:
        raise pytest.UsageError(f"{item.nodeid}: uses a hil fixture but has no hil marker.")
    if choice.unavailable:
        if get_option(request.config, "strict"):
            from harness.core.errors import NoBoardError

            raise NoBoardError(choice.unavailable, todo="Add one to the bench, or leave out --hil-strict.")
        pytest.skip(choice.unavailable)
    reason = request.session.stash.get(BROKEN, {}).get(choice.name)
    if reason:
        raise BlockedError(
            f"Not run: {choice.name} failed earlier in this session.",
            why=reason,
            todo="Mend the board, then run again.",
        )
    record["board"] = choice.name
    return choice.name


@contextmanager
def faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remember a board that no later test can use; what the host refuses is a fault of the infrastructure."""
    try:
        yield
    except OSError as fault:
        # As it stands, a full disk would satisfy a test that is marked xfail.
        raise HostError.of(fault) from fault
    except HarnessError as error:
        if breaks_board(error):
            name = record_of(item_of(request)).get("board", "")
            request.session.stash.setdefault(BROKEN, {})[name] = error.what
        raise


def freeze_plan(request: pytest.FixtureRequest, board: str, *, for_baseline: bool = False) -> Plan:
    """Freeze the marker's model and settings for a board type."""
    from harness.plan.freeze import freeze

    item = item_of(request)
    mark = mark_of(item)
    if mark.model is None:
        raise pytest.UsageError(f"{item.nodeid}: the hil marker names no model.")
    with faults(request):
        return freeze(mark.model, board=board, **asked_settings(request, for_baseline=for_baseline))


def asked_settings(request: pytest.FixtureRequest, *, for_baseline: bool = False) -> dict[str, Any]:
    """The marker's settings, with what the command line puts in their place."""
    settings = mark_of(item_of(request)).plan_settings(for_baseline=for_baseline)
    transport = get_option(request.config, "transport")
    return {**settings, "transport": transport} if transport is not None else settings


def build_image(request: pytest.FixtureRequest, plan: Plan) -> Build:
    """Build (or take from the cache) the image of a plan."""
    from harness.image.build import build

    mark = mark_of(item_of(request))
    keep = get_option(request.config, "keep")
    parent = out_dir(request.config) / "builds" if keep else request.getfixturevalue("tmp_path_factory").mktemp("hil")
    with faults(request):
        return build(
            plan,
            parent / _unique(request, plan.board),
            model=mark.model,
            deadline_seconds=_deadlines(request.config)["build"],
        )


def out_dir(config: pytest.Config) -> Path:
    """Where bundles go."""
    text = get_option(config, "out")
    return Path(text).absolute() if text else config.invocation_params.dir / "hil-results"


def _unique(request: pytest.FixtureRequest, board: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", item_of(request).name).strip("-")[:60]
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{name}-{board}-{time.time_ns() % 1_000_000_000:09d}"


def _deadlines(config: pytest.Config) -> Deadlines:
    try:
        return Deadlines.of(get_option(config, "deadline"))
    except HarnessError as error:
        raise pytest.UsageError(f"--hil-deadline: {error}") from None


@contextmanager
def leased_board(request: pytest.FixtureRequest, image: Build) -> Iterator[BoardLease]:
    """Lease a board of the image's type for the length of a test."""
    from harness.runner.board import lease_board

    item = item_of(request)
    with _terminable():
        with faults(request):
            lease = lease_board(
                bench_of(request.config),
                image,
                serial=serial_for(request.config, image.plan.board),
                holder=f"pytest {item.nodeid}",
                deadlines=_deadlines(request.config),
            )
        record = record_of(item)
        record["serial"] = str(lease.info.serial)
        record["source"] = lease.board_type.source
        with lease:
            with faults(request):
                lease.inject(*mark_of(item).faults)
            yield lease


def _terminable() -> AbstractContextManager[None]:
    ending = "ended by SIGTERM"
    return unwound_by_sigterm(lambda: pytest.exit.Exception(ending, returncode=TERMINATED))


def flashed(request: pytest.FixtureRequest, lease: BoardLease, image: Build) -> FlashedBoard:
    """Flash the image; the lease, when it ends, halts the board and closes the probe."""
    from harness.runner.board import flash_board

    with faults(request):
        lease.begin_run()
        return flash_board(lease, image, _deadlines(request.config))


def marked_inputs(request: pytest.FixtureRequest) -> Any:
    """The inputs that the marker names; none: an empty tuple."""
    mark = mark_of(item_of(request))
    if mark.input_seed is not None:
        from harness.runner.inputs import RandomInputs

        return RandomInputs(mark.input_seed)
    return () if mark.inputs is None else mark.inputs


def marked_expected(request: pytest.FixtureRequest) -> Any:
    """The expected outputs that the marker names; None: none."""
    return mark_of(item_of(request)).expected


def _timed(request: pytest.FixtureRequest) -> str:
    mark = mark_of(item_of(request))
    return "build" if mark.inputs is None and mark.input_seed is None else "inputs"


def capture_boot(request: pytest.FixtureRequest, ready: FlashedBoard, inputs: Any) -> Capture:
    """Boot and capture, without publishing."""
    from harness.runner.measure import capture_request, measure, wanted_inferences

    mark = mark_of(item_of(request))
    with faults(request):
        cases = wanted_inferences(ready.build, inputs).cases
        timed = cases[0] if _timed(request) == "inputs" else None
        wanted = capture_request(ready.build, cases, cases[: mark.inspect], timed)
        return measure(ready, wanted, _deadlines(request.config))


def measured_run(
    request: pytest.FixtureRequest, lease: BoardLease, image: Build, inputs: Any, expected: Any
) -> RunOutcome:
    """The test's own run, with its bundle noted in the report."""
    outcome = _run(request, lease, image, inputs, expected, role="candidate")
    record = record_of(item_of(request))
    record["cycles"] = outcome.clean_cycles
    record["energy_j"] = outcome.energy_per_inference_j
    record["outputs_match"] = outcome.outputs.match
    record["outputs"] = outcome.outputs.explain()
    record["log"] = outcome.log
    return outcome


def measured_power(request: pytest.FixtureRequest, outcome: RunOutcome) -> PowerEvidence:
    """The energy of a run; a usage error when nobody asked for it."""
    if outcome.power is None:
        raise pytest.UsageError(
            f"{item_of(request).nodeid}: uses the power fixture and measures no power; "
            "write power='any' into the hil marker, or give --hil-power any."
        )
    return outcome.power


def _run(
    request: pytest.FixtureRequest, lease: BoardLease, image: Build, inputs: Any, expected: Any, *, role: str
) -> RunOutcome:
    from harness.runner.run import run

    item = item_of(request)
    mark = mark_of(item)
    with faults(request):
        outcome = run(
            image,
            lease=lease,
            out=out_dir(request.config) / _unique(request, f"{image.plan.board}-{role}"),
            inputs=inputs,
            timed=_timed(request),
            inspect=mark.inspect,
            expect=mark.expect,
            expected=expected,
            tolerance=mark.tolerance,
            power=get_option(request.config, "power"),
            deadlines=_deadlines(request.config),
            retries=retries_of(request.config),
        )
    record = record_of(item)
    record["bundles"].append({"role": role, "path": str(outcome.bundle)})
    _note_flaky(request, record, outcome)
    return outcome


def retries_of(config: pytest.Config) -> int:
    """How often a run is tried again.

    Raises:
        pytest.UsageError: the option is no such number.
    """
    from harness.runner.attempts import MOST_RETRIES, RETRIES

    text = get_option(config, "retries")
    if text is None:
        return RETRIES
    if not text.isdigit() or int(text) > MOST_RETRIES:
        raise pytest.UsageError(f"--hil-retries {text!r} is not a whole number from 0 to {MOST_RETRIES}.")
    return int(text)


def _note_flaky(request: pytest.FixtureRequest, record: dict[str, Any], outcome: RunOutcome) -> None:
    """Keep what failed before a run succeeded; an error of its own where that was asked for."""
    if not outcome.flaky:
        return
    bundle = str(outcome.bundle)
    record.setdefault("flaky", []).extend(
        {**attempt.to_dict(), "bundle": bundle} for attempt in outcome.failed_attempts
    )
    if get_option(request.config, "fail_on_flaky"):
        first = outcome.failed_attempts[0]
        raise FlakyRunError(
            f"The run succeeded only at attempt {len(outcome.failed_attempts) + 1}.",
            why=f"Attempt {first.number}: {first.error.what} [{first.error.code}]",
            todo="The bundle has the evidence of each attempt; leave out --hil-fail-on-flaky to let such runs count.",
            context={"bundle": bundle},
        )


def baseline_bundle(
    request: pytest.FixtureRequest, lease: BoardLease, image: Build, inputs: Any, expected: Any
) -> Path:
    """The bundle to compare with."""
    given = get_option(request.config, "baseline")
    if given is not None:
        from harness.judge.baseline import find_baseline

        return find_baseline(Path(given), image.plan, before=request.config.stash[STARTED])
    mark = mark_of(item_of(request))
    if mark.baseline:
        image = build_image(request, freeze_plan(request, image.plan.board, for_baseline=True))
    return _run(request, lease, image, inputs, expected, role="baseline").bundle


def judge_with(request: pytest.FixtureRequest, outcome: RunOutcome) -> Callable[..., JudgedPair]:
    """The `verdict` fixture's callable."""

    def verdict(profile: str | Path, baseline: str | Path | None = None) -> JudgedPair:
        from harness.judge.compare import compare
        from harness.judge.report import compare_markdown, junit_properties, paired_markdown

        item = item_of(request)
        path = Path(profile)
        path = path if path.is_absolute() else item.path.parent / path
        result: CompareOutcome | PairedOutcome
        if baseline is None and get_option(request.config, "base") is not None:
            from harness.pytest_plugin.paired import judge_trees

            result = judge_trees(request, path)
            base, markdown = Path(result.bundles[0][0]), paired_markdown(result)
        else:
            base = Path(baseline) if baseline is not None else request.getfixturevalue("baseline")
            result = compare(base, outcome.bundle, path)
            markdown = compare_markdown(result)
        record_of(item)["verdicts"].append(
            {
                "status": str(result.status),
                "profile": path.name,
                "table": result.explain(),
                "markdown": markdown,
                "properties": junit_properties(result),
            }
        )
        asked = item.stash.setdefault(ASKED, set())
        return JudgedPair(result, base, outcome.bundle, lambda file, line: asked.add((file, line)))

    return verdict
