"""Llama 3.1 to 3.3 where their template asks for JSON: the answer is the call, and nothing marks it.

    {"name": "get_weather", "parameters": {"city": "Paris"}}

Hence only an answer that begins like this is a call, and only of a tool that was declared. Behind ``<|python_tag|>`` one may stand
anywhere; models that call several at once put a semicolon between.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import JsonForm, Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_body import JsonCall
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Control, Edge, Holds, State, Table, Terminal

_CALL: Final = Edge("call", tentative=True, keep=True)
_TAG: Final[dict[Terminal, Edge]] = {Control("<|python_tag|>"): Edge("tagged", tentative=True)}
_FIRST: Final[dict[Terminal, Edge]] = {"{": _CALL, **_TAG}

SYNTAX: Final = Syntax(
    table=Table(
        {
            **prose(_TAG, think=None),
            "start": State(holds=Holds.TEXT, edges=_FIRST, otherwise="text"),
            "tagged": State(holds=Holds.SPACE, edges={"{": Edge("call", keep=True)}),
            "call": State(holds=Holds.BODY, call=JsonCall, then=Edge("called", ends=True)),
            "called": State(holds=Holds.SPACE, edges={";": Edge("next", tentative=True), **_FIRST}, otherwise="text"),
            "next": State(holds=Holds.SPACE, edges={"{": Edge("call", keep=True), **_TAG}),
        }
    ),
    think=None,
    declared_only=True,
    written=Written(
        opener='{"name": "', call=JsonForm(before="", middle='", "parameters": ', after="}"), leads=True, single=True
    ),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="llama3")
