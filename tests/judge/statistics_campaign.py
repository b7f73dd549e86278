"""Simulation of the whole sequential procedure: `python -m tests.judge.statistics_campaign [SESSIONS [SEED...]]`.

For each kind of noise it counts, over sessions of up to three looks: `fail` without a change (false alarms), anything
but `fail` of a three-sigma shift at the first look and at the end (misses), and `inconclusive` without a change. A
bound holds when the Clopper-Pearson 95 % upper limit is at most 1.25 times it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from harness.judge.looks import SequentialPlan
from tests.judge.many_sessions import FAIL, INCONCLUSIVE, judged
from tests.judge.noise_models import HARD, NOISES
from tests.judge.noise_models import sessions as make_sessions

PLAN = SequentialPlan()
SHIFT = 3.0
_BATCH = 4000


@dataclass(frozen=True)
class Tally:
    """Counts over sessions."""

    sessions: int
    false_alarms: int
    missed_at_first_look: int
    missed: int
    inconclusive: int


def tally(name: str, sessions: int, seed: int) -> Tally:
    """Simulate sessions without a change and with a shift of three sigma."""
    noise, tick = {**NOISES, **HARD}[name]
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    alarms = inconclusive = missed_at_first = missed = 0
    for start in range(0, sessions, _BATCH):
        count = min(_BATCH, sessions - start)
        _, last = judged(*make_sessions(rng, noise, count, PLAN.budget, 0.0, tick), PLAN, 0.0, SHIFT)
        alarms += int((last == FAIL).sum())
        inconclusive += int((last == INCONCLUSIVE).sum())
        first, last = judged(*make_sessions(rng, noise, count, PLAN.budget, SHIFT, tick), PLAN, 0.0, SHIFT)
        missed_at_first += int((first != FAIL).sum())
        missed += int((last != FAIL).sum())
    return Tally(sessions, alarms, missed_at_first, missed, inconclusive)


def upper(count: int, total: int) -> float:
    """Clopper-Pearson 95 % upper limit of a chance."""
    from scipy.stats import beta

    return 1.0 if count == total else float(beta.ppf(0.95, count + 1, total - count))


def main(arguments: list[str]) -> int:
    """Print the table; 1 when a bound does not hold."""
    sessions = int(arguments[0]) if arguments else 8000
    seeds = [int(text) for text in arguments[1:]] or [1, 2, 3]
    broken = 0
    head = ("noise", "seed", "false alarms", "missed at 10", "missed", "inconclusive")
    sys.stdout.write("{:<16}{:>6}{:>15}{:>15}{:>10}{:>15}\n".format(*head))
    for name in (*NOISES, *HARD):
        for seed in seeds:
            got = tally(name, sessions, seed)
            ok = upper(got.false_alarms, sessions) <= 0.0125
            if name in NOISES:
                ok &= upper(got.missed_at_first_look, sessions) <= 0.0625
                ok &= upper(got.inconclusive, sessions) <= 0.0625
            broken += not ok
            shares = [got.false_alarms, got.missed_at_first_look, got.missed, got.inconclusive]
            cells = [f"{count / sessions:.2%}" for count in shares]
            sys.stdout.write("{:<16}{:>6}{:>15}{:>15}{:>10}{:>15}".format(name, seed, *cells))
            sys.stdout.write("\n" if ok else "  BROKEN\n")
            sys.stdout.flush()
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
