"""Qwen3-Coder, Qwen3.5, 3.6 and 3.8, which call in tags of their own, and think but for the first.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Paris
    </parameter>
    </function>
    </tool_call>

A value is one line or many, between two newlines that are not its own. Nothing in it is escaped, so a closing tag ends it only where
the next tag follows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dragoman.core.request import Conversation
from dragoman.dialects.asking import is_off, with_efforts
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.pairs_form import PairsForm
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

OPENERS: Final[dict[Terminal, Edge]] = {"<tool_call>": Edge("call", tentative=True)}


def function_states(*, lines: bool) -> dict[str, State]:
    """The states of one call, from behind ``<tool_call>`` on; ``lines``: values stand on lines of their own."""
    ends = ("\n</parameter>", "</parameter>") if lines else ("</parameter>",)
    return {
        "call": State(holds=Holds.SPACE, edges={"<function=": Edge("name")}),
        "name": State(holds=Holds.NAME, edges={">": Edge("parameters")}),
        "parameters": State(
            holds=Holds.SPACE,
            edges={
                "<parameter=": Edge("key"),
                "</function>": Edge("called", ends=True),
                "</tool_call>": Edge("opening", ends=True),
            },
        ),
        "key": State(
            holds=Holds.KEY, edges={">": Edge("value"), ">\n": Edge("value")} if lines else {">": Edge("value")}
        ),
        "value": State(holds=Holds.TYPED, edges={end: Edge("parameters", tentative=True) for end in ends}),
        "called": State(holds=Holds.SPACE, edges={"</tool_call>": Edge("opening")}),
    }


SYNTAX: Final = Syntax(
    table=Table({**prose(OPENERS), **function_states(lines=True)}),
    written=Written(
        opener="<tool_call>",
        call=PairsForm(
            before="\n<function=",
            middle=">\n",
            key="<parameter=",
            assign=">\n",
            end="\n</parameter>\n",
            after="</function>\n</tool_call>",
        ),
        between="\n<tool_call>",
    ),
)


def keeping(conversation: Conversation) -> Conversation:
    """Qwen3.6 keeps the thoughts of earlier turns, empty as they are, where it shall have none, so that prompts grow at their end (S63)."""
    if conversation.thinking.preserve is None and is_off(conversation):
        return replace(conversation, thinking=replace(conversation.thinking, preserve=True))
    return conversation


QWEN3_6: Final = replace(SYNTAX, asking=keeping)
QWEN3_8: Final = replace(SYNTAX, asking=with_efforts({"minimal": "low", "high": "xhigh", "max": "xhigh"}))


def build_coder(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="qwen3_coder")


def build_3_6(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, QWEN3_6, name="qwen3_6")


def build_3_8(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, QWEN3_8, name="qwen3_8")
