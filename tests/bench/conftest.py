"""Fixtures of these tests."""

from tests.virtual.fixtures import images, library, open_probe, runtime, serial, start

__all__ = ["images", "library", "open_probe", "runtime", "serial", "start"]
