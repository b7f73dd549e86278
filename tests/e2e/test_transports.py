"""Transports from the outside: the same frames, figures and bundle over each, and how mistakes are answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.board.descriptor import board_types
from harness.core.errors import SettingsError
from harness.plan.freeze import freeze
from harness.runner.run import RunOutcome
from tests.e2e.conftest import DIGITS

BOARD = "mps2_an386"
OTHERS = [name for name in board_types()[BOARD].transports if name != "rtt"]


@pytest.mark.parametrize("transport", OTHERS)
def test_a_transport_changes_no_figure(measured: Callable[..., RunOutcome], transport: str) -> None:
    usual = measured(DIGITS, BOARD)
    other = measured(DIGITS, BOARD, transport=transport)
    assert other.outputs.match and other.valid
    assert other.capture.frame_counts == usual.capture.frame_counts
    assert other.capture.inferences == usual.capture.inferences
    assert other.capture.inspections == usual.capture.inspections
    # Another image: code lies elsewhere, which a cache may notice, but not much.
    assert other.clean_cycles == pytest.approx(usual.clean_cycles, rel=1e-3)
    assert not [line for line in other.capture.events if not line.startswith("SWO: ")]
    assert all(", 0 errors, 0 overflows, " in line for line in other.capture.events)
    metadata = json.loads((other.bundle / "run_metadata.json").read_text())
    assert metadata["config"]["target"]["transport"] == transport
    # Only what a transport needs is linked.
    assert (other.build.rtt_address is None) == (transport not in ("rtt", "swo"))


def test_a_transport_that_a_board_type_lacks_is_refused(tmp_path: Path) -> None:
    text = (Path(board_types()["mps2_an386"].path)).read_text()
    lines = [line for line in text.splitlines() if not line.startswith("transports:")]
    (tmp_path / "plain.yml").write_text("\n".join(lines).replace("name: mps2_an386", "name: plain", 1))
    with pytest.raises(SettingsError, match="'serial', which board type 'plain' does not have"):
        freeze(DIGITS, board="plain", transport="serial", boards_path=[str(tmp_path)])
    with pytest.raises(SettingsError, match="one of rtt"):
        freeze(DIGITS, board="plain", transport="carrier-pigeon", boards_path=[str(tmp_path)])


def test_the_plugin_takes_the_transport_from_the_command_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.hil(model={str(DIGITS)!r}, boards=["mps2_an386"], iterations=2, warmup=1, window_mode="fixed")
        def test_it(plan):
            assert plan.settings["transport"] == "serial"
        """
    )
    pytester.runpytest("-p", "no:cacheprovider", "--hil-transport", "serial").assert_outcomes(passed=1)
    refused = pytester.runpytest("-p", "no:cacheprovider", "--hil-transport", "smoke")
    refused.assert_outcomes(errors=1)
    refused.stdout.fnmatch_lines(["*Setting 'transport' must be one of rtt*"])
