"""MiMo, which calls as Qwen's coders do, but in one line.

    <tool_call><function=get_weather><parameter=city>Paris</parameter></function></tool_call>

White space around a value is its own.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.pairs_form import PairsForm
from dragoman.dialects.prose import prose
from dragoman.dialects.qwen_xml import OPENERS, function_states
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Table

SYNTAX: Final = Syntax(
    table=Table({**prose(OPENERS), **function_states(lines=False)}),
    written=Written(
        opener="<tool_call>",
        call=PairsForm(
            before="<function=",
            middle=">",
            key="<parameter=",
            assign=">",
            end="</parameter>",
            after="</function></tool_call>",
        ),
        between="<tool_call>",
    ),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="mimo")
