"""Errors of cost models."""

from __future__ import annotations

from harness.core.errors import UsageError


class CostModelError(UsageError):
    """A cost model cannot be fitted from what was given, or has no answer for what was asked."""

    code = "predict.cost_model"
