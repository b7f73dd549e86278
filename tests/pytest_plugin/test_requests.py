"""What a test may ask for, and how mistakes are answered: without touching a board."""

from __future__ import annotations

import numpy as np  # noqa: F401  (pytester forgets what a session imported, and numpy cannot be loaded twice)
import pytest

from harness.pytest_plugin.options import OPTIONS

TEST = """
import pytest

@pytest.mark.hil({arguments})
def test_it(plan):
    pass
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'digits.tflite'", "keyword arguments only"),
        ("boards='mps2_an386'", "must be a list"),
        ("boards=['mps2_an368']", "did you mean 'mps2_an386'?"),
        ("boards=['zzz']", "`harness boards --types` lists them"),
        ("requires={'mvee': True}", "did you mean 'mve'?"),
        ("requires=['mve']", "requires=['mve'] is not allowed"),
        ("inspect='all'", "inspect='all' is not allowed"),
        ("inspect=-1", "inspect=-1 is not allowed"),
        ("inspect=True", "inspect=True is not allowed"),
        ("boards=5", "boards=5 is not allowed"),
        ("boards=[5]", "boards=[5] is not allowed"),
        ("model=5", "model=5 is not allowed"),
        ("config={}", "config={} is not allowed"),
    ],
)
def test_wrong_markers_are_usage_errors_that_quote_the_mistake(
    pytester: pytest.Pytester, arguments: str, message: str
) -> None:
    pytester.makepyfile(TEST.format(arguments=arguments))
    result = pytester.runpytest("-p", "no:cacheprovider")
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert "hooks.py" not in result.stdout.str()


def test_a_fixture_without_the_marker_is_told_in_a_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(plan):\n    pass\n")
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_it: uses a hil fixture but has no hil marker*"])
    result.stdout.no_fnmatch_line("*hooks.py*")


def test_a_summary_file_that_cannot_be_written_is_said_in_a_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it():\n    pass\n")
    refused = pytester.runpytest("--hil-json", ".")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    (pytester.path / "file").write_text("")
    result = pytester.runpytest("--hil-json", "file/hil.json")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*file/hil.json: *nothing was written*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


PLAIN = """
import pytest
from harness.core.errors import BuildError, HarnessError, SettingsError
from harness.pytest_plugin.outcome import ASKED, record_of
from harness.pytest_plugin.session import faults
from harness.pytest_plugin.verdicts import JudgedPair

class Failed:
    status = "fail"
    changed_layers = ()
    def explain(self):
        return "slower"

@pytest.fixture
def judged(request):
    record_of(request.node)
    asked = request.node.stash.setdefault(ASKED, set())
    return JudgedPair(Failed(), None, None, lambda file, line: asked.add((file, line)))
"""


def test_only_the_assertion_that_asked_a_failed_verdict_is_a_regression(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        PLAIN
        + """
def test_asked(judged):
    assert (
        1 == 1
        and judged
    ), "too slow"

def test_checked(judged):
    judged.check()

def test_another_reason(judged):
    assert not judged
    assert 1 == 2
"""
    )
    result = pytester.runpytest("--junitxml=junit.xml")
    result.assert_outcomes(failed=3)
    text = (pytester.path / "junit.xml").read_text()
    assert text.count('name="hil.class" value="regression"') == 2
    assert text.count('name="hil.class" value="failed"') == 1


def test_an_expected_failure_hides_neither_an_infrastructure_fault_nor_a_mistake(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        PLAIN
        + """
@pytest.mark.xfail(reason="slower")
def test_hidden(judged):
    raise BuildError("no compiler")

@pytest.mark.xfail(reason="slower")
def test_mistyped(judged):
    raise SettingsError("There is no setting 'kernles'.")

@pytest.mark.xfail(reason="slower")
def test_unusable(judged):
    raise pytest.UsageError("the hil marker names no model")

@pytest.mark.xfail(reason="slower")
def test_disk_full(judged, request):
    with faults(request):
        raise OSError(28, "No space left on device")

@pytest.mark.xfail(reason="slower")
def test_expected(judged):
    assert judged

@pytest.mark.xfail(raises=HarnessError)
def test_named(judged):
    raise BuildError("no compiler")
