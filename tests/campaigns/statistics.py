"""The sequential procedure simulated: `python -m tests.campaigns statistics [SESSIONS [SEED...]]`."""

from __future__ import annotations

from tests.judge import statistics_campaign


def main(arguments: list[str]) -> int:
    """Returns 0 when every stated level holds."""
    return statistics_campaign.main(arguments)
