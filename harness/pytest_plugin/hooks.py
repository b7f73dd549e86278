"""Policy: markers, board parametrisation, what a failure is called, what the end of a session shows."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.pytest_plugin.marker import MARKER_LINE, HilMark, read_mark
from harness.pytest_plugin.options import add_options, get_option
from harness.pytest_plugin.outcome import RECORD, STARTED, classify, tripped_over_verdict, unexpected_fault


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the `--hil-*` options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and what gathers reports."""
    config.addinivalue_line("markers", MARKER_LINE)
    config.stash[STARTED] = datetime.now(UTC)
    summary = get_option(config, "json")
    if summary is not None and Path(summary).is_dir():
        raise pytest.UsageError(f"--hil-json {summary} is a directory; name a file.")
    config.pluginmanager.register(Gatherer(config), "hil-gatherer")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per board type that the marker names or that meets what it requires."""
    if "hil_board_type" not in metafunc.fixturenames:
        return
    from harness.pytest_plugin.selection import select_boards

    item = metafunc.definition
    try:
        choices = select_boards(metafunc.config, mark_of(item), item.nodeid)
    except pytest.UsageError as error:
        # Shown as its text alone: the mistake is in the test, not in a place of the traceback.
        raise pytest.Collector.CollectError(str(error)) from None
    metafunc.parametrize("hil_board_type", choices, ids=[choice.name for choice in choices], indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A false verdict that a plain `assert` tripped over is a regression, or inconclusive, and is raised as that."""
    try:
        return (yield)
    except AssertionError as error:
        if not tripped_over_verdict(item, error):
            raise
        from harness.core.errors import InconclusiveVerdict, RegressionFailed

        if isinstance(error, RegressionFailed | InconclusiveVerdict):
            raise
        statuses = [verdict["status"] for verdict in item.stash[RECORD]["verdicts"]]
        kind = InconclusiveVerdict if statuses and "fail" not in statuses else RegressionFailed
        raise kind(*error.args).with_traceback(error.__traceback__) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add class and evidence; an infrastructure fault is an error in whatever phase it occurred."""
    report = yield
    record = item.stash.get(RECORD, None)
    if record is None:
        return report
    if call.excinfo is not None:
        hil_class = classify(call.excinfo.value)
        if hil_class == "failed" and record.get("outputs_match") is False:
            hil_class = "outputs"
        if hasattr(report, "wasxfail") and report.skipped and unexpected_fault(item, call.excinfo.value):
            report.outcome = "failed"
            del report.wasxfail
        expected = hasattr(report, "wasxfail") and report.skipped
        # What a test was found to be stays, also when its teardown fails too.
        if record.get("class", "passed") == "passed":
            record["class"] = "passed" if expected else hil_class
        if report.failed and hil_class in ("infrastructure", "blocked", "usage"):
            report.when = "setup"
        if report.failed:
            from harness.pytest_plugin.evidence import plain_error, sections

            report.longrepr = plain_error(item, call.excinfo.value) or report.longrepr

            report.sections += sections(record, call.excinfo.value)
            if not any(name == "hil.class" for name, _ in item.user_properties):
                item.user_properties.append(("hil.class", hil_class))
            report.user_properties = list(item.user_properties)
    if report.when == "teardown":
        for name in ("board", "source", "serial"):
            if name in record:
                item.user_properties.append((f"hil.{name}", record[name]))
        item.user_properties += [("hil.bundle", bundle["path"]) for bundle in record["bundles"]]
        for attempt in record.get("flaky", ()):
            item.user_properties.append(
                ("hil.flaky", f"attempt {attempt['number']}: {attempt['code']}: {attempt['what']}")
            )
        item.user_properties += [tuple(pair) for verdict in record["verdicts"] for pair in verdict["properties"]]
        report.user_properties = list(item.user_properties)
        report.hil = {  # type: ignore[attr-defined]
            "test": item.nodeid,
            "class": record.get("class", "passed"),
            **{key: value for key, value in record.items() if key not in ("class", "log")},
        }
    return report


class Gatherer:
    """Collects what tests (of any worker) said, and shows it at the end of the session."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.records: list[dict[str, Any]] = []
        self.inconclusive = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record that came with a test's last report, and count what failed as inconclusive."""
        record = getattr(report, "hil", None)
        if record is not None:
            self.records.append(record)
        if report.failed and dict(report.user_properties).get("hil.class") == "inconclusive":
            self.inconclusive += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """A session in which nothing but inconclusive verdicts failed ends with their exit code, not with 1."""
        alone = 0 < self.inconclusive == session.testsfailed
        if exitstatus == pytest.ExitCode.TESTS_FAILED and alone and not hasattr(self.config, "workerinput"):
            from harness.judge.status import STATUSES

            session.exitstatus = STATUSES["inconclusive"].exit_code or exitstatus

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The table of runs and verdicts, the counts by class, and the summary file."""
        path = get_option(self.config, "json")
        if self.records:
            from harness.pytest_plugin.summary import write_table

            write_table(terminalreporter, self.records)
        if path is not None:
            from harness.pytest_plugin.summary import write_json

            try:
                write_json(path, self.records)
            except OSError as error:
                terminalreporter.write_line(
                    f"--hil-json {path}: {error.strerror or error}; nothing was written", red=True
                )


def mark_of(item: pytest.Item) -> HilMark:
    """The marker of a test that has one."""
    mark = read_mark(item, item.path)
    if mark is None:
        raise pytest.UsageError(f"{item.nodeid}: uses a hil fixture but has no hil marker.")
    return mark
