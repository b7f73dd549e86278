"""Freezing: settings, a model, a board type and a compiler become a plan; later, the same world is asked for again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import __version__
from harness.board.descriptor import BoardType, load_board_type
from harness.core.errors import PlanError, SettingsError
from harness.core.frozen import freeze as freeze_data
from harness.core.frozen import thaw
from harness.core.suggest import did_you_mean
from harness.engines.base import DSP, MVE, EngineOptions, get_engine
from harness.engines.trees import SourceTree
from harness.model.load import load_model
from harness.model.types import Model
from harness.plan.baseline import baseline_fingerprint
from harness.plan.record import Plan, PlanModel, PlanTree
from harness.plan.settings import HOST_SETTINGS, SEARCH_SETTINGS, SETTINGS, resolve
from harness.plan.toolchain import Toolchain, find_toolchain

SILICON_SETTLE_MS = 100
"""Quiet before a clean window on silicon: a probe's last polls and the regulators' answer to them are over by then."""


@dataclass(frozen=True)
class Prepared:
    """Everything a plan is frozen from except the compiler: complete settings, board type, model, engine sources."""

    settings: Mapping[str, Any]
    board: BoardType
    model: Model
    options: EngineOptions
    trees: tuple[SourceTree, ...]


def freeze(
    model: Path | str | None = None,
    *,
    board: str | None = None,
    config: Path | str | Mapping[str, Any] | None = None,
    **settings: Any,
) -> Plan:
    """Freeze a plan.

    Args:
        model: the `.tflite` file; may be given by the configuration instead.
        board: name of a board type; likewise.
        config: a YAML file or a mapping of settings.
        **settings: settings by keyword; they win over the configuration.

    Raises:
        SettingsError: a setting is unknown, not allowed, contradicts another, or belongs to this host.
        ModelError: the model cannot be read, or the engine does not support it.
        BoardDescriptorError: there is no such board type.
        ToolMissingError: the compiler is not installed.
    """
    ready = prepare(model, board=board, config=config, **settings)
    toolchain = find_toolchain(str(ready.settings["toolchain"]), ready.board.core.cpuflags)
    return Plan(
        settings=freeze_data({**ready.settings, "engine-config": _without_paths(ready.settings)}),
        model=PlanModel(str(ready.model.path.absolute()), ready.model.sha256, ready.model.size_bytes),
        board_facts=freeze_data(ready.board.firmware_facts()),
        toolchain=toolchain.facts,
        baseline=baseline_fingerprint(ready.board),
        harness_version=__version__,
        trees=tuple(PlanTree(t.name, t.option, str(t.path), t.version, t.sha256) for t in ready.trees),
    )


def prepare(
    model: Path | str | None = None,
    *,
    board: str | None = None,
    config: Path | str | Mapping[str, Any] | None = None,
    **settings: Any,
) -> Prepared:
    """Resolve and check what `freeze` would freeze, without looking for a compiler.

    Takes the arguments of `freeze`, and raises as it does except for `ToolMissingError` of the compiler.
    """
    named = {key: key.replace("_", "-") for key in settings}
    local = sorted(key for key, name in named.items() if name in HOST_SETTINGS and name not in SEARCH_SETTINGS)
    if local:
        raise SettingsError(
            f"{', '.join(local)} cannot be frozen: {'it belongs' if len(local) == 1 else 'they belong'} to this host.",
            todo="Give it to `harness run` instead.",
        )
    resolved = resolve(config, {**settings, "board": board, "model": model})
    path = resolved.host.get("model")
    if path is None:
        raise SettingsError("No model was named.", todo="Name a .tflite file, or set `model` in the configuration.")
    values = dict(resolved.plan)
    board_type = _board_type(values, resolved.host)
    _resolve_against_board(values, board_type)
    search = tuple(map(Path, resolved.host.get("runtimes-path", ())))
    loaded, options, trees = _open_model(Path(path), values, board_type.firmware_facts(), search)
    return Prepared(values, board_type, loaded, options, trees)


def _resolve_against_board(values: dict[str, Any], board: BoardType) -> None:
    choices: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
        ("arena-location", board.defaults.arena, board.arena_locations),
        ("weights-location", board.defaults.weights, board.weights_locations),
        ("cpu-clock", board.clocks.default, board.clocks.rates_hz),
    )
    for name, default, known in choices:
        if values[name] is None:
            values[name] = default
        if values[name] not in known:
            raise SettingsError(
                f"Setting {name!r} is {values[name]!r}, which board type {board.name!r} does not have.",
                why=did_you_mean(str(values[name]), known),
            )
    if values["settle-ms"] is None:
        values["settle-ms"] = 0 if board.source == "emulated" else SILICON_SETTLE_MS
    if values["clean-window-probe"] != "infer" and values["power"] != "none":
        raise SettingsError(
            "Setting 'clean-window-probe' is 'busy_loop', and power is to be measured too.",
            why="Power windows run inferences, as many as the clean window's time of one says; the probe times none.",
            todo="Leave one of the two out.",
        )
    if values["transport"] not in board.transports:
        raise SettingsError(
            f"Setting 'transport' is {values['transport']!r}, which board type {board.name!r} does not have.",
            why=f"It has {', '.join(board.transports)}.",
            todo="Choose one of these; docs/transports.md says when to use which.",
        )
    size, region = values["arena-size"], board.region(board.arena_locations[values["arena-location"]])
    if size is not None and size > region.length:
        raise SettingsError(
            f"Setting 'arena-size' is {size}, more than the {region.length} bytes of {region.name} on {board.name!r}.",
            todo="Choose another arena-location, or a smaller arena.",
        )


def _open_model(
    path: Path, settings: dict[str, Any], board_facts: Mapping[str, Any], search: tuple[Path, ...]
) -> tuple[Model, EngineOptions, tuple[SourceTree, ...]]:
    _choose_backend(settings)
    engine = get_engine(str(settings["engine"]))
    options = replace(_options(settings, board_facts), search=search)
    loaded = load_model(path)
    engine.check(loaded, options)
    return loaded, options, engine.trees(options)


def _without_paths(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's options without directories: those are among the plan's trees, by their digests."""
    paths = get_engine(str(settings["engine"])).path_options
    return {key: value for key, value in settings["engine-config"].items() if key not in paths}


