"""The rules of advice, one entry each: when it applies, with which thresholds, and on what evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal

from harness.advice.case import Case, Layer
from harness.core.frozen import freeze_fields

Severity = Literal["info", "warning"]
Evidence = Mapping[str, Any]
PREFIXES: Mapping[str, str] = MappingProxyType({"cmsis-nn": "cmsis_"})
"""Kernel libraries beside the portable one, and how the names of their kernels begin."""
LIBRARY_OPS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D"})
MVE_MACS = 16
"""int8 multiply-accumulates of one MVE instruction."""
STALLS = "ARM_PMU_STALL_BACKEND"
VECTOR_MACS = "ARM_PMU_MVE_INT_MAC_RETIRED"


@dataclass(frozen=True)
class Finding:
    """A rule that applies: the operators it speaks of, its message, and the figures it rests on."""

    operators: tuple[int, ...]
    message: str
    evidence: Evidence
    share: float

    def __post_init__(self) -> None:
        freeze_fields(self, "evidence")


@dataclass(frozen=True)
class Rule:
    """One rule. `when` says in words when it applies; `thresholds` are the numbers in it."""

    id: str
    severity: Severity
    when: str
    thresholds: Mapping[str, float]
    find: Callable[[Case, Mapping[str, float]], Iterator[Finding]] = field(repr=False)

    def __post_init__(self) -> None:
        freeze_fields(self, "thresholds")


def _share(*layers: Layer) -> float:
    return math.fsum(layer.share or 0.0 for layer in layers)


def _percent(share: float) -> str:
    return f"{share:.0%} of all cycles"


def _depthwise_then_pointwise(case: Case, limits: Mapping[str, float]) -> Iterator[Finding]:
    for first, second in pairwise(case.layers):
        one, two = first.facts, second.facts
        if (one.op, one.window, two.op, two.window) != ("DEPTHWISE_CONV_2D", (3, 3), "CONV_2D", (1, 1)):
            continue
        if not (one.outputs and two.inputs and two.outputs) or one.outputs[0] != two.inputs[0]:
            continue
        channels = two.outputs[0][-1]
        if channels >= limits["channels_below"] or one.dilation != (1, 1) or two.stride != (1, 1):
            continue
        plain = math.prod(two.outputs[0]) * 9 * (one.inputs[0][-1] if one.inputs else 0)
        now = one.macs + two.macs
        yield Finding(
            (one.index, two.index),
            f"{first.name} and {second.name} are a 3x3 depthwise and a 1x1 convolution to {channels} channels. Below "
            f"{limits['channels_below']:.0f} channels one plain 3x3 convolution can be faster where wide products are "
            f"cheap; it has {plain:,} instead of {now:,} multiply-accumulates.",
            {
                "output_channels": channels,
                "macs": now,
                "macs_of_plain_convolution": plain,
                "cycles": _cycles(first, second),
            },
            _share(first, second),
        )


def _cycles(*layers: Layer) -> float | None:
    values = [layer.cycles for layer in layers]
    return math.fsum(v for v in values if v is not None) if None not in values else None


def _memory_bound(case: Case, limits: Mapping[str, float]) -> Iterator[Finding]:
    for layer in case.layers if case.memory_rules else ():
        facts = layer.facts
        moved = facts.input_bytes + facts.constant_bytes + facts.output_bytes
        if not facts.macs or not moved or _share(layer) < limits["share"]:
            continue
        intensity = facts.macs / moved
        evidence: dict[str, Any] = {"macs_per_byte": intensity, "bytes": moved, "share": layer.share}
        stalls = layer.counters.get(STALLS)
        if stalls is not None and layer.cycles:
            waiting = stalls / layer.cycles
            evidence |= {"stalled": waiting, "counter": STALLS}
            if waiting < limits["stalled"]:
                continue
            told = f"waits for data in {waiting:.0%} of its cycles"
        elif intensity < limits["macs_per_byte"]:
            told = f"does {intensity:.2g} multiply-accumulates for each byte that it moves"
        else:
            continue
        place = f"; the weights lie in {case.weights_location!r}" if case.weights_location else ""
        evidence["weights_location"] = case.weights_location or None
        yield Finding(
            (facts.index,),
            f"{layer.name}, {_percent(_share(layer))}, is bound by memory: it {told}{place}. Faster memory for them, "
            "fewer weights or a larger share of reuse helps; faster kernels do not.",
            evidence,
            _share(layer),
        )


def _fallback(case: Case, limits: Mapping[str, float]) -> Iterator[Finding]:
    prefix = PREFIXES.get(case.backend)
    if prefix is None:
        return
    for layer in case.layers:
        facts = layer.facts
        portable = [name for name in facts.kernels if not name.startswith(prefix)]
        if facts.op not in LIBRARY_OPS or not portable or _share(layer) < limits["share"]:
            continue
        yield Finding(
            (facts.index,),
            f"{layer.name}, {_percent(_share(layer))}, runs {', '.join(portable)} although {case.backend} has kernels "
            "for its kind: the library does not do this element type, quantisation or shape.",
            {"kernels": list(facts.kernels), "backend": case.backend, "share": layer.share, "dtype": facts.dtype},
            _share(layer),
        )


def _lanes(case: Case, limits: Mapping[str, float]) -> Iterator[Finding]:
    for layer in case.layers:
        issued = layer.counters.get(VECTOR_MACS)
        if not case.has_mve or issued is None or not layer.facts.macs or _share(layer) < limits["share"]:
            continue
        use = layer.facts.macs / (MVE_MACS * issued) if issued else 0.0
        if use >= limits["lane_use"]:
            continue
        depth = layer.facts.macs // math.prod(layer.facts.outputs[0]) if layer.facts.outputs else 0
        told = (
            f"fills {use:.0%} of the lanes of its vector multiply-accumulates; {depth} products make one result, and "
            f"{MVE_MACS} fit into an instruction"
            if issued
            else f"uses no vector multiply-accumulate, on a core that has them (kernels {case.backend})"
        )
        yield Finding(
            (layer.facts.index,),
            f"{layer.name}, {_percent(_share(layer))}, {told}.",
            {"lane_use": use, "vector_macs": issued, "macs": layer.facts.macs, "depth": depth, "share": layer.share},
            _share(layer),
        )


def _left_to_cpu(case: Case, limits: Mapping[str, float]) -> Iterator[Finding]:
    placements = {layer.placement for layer in case.layers}
    if "NPU" not in placements:
        return
    for layer in case.layers:
        if layer.placement != "NPU" and layer.facts.op != "RESHAPE":
            yield Finding(
                (layer.facts.index,),
                f"{layer.name} is left to the {layer.placement}, while others run on the accelerator: data moves back "
                "and forth around it.",
                {"placement": layer.placement, "bytes": layer.facts.input_bytes + layer.facts.output_bytes},
                _share(layer),
            )


_RULES = (
    Rule(
        "depthwise_then_pointwise",
        "info",
        "a 3x3 depthwise convolution feeds a 1x1 convolution of fewer output channels than `channels_below`",
        {"channels_below": 64},
        _depthwise_then_pointwise,
    ),
    Rule(
        "memory_bound",
        "info",
        "an operator of at least `share` of the cycles waits for data in `stalled` of its cycles or more; where no "
        "counter says so, it does fewer multiply-accumulates a byte than `macs_per_byte`",
        {"share": 0.05, "stalled": 0.25, "macs_per_byte": 2.0},
        _memory_bound,
    ),
    Rule(
        "fallback_kernel",
        "warning",
        "the kernel library that was asked for has kernels for the operator, but another one runs it, for at least "
        "`share` of the cycles",
        {"share": 0.01},
        _fallback,
    ),
    Rule(
        "poor_lane_use",
        "warning",
        "on a core with MVE an operator of at least `share` of the cycles uses less of its vector multiply-accumulates "
        "than `lane_use`, or none",
        {"share": 0.05, "lane_use": 0.5},
        _lanes,
    ),
    Rule(
        "left_to_cpu",
        "warning",
        "an operator runs on the CPU while others run on an accelerator",
        {},
        _left_to_cpu,
    ),
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in _RULES})
"""All rules, in the order in which equally weighty advice is given."""
