"""Gemma 4, whose arguments are objects with bare keys and quotes of their own.

    <|channel>thought
    I need the weather.<channel|>I look it up.<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>

Results stand in the same turn, so the model ends it behind its calls. With thinking off the prompt ends in an empty thought.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.notation import ArgumentsReader, Notation
from dragoman.dialects.notation_grammar import NotationForm, Writing
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_QUOTE: Final = '<|"|>'

NOTATION: Final = Notation(quotes=(_QUOTE, '"'), raw=frozenset({_QUOTE}), closer="}")
WRITING: Final = Writing(
    opener="{", closer="}", assign=":", separator=",", whole=("", ""), quote=_QUOTE, sorts_keys=True
)
"""Keys are sorted, as the template sorts them in declarations and past calls."""

THINK: Final = ("<|channel>thought\n", "<channel|>")


def _prose(openers: dict[Terminal, Edge]) -> dict[str, State]:
    """Thoughts and text. The channel's name is a line of its own, behind what may be a token."""
    channels: dict[Terminal, Edge] = {"<|channel>": Edge("thinking"), "<channel|>": Edge("opening"), **openers}
    closer: dict[Terminal, Edge] = {"<channel|>": Edge("opening")}
    return {
        "start": State(holds=Holds.TEXT, edges=channels, otherwise="text"),
        "opening": State(holds=Holds.SPACE, edges=channels, otherwise="text"),
        "text": State(holds=Holds.TEXT, edges=channels),
        "thinking": State(
            holds=Holds.REASONING, edges={"thought\n": Edge("reasoning"), **closer}, otherwise="reasoning"
        ),
        "reasoning": State(holds=Holds.REASONING, edges=closer),
    }


TABLE: Final = Table(
    {
        **_prose({"<|tool_call>": Edge("calling", tentative=True)}),
        "calling": State(holds=Holds.SPACE, edges={"call:": Edge("name")}),
        "name": State(holds=Holds.NAME, edges={"{": Edge("arguments")}),
        "arguments": State(
            holds=Holds.BODY,
            body=lambda _: ArgumentsReader(NOTATION),
            then=Edge("called", ends=True),
            controls=frozenset({_QUOTE}),
        ),
        "called": State(holds=Holds.SPACE, edges={"<tool_call|>": Edge("opening")}, otherwise="text"),
    }
)
SYNTAX: Final = Syntax(
    table=TABLE,
    silent=Table(_prose({})),
    think=THINK,
    written=Written(
        opener="<|tool_call>",
        call=NotationForm(before="call:", writing=WRITING, after="<tool_call|>"),
        between="<|tool_call>",
    ),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="gemma4")
