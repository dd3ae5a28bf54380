"""GLM from 4.5 to 5.3, whose calls are a name and pairs of tags.

    <tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>

The first of them wrote each tag on a line of its own. A value is written as it stands, so its closing tag ends it only where the next
tag follows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dragoman.core.request import Conversation
from dragoman.dialects.asking import THREE_EFFORTS, switched
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.pairs_form import PairsForm
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_KEY: Final[dict[Terminal, Edge]] = {
    "<arg_key>": Edge("key"),
    "</tool_call>": Edge("opening", ends=True),
}

_TABLE: Final = Table(
    {
        **prose({"<tool_call>": Edge("name", tentative=True)}),
        "name": State(holds=Holds.NAME, edges=_KEY),
        "pairs": State(holds=Holds.SPACE, edges=_KEY),
        "key": State(holds=Holds.KEY, edges={"</arg_key>": Edge("between")}),
        "between": State(holds=Holds.SPACE, edges={"<arg_value>": Edge("value")}),
        "value": State(holds=Holds.TYPED, edges={"</arg_value>": Edge("pairs", tentative=True)}),
    }
)


_STOPS: Final = ("<|user|>", "<|observation|>")
"""Turns of others, into which a finished answer could slide (S28)."""


def _syntax(line: str) -> Syntax:
    """``line`` is what stands between tags."""
    return Syntax(
        table=_TABLE,
        written=Written(
            opener="<tool_call>",
            call=PairsForm(
                before="",
                middle=line,
                key="<arg_key>",
                assign=f"</arg_key>{line}<arg_value>",
                end=f"</arg_value>{line}",
                after="</tool_call>",
            ),
            between=f"{line}<tool_call>",
        ),
        stops=_STOPS,
    )


IN_LINES: Final = _syntax("\n")
SYNTAX: Final = _syntax("")


def weakened(conversation: Conversation) -> Conversation:
    """GLM-5.3 always thinks, and least where it shall not."""
    thinking = switched(conversation.thinking, THREE_EFFORTS)
    if thinking.enabled is None:
        return conversation
    effort = thinking.effort if thinking.enabled else "low"
    return replace(conversation, thinking=replace(thinking, enabled=None, effort=effort))


GLM_5_3: Final = replace(SYNTAX, asking=weakened)


def build_5_3(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, GLM_5_3, name="glm_5_3")


def build(traits: ModelTraits) -> FamilyDialect:
    """As the model's template writes calls: GLM-4.5 and 4.6 in lines. Raises ``ValueError`` as ``build_family`` does."""
    in_lines = "</arg_key>\n<arg_value>" in (traits.template or "")
    return build_family(traits, IN_LINES if in_lines else SYNTAX, name="glm")
