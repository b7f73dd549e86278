"""Confidence limits of chances."""

from __future__ import annotations


def upper(count: int, total: int) -> float:
    """Clopper-Pearson 95 % upper limit of a chance, of which `count` of `total` were seen."""
    from scipy.stats import beta

    return 1.0 if count == total else float(beta.ppf(0.95, count + 1, total - count))
