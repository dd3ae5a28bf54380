"""Mistral's models, whose calls are an array, or names that arguments follow.

    [TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "9fYbRe2pz"}]
    [TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}
    [TOOL_CALLS]get_weather[CALL_ID]9fYbRe2pz[ARGS]{"city": "Paris"}

The first until the tokenizer's version 7, the others since 11; the template tells which. Those that reason do so between ``[THINK]`` and
``[/THINK]``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import JsonForm, Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.json_list import list_states
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_THINK: Final = ("[THINK]", "[/THINK]")
_OPENERS: Final[dict[Terminal, Edge]] = {"[TOOL_CALLS]": Edge("called", tentative=True)}

_TABLE: Final = Table(
    {
        **prose(_OPENERS, think=_THINK),
        **list_states(),
        "called": State(holds=Holds.SPACE, edges={"[": Edge("item")}, otherwise="name"),
        "name": State(
            holds=Holds.NAME,
            edges={"[ARGS]": Edge("arguments"), "[CALL_ID]": Edge("id"), "{": Edge("arguments", keep=True)},
        ),
        "id": State(holds=Holds.SYNTAX, edges={"[ARGS]": Edge("arguments")}),
        "arguments": State(holds=Holds.BODY, body=lambda _: JsonArguments(), then=Edge("opening", ends=True)),
    }
)

_BY_NAME: Final = Written(opener="[TOOL_CALLS]", call=JsonForm(before="", middle="[ARGS]"), between="[TOOL_CALLS]")
_IN_LIST: Final = Written(
    opener="[TOOL_CALLS][",
    call=JsonForm(before='{"name": "', middle='", "arguments": ', after="}"),
    between=", ",
    after="]",
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    template = traits.template or ""
    written = _BY_NAME if "[ARGS]" in template else _IN_LIST
    if "[TOOL_CALLS] [" in template:  # the oldest had a blank there, which their tokens contain
        written = replace(_IN_LIST, opener="[TOOL_CALLS] [")
    return build_family(traits, Syntax(table=_TABLE, think=_THINK, written=written), name="mistral")
