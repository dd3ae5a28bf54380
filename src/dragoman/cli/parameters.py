"""Settings as command-line parameters: the table of ``settings`` becomes the options of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import Annotated, Any, Final

import typer

from dragoman.cli.terminal import fail
from dragoman.options import Kind, Option
from dragoman.settings import SettingsError, load, options

LOCAL: Final = frozenset({"Model", "Engine", "Files"})
"""Groups that matter to a command that opens no port."""


def with_settings(
    *, groups: Collection[str] | None = None, also: Collection[str] = (), model_argument: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command its ``Settings`` as the first argument.

    It gets the options of ``groups`` (all by default) and those of the keys in ``also``, and MODEL as an argument. A setting that cannot be used ends the program with one line and status 2.
    """
    rows = [option for option in options() if groups is None or option.group in groups or option.key in also]
    keys = {option.key for option in rows}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*_: object, **values: Any) -> None:
            model = values.pop("model_argument", None)
            flags = {key: values.pop(key) for key in keys}
            if model is not None and flags.get("model") is not None:
                fail("MODEL: is given twice, as an argument and as --model", code=2)
            if model is not None:
                flags["model"] = model
            try:
                settings = load(flags)
            except SettingsError as error:
                fail(str(error), hint="dragoman COMMAND --help lists every setting", code=2)
            command(settings, **values)

        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        extra = [_argument()] if model_argument else []
        parameters = [*extra, *own, *(_parameter(option) for option in rows)]
        keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        run.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]  # what Typer reads
        run.__annotations__ = {each.name: each.annotation for each in keyword}
        return run

    return decorate


def _argument() -> inspect.Parameter:
    hint: Any = Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="GGUF file; without one, the demo model.", show_default=False),
    ]
    return inspect.Parameter("model_argument", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)


def _parameter(option: Option) -> inspect.Parameter:
    """One option. Its text is read by ``settings``, like that of a variable, so all sources fail alike."""
    names = (f"{option.flag}/--no-{option.flag[2:]}",) if option.kind is Kind.SWITCH else (option.flag,)
    info = typer.Option(
        *names,
        help=f"{option.help} [{option.variable}; default: {option.default}]".replace("[", "\\["),
        metavar=None if option.kind is Kind.SWITCH else _metavar(option),
        rich_help_panel=option.group,
        show_default=False,
    )
    hints: dict[Kind, Any] = {Kind.SWITCH: bool | None, Kind.LIST: list[str] | None}
    hint: Any = Annotated[hints.get(option.kind, str | None), info]
    return inspect.Parameter(option.key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)


def _metavar(option: Option) -> str:
    return "|".join(option.choices) if option.choices else option.kind.upper()
