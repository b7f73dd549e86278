"""Commands of the bench: what they print, and with which exit code they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.bench.inventory import load_bench
from harness.cli._main import run_cli
from tests.virtual.fixtures import Open, Start
from tests.virtual.support import BOARDS, Image, take_serial


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No bench.yaml but the test's own."""
    monkeypatch.chdir(tmp_path)


def test_boards_names_the_source_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["boards"]) == 0
    text = capsys.readouterr().out
    assert all(f"{board}  emulated" in text for board in BOARDS)
    assert run_cli(["boards", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["boards"]
    assert {item["board_type"] for item in listed} >= set(BOARDS)
    assert all(item["source"] == "emulated" for item in listed)


def test_board_types(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["boards", "--types", "--json"]) == 0
    types = {item["name"]: item for item in json.loads(capsys.readouterr().out)["board_types"]}
    assert types["mps3_an547"]["core"] == "cortex-m55"


def test_probes_lists_emulators_alive_while_one_is_in_use(
    start: Start, open_probe: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    emulator = start("mps2_an386")
    probe = open_probe(emulator)
    assert run_cli(["probes", "--json"]) == 0
    found = {item["serial"]: item for item in json.loads(capsys.readouterr().out)["probes"]}
    assert found[emulator.serial]["board_type"] == "mps2_an386" and found[emulator.serial]["holder"]
    assert probe.halted()
    assert run_cli(["probes"]) == 0
    assert str(emulator.serial) in capsys.readouterr().out


def test_bench_init_writes_a_file_that_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["bench", "init", "--board", "42=mps2_an386"]) == 0
    bench = load_bench(tmp_path / "bench.yaml")
    assert [info.serial for info in bench.boards() if not info.on_demand] == [42]
    before = (tmp_path / "bench.yaml").read_bytes()
    assert run_cli(["bench", "init"]) == 2
    assert (tmp_path / "bench.yaml").read_bytes() == before
    assert run_cli(["bench", "init", "--force", "--json"]) == 0
    assert load_bench(tmp_path / "bench.yaml").boards()
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--board", "x=mps2_an386"],
        ["--board", "1=mps2_an368"],
        ["--board", "1"],
        ["--board", "1=mps2_an386", "--board", "1=mps3_an547"],
        ["-o", "no/such/bench.yaml"],
    ],
)
def test_bench_init_refuses(arguments: list[str], tmp_path: Path) -> None:
    assert run_cli(["bench", "init", *arguments]) == 2
    assert list(tmp_path.iterdir()) == []


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] and report["probe"] is None
    assert "7.2" in checks["emulator"]["found"]
    assert "1 is used" in checks["plugin interface"]["found"]
    assert checks["target compiler"]["level"] == "ok"


def test_doctor_ends_with_6_when_something_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_cli(["doctor"]) == 6
    text = capsys.readouterr().out
    assert "apt-get install -y qemu-system-arm" in text and "apt-get install -y gcc" in text


def test_doctor_runs_the_whole_sequence_on_a_probe(
    images: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = take_serial()
    lock.release()
    image: Image = images("mps2_an386")  # type: ignore[operator]
    assert run_cli(["bench", "init", "--board", f"{lock.serial}=mps2_an386", "--json"]) == 0
    capsys.readouterr()
    assert run_cli(["doctor", "--probe", str(lock.serial), "--image", str(image.elf), "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["probe"]["steps"]
    assert [step["name"] for step in steps] == [
        *("open and connect", "read identity", "write and read RAM", "reset", "fault registers"),
        *("flash and verify", "boot and RTT", "halt"),
    ]
    assert all(step["ok"] for step in steps)
    broken = tmp_path / "broken.elf"
    broken.write_bytes(b"no image")
    assert run_cli(["doctor", "--probe", str(lock.serial), "--image", str(broken)]) == 6
    assert "FAILED" in capsys.readouterr().out


def test_doctor_with_a_probe_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["doctor", "--probe", "1"]) == 6
    assert "serial 1" in capsys.readouterr().err