def engine_settings(given: Mapping[str, Any]) -> tuple[dict[str, Any], EngineOptions]:
    """Complete settings, and what they ask of the engine, without a model: for what is the same for all of them.

    Raises:
        SettingsError, BoardDescriptorError: as `freeze`.
    """
    resolved = resolve(given, {})
    values = dict(resolved.plan)
    board_type = _board_type(values, resolved.host)
    _resolve_against_board(values, board_type)
    _choose_backend(values)
    search = tuple(map(Path, resolved.host.get("runtimes-path", ())))
    return values, replace(_options(values, board_type.firmware_facts()), search=search)


def _board_type(values: Mapping[str, Any], host: Mapping[str, Any]) -> BoardType:
    if values["board"] is None:
        raise SettingsError("No board type was named.", todo="Name one, as in --board mps3_an547.")
    return load_board_type(values["board"], extra=tuple(map(Path, host.get("boards-path", ()))))


def _choose_backend(values: dict[str, Any]) -> None:
    engine = get_engine(str(values["engine"]))
    if values["backend"] == SETTINGS["backend"].default:
        # Each engine has a default of its own.
        values["backend"] = engine.backends[0]
    if values["backend"] not in engine.backends:
        raise SettingsError(
            f"Engine {engine.name!r} has no backend {values['backend']!r}.",
            why=did_you_mean(str(values["backend"]), engine.backends),
        )


def engine_options(plan: Plan, search: tuple[Path, ...] = ()) -> EngineOptions:
    """What the engine is asked to do by a plan; `search` names further directories where its runtime may lie."""
    options = _options(plan.settings, plan.board_facts)
    named = {tree.option: tree.path for tree in plan.trees if tree.option}
    pinned = {tree.name: tree.sha256 for tree in plan.trees if tree.option}
    return replace(options, config={**options.config, **named}, search=search, pinned=pinned)


