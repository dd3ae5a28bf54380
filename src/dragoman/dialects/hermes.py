"""Calls as JSON objects in tags: Hermes, Qwen 2.5 and 3, Granite 4, SmolLM3 and many others.

    <think>
    They want the weather.
    </think>

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    </tool_call>

Each call has tags of its own. Templates of models that reason may open the reasoning in the prompt, or close it there.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import JsonForm, Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_body import JsonCall
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_OPENERS: Final[dict[Terminal, Edge]] = {"<tool_call>": Edge("call", tentative=True)}

SYNTAX: Final = Syntax(
    table=Table(
        {
            **prose(_OPENERS),
            "call": State(holds=Holds.BODY, call=JsonCall, then=Edge("closing", ends=True)),
            "closing": State(holds=Holds.SPACE, edges={"</tool_call>": Edge("opening"), **_OPENERS}, otherwise="text"),
        }
    ),
    written=Written(
        opener="<tool_call>",
        call=JsonForm(before='\n{"name": "', middle='", "arguments": ', after="}\n</tool_call>"),
        between="\n<tool_call>",
    ),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="hermes")
