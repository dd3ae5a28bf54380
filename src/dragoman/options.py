"""How one setting is named, read and bounded, whichever source it comes from. Pure: no environment, no files.

A settings class annotates its fields with ``Row``; ``table`` joins the two into ``Option`` values, and everything
that has to do with the outside (flags, variables, keys of a file, docs) is made from those.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

Value: TypeAlias = "bool | int | float | str | Path | tuple[str, ...] | None"


class SettingsError(ValueError):
    """A setting that cannot be used. The message starts with the flag, variable or file key that holds it."""


class Kind(StrEnum):
    """How a setting is written."""

    TEXT = "text"
    PATH = "path"
    INTEGER = "integer"
    NUMBER = "number"
    SWITCH = "true|false"
    CHOICE = "choice"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Row:
    """What a field's type does not say. ``shown`` is the default in words; ``flag`` and ``variable`` rename."""

    group: str
    help: str
    _: dataclasses.KW_ONLY
    shown: str | None = None
    low: float | None = None
    high: float | None = None
    flag: str | None = None
    variable: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting as the outside sees it. ``optional`` ones may be left to the server, which ``auto`` spells out."""

    key: str
    group: str
    flag: str
    variable: str
    help: str
    kind: Kind
    choices: tuple[str, ...]
    optional: bool
    default: str
    low: float | None
    high: float | None


def table(settings: type) -> tuple[Option, ...]:
    """The options of a dataclass whose fields are annotated with ``Row``, in its order."""
    hints = get_type_hints(settings, include_extras=True)
    return tuple(_option(spec, *get_args(hints[spec.name])) for spec in dataclasses.fields(settings))


def read_text(option: Option, text: str, source: str) -> Value:
    """A value from a flag or a variable, where everything is text. Raises ``SettingsError``, naming ``source``."""
    text = text.strip()
    if option.optional and text == "auto":
        return None
    match option.kind:
        case Kind.INTEGER | Kind.NUMBER:
            try:
                number = int(text) if option.kind is Kind.INTEGER else float(text)
            except ValueError:
                raise SettingsError(f"{source}: {text!r} is not {_a(option.kind)}") from None
            return _bounded(option, number, source)
        case Kind.SWITCH:
            if text.lower() not in _SWITCH:
                raise SettingsError(f"{source}: {text!r} is neither true nor false")
            return _SWITCH[text.lower()]
        case Kind.LIST:
            return read_list(text.split(","), source)
        case Kind.PATH:
            return Path(_chosen(option, text, source)).expanduser()
        case Kind.TEXT | Kind.CHOICE:
            return _chosen(option, text, source)


def read_toml(option: Option, raw: object, source: str, base: Path) -> Value:
    """A value from a file, which has types of its own; relative paths start at ``base``. Raises ``SettingsError``."""
    match option.kind, raw:
        case _, "auto" if option.optional:
            return None
        case Kind.SWITCH, bool():
            return raw
        case Kind.INTEGER, int() if not isinstance(raw, bool):
            return _bounded(option, raw, source)
        case Kind.NUMBER, int() | float() if not isinstance(raw, bool):
            return _bounded(option, float(raw), source)
        case Kind.LIST, list() if all(isinstance(item, str) for item in raw):
            return read_list(raw, source)
        case Kind.PATH, str():
            return base / Path(_chosen(option, raw, source)).expanduser()
        case ((Kind.TEXT | Kind.CHOICE), str()):
            return _chosen(option, raw, source)
        case _:
            raise SettingsError(f"{source}: {raw!r} is not {_a(option.kind)}")


def read_list(items: list[str], source: str) -> tuple[str, ...]:
    """The texts of a list, trimmed and once each. Raises ``SettingsError`` when none is left."""
    values = tuple(dict.fromkeys(item.strip() for item in items if item.strip()))
    if not values:
        raise SettingsError(f"{source}: is empty")
    return values


_SWITCH: Final = MappingProxyType(
    {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
)


def _bounded(option: Option, number: float, source: str) -> int | float:
    if option.low is not None and not number >= option.low:  # "not >=" also refuses nan
        raise SettingsError(f"{source}: {number} is less than {option.low:g}")
    if option.high is not None and number > option.high:
        raise SettingsError(f"{source}: {number} is more than {option.high:g}")
    return number


def _chosen(option: Option, text: str, source: str) -> str:
    if not text:
        raise SettingsError(f"{source}: is empty")
    if option.choices and text not in option.choices:
        raise SettingsError(f"{source}: {text!r} is none of {', '.join(option.choices)}")
    return text


def _a(kind: Kind) -> str:
    names = {Kind.INTEGER: "an integer", Kind.SWITCH: "true or false", Kind.LIST: "a list of texts"}
    return names.get(kind, f"a {kind}")


def _option(spec: dataclasses.Field[Any], hint: Any, row: Row) -> Option:
    members = [member for member in get_args(hint) if member is not type(None)]
    optional = type(None) in get_args(hint)
    kind, choices = _kind(members[0] if optional else hint)
    return Option(
        key=spec.name,
        group=row.group,
        flag=row.flag or "--" + spec.name.replace("_", "-"),
        variable=row.variable or f"DRAGOMAN_{spec.name.upper()}",
        help=row.help,
        kind=kind,
        choices=choices,
        optional=optional,
        default=row.shown or _shown(spec.default),
        low=row.low,
        high=row.high,
    )


def _kind(hint: Any) -> tuple[Kind, tuple[str, ...]]:
    if get_origin(hint) is Literal:
        return Kind.CHOICE, get_args(hint)
    if get_origin(hint) is tuple:
        return Kind.LIST, ()
    kinds = {str: Kind.TEXT, Path: Kind.PATH, int: Kind.INTEGER, float: Kind.NUMBER, bool: Kind.SWITCH}
    return kinds[hint], ()


def _shown(default: object) -> str:
    match default:
        case None:
            return "auto"
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
        case tuple():
            return ", ".join(default) or "none"
        case _:
            return str(default)
