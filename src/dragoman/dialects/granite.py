"""Granite 3, whose calls are an array behind a control token. Granite 4 calls like Hermes.

<think>They want the weather.</think><response>I look it up.</response>
<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import JsonForm, Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_list import list_states
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_OPENERS: Final[dict[Terminal, Edge]] = {
    "<|tool_call|>": Edge("list", tentative=True),
    "<tool_call>": Edge("list", tentative=True),  # some spell it
}


def _prose(openers: dict[Terminal, Edge]) -> dict[str, State]:
    """With the tags around what is said behind thoughts."""
    states = prose({**openers, "<response>": Edge("response")})
    states["text"] = State(holds=Holds.TEXT, edges=openers)
    states["response"] = State(holds=Holds.TEXT, edges={**openers, "</response>": Edge("opening")})
    return states


SYNTAX: Final = Syntax(
    table=Table({**_prose(_OPENERS), **list_states()}),
    silent=Table(_prose({})),
    written=Written(
        opener="<|tool_call|>[",
        call=JsonForm(before='{"name": "', middle='", "arguments": ', after="}"),
        between=", ",
        after="]",
    ),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="granite")
