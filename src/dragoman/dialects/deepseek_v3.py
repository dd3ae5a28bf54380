"""DeepSeek-V3 and R1, and V3.1, whose calls are JSON between control tokens.

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
    ```json
    {"city": "Paris"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

V3.1 leaves the word and the fence out: the name stands before the separator, and the arguments behind it.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.prose import prose
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_SECTION, _SECTION_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL, _CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"


def _table(first: str, states: dict[str, State]) -> Table:
    next_call: dict[Terminal, Edge] = {_CALL: Edge(first), _SECTION_END: Edge("opening")}
    return Table(
        {
            **prose({_SECTION: Edge("section", tentative=True)}),
            "section": State(holds=Holds.SPACE, edges=next_call),
            **states,
            "body": State(
                holds=Holds.BODY,
                body=lambda _: JsonArguments(),
                then=Edge("closing", ends=True),
                edges={_CALL_END: Edge("section"), **next_call},
            ),
            "closing": State(holds=Holds.SYNTAX, edges={_CALL_END: Edge("section"), **next_call}),
        }
    )


FENCED: Final = _table(
    "kind",
    {
        "kind": State(holds=Holds.SYNTAX, edges={_SEPARATOR: Edge("name")}),
        "name": State(holds=Holds.NAME, edges={"```json": Edge("body"), "{": Edge("body", keep=True)}),
    },
)
BARE: Final = _table("name", {"name": State(holds=Holds.NAME, edges={_SEPARATOR: Edge("body")})})
