"""What the parts of a descriptor are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
MacroName = Annotated[str, Field(pattern=r"^BOARD_[A-Z][A-Z0-9_]*$")]
Address = Annotated[int, Field(ge=0, le=0xFFFF_FFFF)]
Size = Annotated[int, Field(gt=0, le=0x1_0000_0000)]
Word = Address


class Record(BaseModel):
    """A frozen part; unknown keys are refused, numbers are not converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
