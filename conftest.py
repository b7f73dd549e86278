"""Shared by the project's own tests: `pytester` for the plugin."""

pytest_plugins = ["pytester"]
