"""Comparability, metrics, comparison profiles and verdicts: pure functions over results."""
