"""Which dialect a model speaks. The one place that knows all families, and by name and marks only: each is imported when used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module

from dragoman.dialects.base import Dialect, ModelTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A row of the registry.

    A model belongs to the first family whose ``marks`` its template writes and its vocabulary has as control tokens. No marks: only
    when asked for by name. ``builder`` is ``module:function``, and the function takes ``ModelTraits``.
    """

    name: str
    builder: str
    marks: tuple[str, ...] = ()


FAMILIES: tuple[Family, ...] = (
    Family(name="chatml", builder="dragoman.dialects.chatml:build", marks=("<|im_start|>", "<|im_end|>")),
    Family(name="template", builder="dragoman.dialects.generic:build"),
    Family(name="plain", builder="dragoman.dialects.plain:build"),
)


def dialect_for(
    *,
    template: str | None,
    specials: tuple[str, ...],
    bos_token: str | None,
    eos_token: str | None,
    name: str | None = None,
    clock: Callable[[], datetime],
) -> Dialect:
    """The dialect called ``name``, or the one that fits the model: its family's, else its template's own, else plain.

    Raises ``ValueError`` for an unknown name, a broken template, and a family that needs a template where there is none.
    """
    traits = ModelTraits(
        template=template, specials=specials, bos_token=bos_token or "", eos_token=eos_token or "", clock=clock
    )
    return _build(_named(name or _recognised(traits)), traits)


def _recognised(traits: ModelTraits) -> str:
    if traits.template is None:
        return "plain"
    for family in FAMILIES:
        if family.marks and all(mark in traits.template and mark in traits.specials for mark in family.marks):
            return family.name
    return "template"


def _named(name: str) -> Family:
    for family in FAMILIES:
        if family.name == name:
            return family
    raise ValueError(f"unknown dialect {name!r}; known are {', '.join(family.name for family in FAMILIES)}")


def _build(family: Family, traits: ModelTraits) -> Dialect:
    module, _, function = family.builder.partition(":")
    dialect: Dialect = getattr(import_module(module), function)(traits)
    return dialect
