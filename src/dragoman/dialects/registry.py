"""Which dialect a model speaks. The one place that knows all families, and by name and marks only: each is imported when used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module

from dragoman.dialects.base import Dialect, ModelTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A row of the registry.

    A model belongs to the first family of which it has all: ``marks`` are control tokens of its vocabulary that its template writes,
    ``words`` are other texts of its template, and ``architectures`` are those that its file may name. A row with none of them is spoken
    only when asked for by name. ``builder`` is ``module:function``, and the function takes ``ModelTraits``.
    """

    name: str
    builder: str
    marks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()

    def fits(self, traits: ModelTraits) -> bool:
        """Whether the model is of this family, as far as its template and its file tell."""
        template = traits.template
        return (
            template is not None
            and bool(self.marks or self.words or self.architectures)
            and all(mark in template and mark in traits.specials for mark in self.marks)
            and all(word in template for word in self.words)
            and (not self.architectures or traits.architecture in self.architectures)
        )


# A family stands before those whose marks it has, too. Behind the last that has any stand those that are asked for by name.
FAMILIES: tuple[Family, ...] = (
    Family(name="chatml", builder="dragoman.dialects.chatml:build", marks=("<|im_start|>", "<|im_end|>")),
    Family(name="template", builder="dragoman.dialects.generic:build"),
    Family(name="plain", builder="dragoman.dialects.plain:build"),
)


def dialect_for(  # noqa: PLR0913 -- each is a fact that the caller has from another place
    *,
    template: str | None,
    specials: tuple[str, ...],
    bos_token: str | None,
    eos_token: str | None,
    architecture: str = "",
    name: str | None = None,
    strict_messages: bool = False,
    special_ids: Mapping[str, int] | None = None,
    clock: Callable[[], datetime],
) -> Dialect:
    """The dialect called ``name``, or the one that fits the model: its family's, else its template's own, else plain.

    ``architecture`` is what the model's file calls its own, and ``special_ids`` are the ids of the ``specials``. Raises ``ValueError`` for
    an unknown name, a broken template, and a family that needs a template where there is none.
    """
    traits = ModelTraits(
        template=template,
        specials=specials,
        bos_token=bos_token or "",
        eos_token=eos_token or "",
        architecture=architecture,
        strict_messages=strict_messages,
        clock=clock,
        special_ids=special_ids or {},
    )
    return _build(_named(name or _recognised(traits)), traits)


def _recognised(traits: ModelTraits) -> str:
    if traits.template is None:
        return "plain"
    return next((family.name for family in FAMILIES if family.fits(traits)), "template")


def _named(name: str) -> Family:
    for family in FAMILIES:
        if family.name == name:
            return family
    raise ValueError(f"unknown dialect {name!r}; known are {', '.join(family.name for family in FAMILIES)}")


def _build(family: Family, traits: ModelTraits) -> Dialect:
    module, _, function = family.builder.partition(":")
    dialect: Dialect = getattr(import_module(module), function)(traits)
    return dialect
