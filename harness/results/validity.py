"""Whether a run's measurements count: pure rules over its result, each emitting codes of the registry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from harness.capture.record import CLEAN_WINDOW
from harness.results.facts import MeasuredResult, RunFacts
from harness.results.issues import Severity, issue
from harness.results.manifest import ResultIssue, ResultValidity
from harness.results.measured import MUST_MOVE
from harness.results.power import PowerEvidence
from harness.results.types import LayerResult, PmuResult, ProfileResult, RunEvaluation

SAME_RATE = (0.95, 1.05)
SLOWEST_RATE = 0.5


def evaluate_run(result: ProfileResult, *, plan: Any = None) -> RunEvaluation:
    """Judge one run. Nothing is changed; a plain `ProfileResult` is judged on what it holds.

    Args:
        result: what was measured.
        plan: the frozen plan of the run; its model is compared with what the firmware reported. None skips that.

    Returns:
        `invalid` with any error, `degraded` with any warning, else `valid`.
    """
    facts = result.facts if isinstance(result, MeasuredResult) else None
    issues = tuple(_issues(result, facts, plan))
    return RunEvaluation(validity_of(issues), issues)


def validity_of(issues: tuple[ResultIssue, ...]) -> ResultValidity:
    """The validity that a set of issues makes."""
    if any(item.severity == Severity.ERROR for item in issues):
        return ResultValidity.INVALID
    return ResultValidity.DEGRADED if issues else ResultValidity.VALID


def _issues(result: ProfileResult, facts: RunFacts | None, plan: Any) -> Iterator[ResultIssue]:
    pmu = result.pmu
    if pmu is None or not pmu.layers:
        if plan is None or plan.settings.get("per-layer", True):
            yield issue("pmu.missing")
    else:
        yield from _counter_issues(pmu, facts)
    yield from _model_issues(result, facts, plan)
    yield from _clean_issues(result, facts)
    if facts is not None:
        yield from _fact_issues(facts)


def _counter_issues(pmu: PmuResult, facts: RunFacts | None) -> Iterator[ResultIssue]:
    overflowed = [layer.id for layer in pmu.layers if layer.overflow]
    wraps = [wrap for wrap in facts.wrapped if wrap.certain] if facts is not None else []
    known = {wrap.layer for wrap in wraps}
    if wraps and known.issuperset(overflowed):
        # Which counters wrapped is known, and they have no figure in these layers: the others stay what they are.
        yield issue("counter.wrapped", counters=[{"layer": wrap.layer, "counter": wrap.counter} for wrap in wraps])
    elif pmu.overflow_detected or overflowed:
        yield issue("pmu.counter_overflow", layers=overflowed)
    frozen = sorted({name for preset in pmu.presets.values() for name in _frozen(preset.layers)} | _frozen(pmu.layers))
    if frozen:
        yield issue(
            "counter.frozen",
            "Counters that must move read zero in every layer: " + ", ".join(frozen) + ".",
            counters=frozen,
        )
    without = [layer.id for layer in pmu.layers if layer.cycles is None]
    if without and len(without) < len(pmu.layers):
        yield issue("counter.cycles_missing_in_layer", layers=without)


def self_test_failures(answers: Mapping[str, int]) -> list[str]:
    """Checks of the counter self-test that failed, for each unit that is present: it must advance, and stop."""
    units = (("cycles", "cycles_present"), ("event", "event_slots"), ("observer", "observer_count"))
    return [
        check
        for unit, present in units
        if answers.get(present)
        for check in (f"{unit}_advance", f"{unit}_frozen")
        if check in answers and not answers[check]
    ]


def clock_rate(answers: Mapping[str, int], source: str) -> dict[str, Any] | None:
    """The window clock against a second one over the same busy loop; None where there is no second one.

    On silicon both count the core's clock. On an emulated board the second one counts instructions at a fixed rate, the
    window clock modelled cycles, of which an instruction takes one or more: only a clock that lags is wrong.
    """
    window, second = answers.get("rate_window_ticks", 0), answers.get("rate_second_ticks", 0)
    if not second:
        return None
    ratio = window / second
    low, high = SAME_RATE if source == "silicon" else (SLOWEST_RATE, math.inf)
    bound = f"{low:g} to {high:g}" if high < math.inf else f"{low:g} or more"
    return {
        "window_ticks": window,
        "second_ticks": second,
        "ratio": ratio,
        "bound": bound,
        "agrees": low <= ratio <= high,
    }


def _frozen(layers: tuple[LayerResult, ...]) -> set[str]:
    """Counters of these layers that stand still: those that must move, or all of them when all are zero."""
    names = {name for layer in layers for name in layer.counters}
    zero = {name for name in names if not any(layer.counters.get(name) for layer in layers)}
    if zero and zero == names:
        return zero
    frozen = zero & MUST_MOVE
    if layers and all(layer.cycles == 0 for layer in layers):
        frozen.add("cycles")
    return frozen


def _model_issues(result: ProfileResult, facts: RunFacts | None, plan: Any) -> Iterator[ResultIssue]:
    if facts is not None and facts.expected_model_sha256:
        if not facts.reported_model_sha256:
            yield issue("firmware.model_identity_unverifiable")
        elif facts.reported_model_sha256 != facts.expected_model_sha256:
            yield issue(
                "firmware.model_mismatch",
                expected=facts.expected_model_sha256,
                reported=facts.reported_model_sha256,
            )
        return
    expected = getattr(getattr(plan, "model", None), "size_bytes", None)
    reported = result.pmu.meta.model_size if result.pmu is not None else None
    if expected is None or reported is None:
        return
    if isinstance(reported, bool) or not isinstance(reported, int):
        yield issue("firmware.model_identity_unverifiable", reported=str(reported))
    elif reported != expected:
        yield issue("firmware.model_mismatch", expected=expected, reported=reported)


def _clean_issues(result: ProfileResult, facts: RunFacts | None) -> Iterator[ResultIssue]:
    clean = facts.clean if facts is not None else None
    if clean is not None:
        if clean.count == 0 or clean.ticks == 0:
            yield issue("profile.clean_window_frozen", count=clean.count, ticks=clean.ticks)
            yield issue("clean.frozen", count=clean.count, ticks=clean.ticks)
        elif clean.zero_samples:
            yield issue("profile.clean_window_stalled", iterations=clean.zero_samples)
        if clean.partial_samples:
            yield issue("clean.partial", iterations=clean.partial_samples)
        return
    if facts is not None and facts.probe is not None:
        probe = facts.probe
        if probe.ticks == 0:
            yield issue("clean.frozen", count=probe.count, ticks=probe.ticks)
        elif probe.zero_samples:
            yield issue("profile.clean_window_stalled", iterations=probe.zero_samples)
        return
    if facts is not None:
        if CLEAN_WINDOW not in facts.unavailable:
            yield issue("clean.missing")
        return
    meta = result.pmu.meta if result.pmu is not None else None
    if meta is None or not meta.clean_infer_count:
        return
    figures = (meta.clean_infer_total_cycles, meta.clean_infer_avg_cycles, meta.clean_infer_avg_us)
    if 0 in figures:
        yield issue("profile.clean_window_frozen", count=meta.clean_infer_count)
        yield issue("clean.frozen", count=meta.clean_infer_count)


def _power_issues(power: PowerEvidence) -> Iterator[ResultIssue]:
    if power.report is None:
        yield issue("power.capture_failed")
        return
    for item in power.report.issues:
        yield issue(item.code, item.message, **item.context)


def _fact_issues(facts: RunFacts) -> Iterator[ResultIssue]:
    failed = self_test_failures(facts.self_test)
    if failed:
        yield issue("counter.self_test_failed", "Self-test failed: " + ", ".join(failed) + ".", checks=failed)
    apart = [item for item in facts.spreads if not item.agrees]
    if apart:
        yield issue("counter.passes_disagree", layers=[item.to_dict() for item in apart])
    if facts.failed_attempts:
        codes = [str(attempt["code"]) for attempt in facts.failed_attempts]
        yield issue("run.flaky", f"Attempt {len(codes) + 1} succeeded after: {', '.join(codes)}.", failed=codes)
    rate = clock_rate(facts.self_test, facts.source)
    if rate is not None and not rate["agrees"]:
        text = f"It ran at {rate['ratio']:.2f} of the second clock; {rate['bound']} is expected."
        yield issue("clean.clock_rate", text, **rate)
    if facts.lost_layers:
        yield issue("counter.out_of_range", layers=list(facts.lost_layers))
    rejected = {name: count for name, count in facts.rejected.items() if count}
    if rejected:
        yield issue("counter.samples_rejected", passes=rejected)
    if facts.outputs is not None and facts.outputs.match is False:
        layers = [{"layer": item.layer, "op": item.op} for item in facts.outputs.differing_layers]
        yield issue("output.mismatch", facts.outputs.explain(), layers=layers)
    if facts.power is not None:
        yield from _power_issues(facts.power)
    if facts.source not in ("silicon", "emulated", "predicted"):
        yield issue("source.unknown", source=facts.source)
