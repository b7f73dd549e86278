"""Applying the rules, and the order in which their advice is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.advice.case import Case, case_of
from harness.advice.rules import RULES, Finding, Rule
from harness.core.frozen import thaw
from harness.results.operators import operators_of
from harness.results.reader import RunArtifacts

SHOWN = 3
"""How much advice is shown to people; all of it is in the JSON."""


@dataclass(frozen=True)
class Advice:
    """A rule that applies to some operators."""

    rule: Rule
    finding: Finding
    source: str

    @property
    def id(self) -> str:
        """The rule and the operators it speaks of."""
        return f"{self.rule.id}/{'-'.join(map(str, self.finding.operators))}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "id": self.id,
            "rule": self.rule.id,
            "severity": self.rule.severity,
            "message": self.finding.message,
            "operators": list(self.finding.operators),
            "evidence": thaw(self.finding.evidence),
            "thresholds": thaw(self.rule.thresholds),
            "source": self.source,
        }


def advise(case: Case) -> tuple[Advice, ...]:
    """All advice, first what concerns most of the cycles; ties in the order of rules and operators."""
    order = list(RULES)
    found = [
        Advice(rule, finding, case.source) for rule in RULES.values() for finding in rule.find(case, rule.thresholds)
    ]
    return tuple(
        sorted(found, key=lambda item: (-item.finding.share, order.index(item.rule.id), item.finding.operators))
    )


def shown(found: Sequence[Advice]) -> tuple[Advice, ...]:
    """What people are shown: the weightiest of each rule, at most `SHOWN` of them."""
    first = {item.rule.id: item for item in reversed(found)}
    return tuple(item for item in found if first[item.rule.id] is item)[:SHOWN]


def advice_text(found: Sequence[Advice]) -> str:
    """The shown advice as text, and how much more there is."""
    lines = []
    for item in shown(found):
        limits = "".join(f"; {name} {value:g}" for name, value in item.rule.thresholds.items())
        alike = [other for other in found if other.rule is item.rule and other is not item]
        also = ", ".join("-".join(map(str, other.finding.operators)) for other in alike)
        lines.append(f"{item.rule.severity}: {item.finding.message}" + (f" Likewise: {also}." if also else ""))
        lines.append(f"  [{item.id}{limits}; {item.source}]")
    rules = {item.rule.id for item in found}
    if len(rules) > SHOWN:
        lines.append(f"Further rules apply; --json has all of it: {', '.join(sorted(rules))}.")
    return "\n".join(lines) or "No rule applies."


def advice_for(run: RunArtifacts) -> tuple[Advice, ...]:
    """Advice on a bundle on disk; none for one that does not say what its operators are.

    Raises:
        EvidenceError: the bundle's operators are damaged.
    """
    return advise(case_of(run, operators_of(run)))
