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

from dragoman.dialects.prose import prose
from dragoman.dialects.table import Edge, Holds, State, Table

TABLE: Final = Table(
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
