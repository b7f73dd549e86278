"""What reading a bundle can fail with."""

from __future__ import annotations

from harness.core.errors import EvidenceError


class BundleError(EvidenceError):
    """A bundle cannot be trusted. `code` says how, `context["artifact"]` which file."""

    def __init__(self, code: str, what: str, *, artifact: str = "", why: str = "", todo: str = "") -> None:
        super().__init__(
            what,
            why=why,
            todo=todo or "Restore the bundle from a copy or measure again.",
            context={"artifact": artifact} if artifact else {},
        )
        self.code = code  # type: ignore[misc]
