"""Phi-4-mini, whose calls are an array between two control tokens, or behind a word.

<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]<|/tool_call|>
functools[{"name": "get_weather", "arguments": {"city": "Paris"}}]
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects import generic
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import JsonForm, Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_list import list_states
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Table, Terminal

_OPENERS: Final[dict[Terminal, Edge]] = {
    "<|tool_call|>": Edge("list", tentative=True),
    "functools[": Edge("item", tentative=True),
}

SYNTAX: Final = Syntax(
    table=Table({**prose(_OPENERS), **list_states(closers={"<|/tool_call|>": Edge("opening"), **_OPENERS})}),
    written=Written(
        opener="<|tool_call|>[",
        call=JsonForm(before='{"name": "', middle='", "arguments": ', after="}"),
        between=", ",
        after="]<|/tool_call|>",
    ),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    dialect = build_family(traits, SYNTAX, name="phi")
    return dialect if dialect.template.knows_tools else generic.build(traits, name="phi")
