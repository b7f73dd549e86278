"""Every setting of a run, defined once: its name, what it may be, its default, and whether it belongs to this host.

A setting has one name, written with dashes in files and options and with underscores as a keyword. Host-local settings
(paths, serials, deadlines) never enter a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.board.transports import TRANSPORTS
from harness.core import strict_yaml
from harness.core.errors import SettingsError
from harness.core.suggest import did_you_mean
from harness.engines.base import PATH_OPTIONS
from harness.plan import checks
from harness.plan.checks import Check

_WORD = r"[a-z][a-z0-9_-]*"


@dataclass(frozen=True)
class Setting:
    """One row of the table.

    Args:
        name: with dashes.
        check: returns the stored form of a value or raises ValueError.
        default: its stored form; None where a plan resolves it from the board type.
        help: one line.
        host_local: never part of a plan.
        identity: whether it is part of the plan's identity. What only looks on (a power monitor) is not: the firmware
            and what it does are the same without it.
    """

    name: str
    check: Check
    default: Any
    help: str
    host_local: bool = False
    identity: bool = True

    @property
    def keyword(self) -> str:
        """The name as a Python keyword."""
        return self.name.replace("-", "_")


def _host(name: str, check: Check, help_text: str) -> Setting:
    return Setting(name, checks.optional(check), None, help_text, host_local=True)


_PROBE_HELP = "what the clean window times: inferences, or a busy loop of known length that shows clock and overhead"
_SETTLE_HELP = "milliseconds of quiet before the clean window; none: 0 on emulated boards, 100 on silicon"
_POWER_HELP = "power monitor that measures energy: none, any (the one wired to the board), or its name, as in ppk2"
_MODE_HELP = "whether the power monitor feeds the board (source) or only measures (ampere); none: as the bench says"
_VOLTS_HELP = "supply voltage of the board under the power monitor; none: as the bench says"
_SCOPE_HELP = "what energy is of: gated windows, or the whole capture where no gate is wired"

_TABLE = (
    Setting("engine", checks.text(_WORD, "an engine's name"), "aot", "what turns the model into code"),
    Setting("engine-config", checks.scalar_map, {}, "options of the engine, as in {kernels: naive}"),
    Setting("backend", checks.text(_WORD, "a kernel library's name"), "portable", "kernel library of the engine"),
    Setting(
        "arena-size", checks.optional(checks.size(1, 1 << 30)), None, "bytes for tensors; none: what the model needs"
    ),
    Setting("arena-location", checks.optional(checks.text(_WORD, "a location")), None, "memory of the tensor arena"),
    Setting("weights-location", checks.optional(checks.text(_WORD, "a location")), None, "memory of the weights"),
    Setting("board", checks.optional(checks.text(r"[a-z][a-z0-9_]*", "a board type")), None, "board type"),
    Setting("toolchain", checks.text(_WORD, "a toolchain's name"), "gcc", "compiler"),
    Setting(
        "cpu-clock", checks.optional(checks.text(_WORD, "a clock's name")), None, "named CPU clock of the board type"
    ),
    Setting("optimization", checks.choice("O0", "O1", "O2", "O3", "Os"), "O2", "optimisation level of all firmware"),
    Setting("compile-flags", checks.compile_flags, [], "further compiler flags of the form -f..., -m... or -D..."),
    Setting("transport", checks.choice(*TRANSPORTS), "rtt", "what carries bytes off the board"),
    Setting("iterations", checks.integer(1, 100_000), 100, "measured inferences of each instrumented pass"),
    Setting("warmup", checks.integer(0, 10_000), 5, "inferences before each window and pass that are not measured"),
    Setting("aggregation", checks.choice("median", "mean", "trimmed"), "median", "how iterations become one figure"),
    Setting("per-layer", checks.flag, True, "whether instrumented passes run at all"),
    Setting("pmu-counters", checks.counter_groups, {}, "counters by group: default, all, none or a list"),
    Setting("window-mode", checks.choice("auto", "fixed"), "auto", "clean window sized by time, or by iterations"),
    Setting("window-target-ms", checks.integer(1, 600_000), 1000, "length of an auto window in milliseconds"),
    Setting("window-min", checks.integer(1, 500_000), 10, "fewest inferences of an auto window"),
    Setting("window-max", checks.integer(1, 500_000), 500_000, "most inferences of an auto window"),
    Setting("clean-window-probe", checks.choice("infer", "busy_loop"), "infer", _PROBE_HELP),
    Setting("settle-ms", checks.optional(checks.integer(0, 60_000)), None, _SETTLE_HELP),
    Setting("power", checks.text(_WORD, "a power monitor's name"), "none", _POWER_HELP, identity=False),
    Setting("power-mode", checks.optional(checks.choice("source", "ampere")), None, _MODE_HELP, identity=False),
    Setting("power-volts", checks.optional(checks.number(0.0, 60.0)), None, _VOLTS_HELP, identity=False),
    Setting("power-scope", checks.choice("clean-window", "whole-capture"), "clean-window", _SCOPE_HELP),
    Setting("power-windows", checks.integer(1, 32), 3, "measured windows of whole inferences; repeats show the spread"),
    Setting("power-target-ms", checks.integer(1, 600_000), 1000, "length of a power window; on silicon at least 1000"),
    Setting("power-per-layer", checks.flag, False, "whether each layer is also repeated in a window of its own"),
    Setting("test-fault", checks.test_fault, "none", "fault to build in, to test the harness itself; as in corrupt@3"),
    _host("model", checks.path, "the model file; a path in a file is relative to that file"),
    _host("serial", checks.integer(1, 0xFFFF_FFFF), "serial number of the probe"),
    _host("bench", checks.path, "bench description"),
    _host("out", checks.path, "directory for results"),
    _host("boards-path", checks.words(r"[^\0]+", "directories"), "further directories with board types"),
    _host("runtimes-path", checks.words(r"[^\0]+", "directories"), "further directories with runtimes"),
    _host("retries", checks.integer(0, 10), "how often to try again after a failure of bench, link or wire"),
    _host("deadlines", checks.deadlines, "seconds by phase"),
)

SETTINGS: Mapping[str, Setting] = MappingProxyType({setting.name: setting for setting in _TABLE})
"""All settings by name."""
PLAN_SETTINGS: tuple[str, ...] = tuple(name for name, setting in SETTINGS.items() if not setting.host_local)
"""Names of the settings that a plan freezes."""
IDENTITY_SETTINGS: frozenset[str] = frozenset(name for name in PLAN_SETTINGS if SETTINGS[name].identity)
"""Names of the settings that are part of a plan's identity."""
HOST_SETTINGS: tuple[str, ...] = tuple(name for name, setting in SETTINGS.items() if setting.host_local)
"""Names of the settings that a plan never holds."""
SEARCH_SETTINGS = ("boards-path", "runtimes-path")
"""Those of them that freezing takes: lists of directories."""


