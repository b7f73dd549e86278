"""Errors of foreign formats: which file, which field, why."""

from __future__ import annotations

from harness.core.errors import EvidenceError


class ForeignFormatError(EvidenceError):
    """A foreign file cannot be read as what it claims to be. `context` names the file and the field."""

    code = "interop.invalid"

    def __init__(self, what: str, *, file: str = "", field: str = "", why: str = "", todo: str = "") -> None:
        where = " ".join(part for part in (f"file {file}" if file else "", f"field {field}" if field else "") if part)
        super().__init__(
            what,
            why="; ".join(part for part in (where, why) if part),
            todo=todo or "Produce the file again with the tool it came from.",
            context={"file": file, "field": field, "reason": why or what},
        )


class SchemaError(ForeignFormatError):
    """A standardized output document breaks its schema. `context["errors"]` lists every violation found."""

    code = "interop.schema"

    def __init__(self, errors: list[str], *, file: str = "") -> None:
        shown = "; ".join(errors[:3]) + (f"; and {len(errors) - 3} more" if len(errors) > 3 else "")
        super().__init__("This is not a valid standardized output document.", file=file, why=shown)
        self.context["errors"] = list(errors)
