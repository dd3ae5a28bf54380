"""GLM from 4.5 to 5.3, whose calls are a name and pairs of tags.

    <tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>

The first of them wrote each tag on a line of its own. A value is written as it stands, so its closing tag ends it only where the next
tag follows.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.prose import prose
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_KEY: Final[dict[Terminal, Edge]] = {
    "<arg_key>": Edge("key"),
    "</tool_call>": Edge("opening", ends=True),
}

TABLE: Final = Table(
    {
        **prose({"<tool_call>": Edge("name", tentative=True)}),
        "name": State(holds=Holds.NAME, edges=_KEY),
        "pairs": State(holds=Holds.SPACE, edges=_KEY),
        "key": State(holds=Holds.KEY, edges={"</arg_key>": Edge("between")}),
        "between": State(holds=Holds.SPACE, edges={"<arg_value>": Edge("value")}),
        "value": State(holds=Holds.TYPED, edges={"</arg_value>": Edge("pairs", tentative=True)}),
    }
)
