"""Random graphs against the reference, and mutated inputs of every binary format."""

from __future__ import annotations

from tests.interop.campaigns import main

__all__ = ["main"]
