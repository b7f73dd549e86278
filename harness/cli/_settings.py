"""The settings of a plan as command-line options, made from the one table that defines them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from harness.core.errors import UsageError
from harness.plan.settings import PLAN_SETTINGS, SETTINGS, Setting, check_value, parse_text


def with_settings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command one option a setting; the function gets those that were named as the mapping `settings`.

    Put it directly under `@app.command()`. The function's own parameters stay as they are.
    """

    def wrapper(**given: Any) -> Any:
        texts = {name: given.pop(SETTINGS[name].keyword) for name in PLAN_SETTINGS}
        return function(**given, settings=_parsed(texts))

    own = [parameter for name, parameter in _parameters(function).items() if name != "settings"]
    added = [_option(SETTINGS[name]) for name in PLAN_SETTINGS]
    wrapper.__doc__ = function.__doc__
    wrapper.__name__ = function.__name__
    wrapper.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
    return wrapper


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items()
    }


def _option(setting: Setting) -> inspect.Parameter:
    shown = f" (default: {_text(setting.default)})" if setting.default not in (None, {}, []) else ""
    declaration = typer.Option(f"--{setting.name}", help=f"{setting.help}{shown}", show_default=False, metavar="VALUE")
    return inspect.Parameter(
        setting.keyword,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, declaration],
    )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parsed(texts: Mapping[str, str | None]) -> dict[str, Any]:
    return {SETTINGS[name].keyword: parse_text(name, text) for name, text in texts.items() if text is not None}


def named_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Settings by keyword from texts of the form NAME=VALUE.

    Raises:
        UsageError: a text has no `=`, or names no setting.
    """
    out: dict[str, Any] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageError(f"--set {text!r} is not of the form NAME=VALUE.", todo="For example: --set iterations=20")
        dashed = name.replace("_", "-")
        if dashed not in SETTINGS:
            check_value(dashed, value)
        out[name.replace("-", "_")] = parse_text(dashed, value)
    return out