@dataclass(frozen=True)
class Resolved:
    """Settings after defaults: those a plan freezes (complete), and those of this host (only what was given)."""

    plan: Mapping[str, Any]
    host: Mapping[str, Any]


def check_value(name: str, value: Any, *, where: str = "") -> Any:
    """The stored form of a value.

    Raises:
        SettingsError: the setting is unknown or the value is not allowed; `where` is prefixed to the message.
    """
    prefix = f"{where}: " if where else ""
    setting = SETTINGS.get(name)
    if setting is None:
        raise SettingsError(
            f"{prefix}There is no setting {name!r}.",
            why=did_you_mean(name, SETTINGS),
            todo="`harness freeze --help` lists the settings.",
            context={"setting": name},
        )
    try:
        return setting.check(value)
    except ValueError as fault:
        raise SettingsError(
            f"{prefix}Setting {name!r} {fault}.",
            why=f"It is {value!r}.",
            todo=f"Meaning: {setting.help}.",
            context={"setting": name, "value": repr(value)},
        ) from None


def parse_text(name: str, text: str) -> Any:
    """The stored form of a value given as text on a command line.

    Text is read as YAML; a mapping may also be `key=value,key=value` or the path of a YAML file, a list may also be
    words separated by spaces.
    """
    option = f"--{name}"
    default = SETTINGS[name].default if name in SETTINGS else None
    stripped = text.strip()
    if isinstance(default, Mapping) and not stripped.startswith("{"):
        if "=" not in stripped:
            return check_value(name, strict_yaml.load(Path(stripped), SettingsError).value or {}, where=option)
        pairs = [part.partition("=") for part in stripped.split(",")]
        if len({key for key, _, _ in pairs}) != len(pairs):
            raise SettingsError(f"{option} repeats a key.", why=f"It is {text!r}.")
        values = {
            key.strip(): strict_yaml.loads(value, source=option, error=SettingsError).value for key, _, value in pairs
        }
        return check_value(name, values, where=option)
    if isinstance(default, list) and not stripped.startswith("["):
        return check_value(name, stripped.split(), where=option)
    return check_value(name, strict_yaml.loads(text, source=option, error=SettingsError).value, where=option)


def resolve(config: Path | str | Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> Resolved:
    """Merge defaults, a configuration (file or mapping) and keywords, the later winning.

    Relative paths in a file are taken from the file's directory. A keyword that is None counts as not given.

    Raises:
        SettingsError: an unknown or repeated setting, a value that is not allowed, an unreadable file.
    """
    given: dict[str, Any] = {}
    if isinstance(config, Mapping):
        given.update(_named(config, "configuration"))
    elif config is not None:
        given.update(_from_file(Path(config)))
    given.update(_named({key: value for key, value in keywords.items() if value is not None}, ""))
    plan = {name: given.get(name, SETTINGS[name].default) for name in PLAN_SETTINGS}
    if plan["window-min"] > plan["window-max"]:
        raise SettingsError(
            "Setting 'window-min' is above 'window-max'.", why=f"{plan['window-min']} > {plan['window-max']}."
        )
    host = {name: given[name] for name in HOST_SETTINGS if given.get(name) is not None}
    return Resolved(MappingProxyType(plan), MappingProxyType(host))


def _named(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in values.items():
        name = str(key).replace("_", "-")
        if name in out:
            raise SettingsError(f"{where}: Setting {name!r} is given twice.", todo="Keep one of the two.")
        out[name] = check_value(name, value.as_posix() if isinstance(value, Path) else value, where=where)
    return out


def _from_file(path: Path) -> dict[str, Any]:
    document = strict_yaml.load(path, SettingsError)
    if document.value is None:
        return {}
    if not isinstance(document.value, dict):
        raise SettingsError(
            f"{path} is not a mapping of settings.", todo="Write one setting a line, as in `warmup: 5`."
        )
    out: dict[str, Any] = {}
    for key, value in document.value.items():
        where = document.where((key,))
        named = _named({key: value}, where)
        if named.keys() & out.keys():
            raise SettingsError(f"{where}: Setting {key!r} is given twice.", todo="Keep one of the two.")
        out.update(named)
    for name in ("model", "bench", "out"):
        if out.get(name):
            out[name] = str(path.parent / out[name])
    for name in SEARCH_SETTINGS:
        if out.get(name):
            out[name] = [str(path.parent / part) for part in out[name]]
    for name in PATH_OPTIONS & out.get("engine-config", {}).keys():
        out["engine-config"][name] = str(path.parent / str(out["engine-config"][name]))
    return out