"""
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=4, xfailed=2)
    result.stdout.fnmatch_lines(["No space left on device*bench.host_failed*"])


def test_a_board_that_the_bench_lacks_is_a_skip_with_the_reason(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", bench="version: 1\nvirtual: 'off'\nboards: []\n")
    pytester.makepyfile(TEST.format(arguments="model='m.tflite', boards=['mps3_an547']"))
    result = pytester.runpytest("-rs", "--hil-bench", "bench.yaml")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no mps3_an547 on the bench; it has: none*"])


def test_strict_makes_it_an_error(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", bench="version: 1\nvirtual: 'off'\nboards: []\n")
    pytester.makepyfile(TEST.format(arguments="model='m.tflite', boards=['mps3_an547']"))
    result = pytester.runpytest("--hil-bench", "bench.yaml", "--hil-strict", "--junitxml=junit.xml")
    result.assert_outcomes(errors=1)
    assert 'name="hil.class" value="infrastructure"' in (pytester.path / "junit.xml").read_text()


def test_requirements_choose_boards(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST.format(arguments="model='m.tflite', requires={'mve': True}"))
    result = pytester.runpytest("--collect-only", "-q")
    result.stdout.fnmatch_lines(["*test_it?mps3_an547?"])
    result.stdout.no_fnmatch_line("*mps2_an386*")


def test_board_option_narrows_and_refuses_unknown(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST.format(arguments="model='m.tflite'"))
    pytester.runpytest("--collect-only", "-q", "--hil-board", "mps2_an386").stdout.fnmatch_lines(["*[[]mps2_an386]"])
    assert (
        "no such board"
        in pytester.runpytest("--hil-board", "nonsuch").stderr.str()
        + pytester.runpytest("--hil-board", "nonsuch").stdout.str()
    )


@pytest.mark.parametrize(
    ("command_line", "variable", "ini", "expected"),
    [("a", "b", "c", "a"), (None, "b", "c", "b"), (None, None, "c", "c")],
)
def test_command_line_over_variable_over_ini(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    command_line: str | None,
    variable: str | None,
    ini: str,
    expected: str,
) -> None:
    pytester.makeini(f"[pytest]\nhil_out = {ini}\n")
    if variable:
        monkeypatch.setenv("HIL_OUT", variable)
    pytester.makepyfile(
        f"""
        from harness.pytest_plugin.options import get_option
        def test_it(request):
            assert get_option(request.config, "out") == {expected!r}
        """
    )
    pytester.runpytest(*(["--hil-out", command_line] if command_line else [])).assert_outcomes(passed=1)


def test_every_option_has_flag_variable_and_ini_key(pytester: pytest.Pytester) -> None:
    text = pytester.runpytest("--help").stdout.str()
    for option in OPTIONS:
        assert option.flag in text and f"{option.ini} (" in text


def test_a_model_that_is_no_model_is_an_error_of_usage(pytester: pytest.Pytester) -> None:
    (pytester.path / "m.tflite").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    pytester.makepyfile(TEST.format(arguments="model='m.tflite', boards=['mps2_an386']"))
    result = pytester.runpytest("--hil-json", "hil.json")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*LFS*"])
    assert '"usage": 1' in (pytester.path / "hil.json").read_text()


def test_inert_beside_suites_with_fixtures_of_the_same_names(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.fixture
        def run():
            return 1
        @pytest.fixture
        def board():
            return 2
        def test_it(run, board):
            assert (run, board) == (1, 2)
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*hardware in the loop*")


def test_a_hil_fixture_without_the_marker_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(run):\n    pass\n")
    result = pytester.runpytest()
    assert "no hil marker" in result.stdout.str() + result.stderr.str()


ENDINGS = """
import pytest
from harness.core.errors import InconclusiveVerdict, RegressionFailed

@pytest.mark.hil(boards=["mps2_an386"])
@pytest.mark.parametrize("ending", {endings})
def test_it(hil_board_type, ending):
    endings = {{"inconclusive": InconclusiveVerdict, "regression": RegressionFailed, "failed": AssertionError}}
    if ending in endings:
        raise endings[ending](ending)
"""


@pytest.mark.parametrize(
    ("endings", "status"),
    [
        (["inconclusive"], 7),
        (["passed", "inconclusive", "inconclusive"], 7),
        (["inconclusive", "regression"], 1),
        (["inconclusive", "failed"], 1),
        (["failed"], 1),
        (["passed"], 0),
    ],
)
def test_a_session_that_is_only_inconclusive_ends_with_7(
    pytester: pytest.Pytester, endings: list[str], status: int
) -> None:
    pytester.makepyfile(ENDINGS.format(endings=endings))
    result = pytester.runpytest("-p", "no:cacheprovider", "--hil-json", "hil.json")
    assert result.ret == status
    result.assert_outcomes(passed=endings.count("passed"), failed=len(endings) - endings.count("passed"))


def test_a_session_over_workers_that_is_only_inconclusive_ends_with_7(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ENDINGS.format(endings=["passed", "inconclusive"]))
    assert pytester.runpytest("-p", "no:cacheprovider", "-n", "1").ret == 7