def _options(settings: Mapping[str, Any], board_facts: Mapping[str, Any]) -> EngineOptions:
    return EngineOptions(
        config=thaw(settings["engine-config"]),
        arena_size=settings["arena-size"],
        arena_section=f".arena.{settings['arena-location']}",
        weights_section=f".weights.{settings['weights-location']}",
        backend=settings["backend"],
        features=core_features(board_facts["core"]),
        core=board_facts["core"]["name"],
        cpuflags=tuple(board_facts["core"]["cpuflags"]),
        toolchain=settings["toolchain"],
    )


DSP_CORES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m52", "cortex-m55", "cortex-m85")


def core_features(core: Mapping[str, Any]) -> frozenset[str]:
    """What kernels may count on, from the core a descriptor names."""
    features = {DSP} if core["name"] in DSP_CORES and not any("+nodsp" in flag for flag in core["cpuflags"]) else set()
    return frozenset(features | ({MVE} if core["mve"] else set()))


@dataclass(frozen=True)
class Replay:
    """A plan's world, found again, all as frozen: board type, model, compiler, and options that name the sources."""

    board_type: BoardType
    model: Model
    toolchain: Toolchain
    options: EngineOptions


def replay(
    plan: Plan,
    *,
    model: Path | str | None = None,
    boards_path: tuple[Path, ...] = (),
    runtimes: tuple[Path, ...] = (),
) -> Replay:
    """Find a plan's model, board type and compiler again and compare them with what was frozen.

    Args:
        plan: the plan.
        model: where the model is now, when it moved.
        boards_path: further directories with board types.
        runtimes: further directories where the plan's runtime may lie.

    Raises:
        PlanError: a fact differs; the message lists every one, frozen versus now.
        ModelError, ToolMissingError, BoardDescriptorError: something is not there any more.
    """
    path = Path(model if model is not None else plan.model.path)
    if not path.exists():
        raise PlanError(
            f"The model {path} does not exist.",
            why="The plan was frozen from a file that is not there.",
            todo="Name the moved file with --model.",
        )
    loaded = load_model(path)
    board_type = load_board_type(plan.board, extra=boards_path)
    toolchain = find_toolchain(plan.toolchain.name, board_type.core.cpuflags)
    options = engine_options(plan, runtimes)
    trees = get_engine(plan.engine).trees(options)
    drifts = [
        *_differences("model", {"sha256": plan.model.sha256}, {"sha256": loaded.sha256}),
        *_differences("board", thaw(plan.board_facts), board_type.firmware_facts()),
        *_differences("toolchain", _facts(plan.toolchain), _facts(toolchain.facts)),
        *_differences("sources", {t.name: t.sha256 for t in plan.trees}, {t.name: t.sha256 for t in trees}),
        *_differences("harness", {"firmware": plan.baseline}, {"firmware": baseline_fingerprint(board_type)}),
    ]
    if drifts:
        raise PlanError(
            f"The world differs from what the plan froze in {len(drifts)} fact{'s' if len(drifts) > 1 else ''}.",
            why="\n".join(f"{name}: frozen {frozen}, now {now}" for name, frozen, now in drifts),
            todo="Restore these, or freeze the plan again.",
            context={"drifts": [{"fact": name, "frozen": frozen, "now": now} for name, frozen, now in drifts]},
        )
    return Replay(board_type, loaded, toolchain, options)


def _facts(facts: Any) -> dict[str, Any]:
    return {"name": facts.name, "version": facts.version, "libraries": facts.libraries}


def _differences(prefix: str, frozen: Any, now: Any) -> list[tuple[str, Any, Any]]:
    if isinstance(frozen, Mapping) and isinstance(now, Mapping):
        out = []
        for key in sorted({*frozen, *now}):
            out += _differences(f"{prefix}.{key}", frozen.get(key), now.get(key))
        return out
    return [] if frozen == now else [(prefix, frozen, now)]
