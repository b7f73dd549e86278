"""Freezing: every setting that decides the firmware and what it measures, with one identity."""
