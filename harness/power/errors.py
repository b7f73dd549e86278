"""Errors of power measurement."""

from __future__ import annotations

from harness.core.errors import BenchError, CaptureError, EvidenceError


class MonitorError(BenchError):
    """A power monitor cannot be found, opened or understood."""

    code = "power.monitor_failed"


class MonitorGoneError(MonitorError):
    """A power monitor stopped answering in the middle of a capture."""

    code = "power.monitor_gone"


class PowerCaptureError(CaptureError):
    """A power capture ended without what was asked of it."""

    code = "power.capture_failed"


class WaveformError(EvidenceError):
    """A stored waveform is damaged or of another version."""

    code = "power.waveform_broken"
