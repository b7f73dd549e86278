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
from harness.plan.settings import HOST_SETTINGS, resolve
from harness.plan.toolchain import Toolchain, find_toolchain


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
    local = sorted(key for key in settings if key.replace("_", "-") in HOST_SETTINGS and key != "boards_path")
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
    if values["board"] is None:
        raise SettingsError("No board type was named.", todo="Name one, as in --board mps3_an547.")
    board_type = load_board_type(values["board"], extra=tuple(map(Path, resolved.host.get("boards-path", ()))))
    _resolve_against_board(values, board_type)
    facts = board_type.firmware_facts()
    loaded, trees = _open_model(Path(path), values, facts)
    values["engine-config"] = _without_paths(values)
    toolchain = find_toolchain(values["toolchain"], board_type.core.cpuflags)
    return Plan(
        settings=freeze_data(values),
        model=PlanModel(str(Path(path).absolute()), loaded.sha256, loaded.size_bytes),
        board_facts=freeze_data(facts),
        toolchain=toolchain.facts,
        baseline=baseline_fingerprint(board_type),
        harness_version=__version__,
        trees=tuple(PlanTree(t.name, t.option, str(t.path), t.version, t.sha256) for t in trees),
    )


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
    path: Path, settings: Mapping[str, Any], board_facts: Mapping[str, Any]
) -> tuple[Model, tuple[SourceTree, ...]]:
    engine = get_engine(str(settings["engine"]))
    if settings["backend"] not in engine.backends:
        raise SettingsError(
            f"Engine {engine.name!r} has no backend {settings['backend']!r}.",
            why=did_you_mean(str(settings["backend"]), engine.backends),
        )
    options = _options(settings, board_facts)
    loaded = load_model(path)
    engine.check(loaded, options)
    return loaded, engine.trees(options)


def _without_paths(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's options without directories: those are among the plan's trees, by their digests."""
    paths = get_engine(str(settings["engine"])).path_options
    return {key: value for key, value in settings["engine-config"].items() if key not in paths}


def engine_options(plan: Plan) -> EngineOptions:
    """What the engine is asked to do by a plan."""
    options = _options(plan.settings, plan.board_facts)
    named = {tree.option: tree.path for tree in plan.trees if tree.option}
    return replace(options, config={**options.config, **named})


def _options(settings: Mapping[str, Any], board_facts: Mapping[str, Any]) -> EngineOptions:
    return EngineOptions(
        config=thaw(settings["engine-config"]),
        arena_size=settings["arena-size"],
        arena_section=f".arena.{settings['arena-location']}",
        weights_section=f".weights.{settings['weights-location']}",
        backend=settings["backend"],
        features=core_features(board_facts["core"]),
    )


DSP_CORES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m52", "cortex-m55", "cortex-m85")


def core_features(core: Mapping[str, Any]) -> frozenset[str]:
    """What kernels may count on, from the core a descriptor names."""
    features = {DSP} if core["name"] in DSP_CORES and not any("+nodsp" in flag for flag in core["cpuflags"]) else set()
    return frozenset(features | ({MVE} if core["mve"] else set()))


@dataclass(frozen=True)
class Replay:
    """A plan's world, found again: the board type, the model and the compiler, all as frozen."""

    board_type: BoardType
    model: Model
    toolchain: Toolchain


def replay(plan: Plan, *, model: Path | str | None = None, boards_path: tuple[Path, ...] = ()) -> Replay:
    """Find a plan's model, board type and compiler again and compare them with what was frozen.

    Args:
        plan: the plan.
        model: where the model is now, when it moved.
        boards_path: further directories with board types.

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
    trees = get_engine(plan.engine).trees(engine_options(plan))
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
    return Replay(board_type, loaded, toolchain)


def _facts(facts: Any) -> dict[str, Any]:
    return {"name": facts.name, "version": facts.version, "libraries": facts.libraries}


def _differences(prefix: str, frozen: Any, now: Any) -> list[tuple[str, Any, Any]]:
    if isinstance(frozen, Mapping) and isinstance(now, Mapping):
        out = []
        for key in sorted({*frozen, *now}):
            out += _differences(f"{prefix}.{key}", frozen.get(key), now.get(key))
        return out
    return [] if frozen == now else [(prefix, frozen, now)]
