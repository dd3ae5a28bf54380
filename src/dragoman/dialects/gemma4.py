"""Gemma 4, whose arguments are objects with bare keys and quotes of their own.

    <|channel>thought
    I need the weather.<channel|>I look it up.<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>

Results stand in the same turn, so the model ends it behind its calls. With thinking off the prompt ends in an empty thought.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.notation import ArgumentsReader, Notation
from dragoman.dialects.notation_grammar import Writing
from dragoman.dialects.table import Edge, Holds, State, Table

_QUOTE: Final = '<|"|>'

NOTATION: Final = Notation(quotes=(_QUOTE, '"'), raw=frozenset({_QUOTE}), closer="}")
WRITING: Final = Writing(
    opener="{", closer="}", assign=":", separator=",", whole=("", ""), quote=_QUOTE, sorts_keys=True
)
"""Keys are sorted, as the template sorts them in declarations and past calls."""

TABLE: Final = Table(
    {
        "text": State(
            holds=Holds.TEXT,
            edges={
                "<|channel>": Edge("thought"),
                "<channel|>": Edge("text"),
                "<|tool_call>": Edge("calling", tentative=True),
            },
        ),
        "thought": State(
            holds=Holds.REASONING,
            edges={"thought\n": Edge("reasoning"), "<channel|>": Edge("text")},
            otherwise="reasoning",
        ),
        "reasoning": State(holds=Holds.REASONING, edges={"<channel|>": Edge("text")}),
        "calling": State(holds=Holds.SPACE, edges={"call:": Edge("name")}),
        "name": State(holds=Holds.NAME, edges={"{": Edge("arguments")}),
        "arguments": State(
            holds=Holds.BODY,
            body=lambda _: ArgumentsReader(NOTATION),
            then=Edge("called", ends=True),
            controls=frozenset({_QUOTE}),
        ),
        "called": State(holds=Holds.SPACE, edges={"<tool_call|>": Edge("text")}, otherwise="text"),
    }
)
