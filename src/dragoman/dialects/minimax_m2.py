"""MiniMax-M2, whose calls share a block of invocations.

    <minimax:tool_call>
    <invoke name="get_weather">
    <parameter name="city">Paris</parameter>
    </invoke>
    </minimax:tool_call>

A value is written as it stands, so its closing tag ends it only where the next tag follows.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.pairs_form import PairsForm
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table

_TABLE: Final = Table(
    {
        **prose({"<minimax:tool_call>": Edge("block", tentative=True)}),
        "block": State(
            holds=Holds.SPACE, edges={'<invoke name="': Edge("name"), "</minimax:tool_call>": Edge("opening")}
        ),
        "name": State(holds=Holds.NAME, edges={'">': Edge("parameters")}),
        "parameters": State(
            holds=Holds.SPACE, edges={'<parameter name="': Edge("key"), "</invoke>": Edge("block", ends=True)}
        ),
        "key": State(holds=Holds.KEY, edges={'">': Edge("value")}),
        "value": State(holds=Holds.TYPED, edges={"</parameter>": Edge("parameters", tentative=True)}),
    }
)

SYNTAX: Final = Syntax(
    table=_TABLE,
    written=Written(
        opener="<minimax:tool_call>",
        call=PairsForm(
            before='\n<invoke name="',
            middle='">\n',
            key='<parameter name="',
            assign='">',
            end="</parameter>\n",
            after="</invoke>",
        ),
        after="\n</minimax:tool_call>",
    ),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="minimax_m2")
