"""Shared by the project's own tests: `pytester` for the plugin."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

# A loaded machine is no fault of the code under test.
settings.register_profile("harness", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("harness")
