"""Runs that take longer than the suite may: one documented command each, `scripts/campaign NAME`."""
