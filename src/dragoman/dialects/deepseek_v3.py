"""DeepSeek-V3 and R1, and V3.1, whose calls are JSON between control tokens.

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
    ```json
    {"city": "Paris"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

V3.1 leaves the word and the fence out: the name stands before the separator, and the arguments behind it.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import JsonForm, Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
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


_FENCED: Final = _table(
    "kind",
    {
        "kind": State(holds=Holds.SYNTAX, edges={_SEPARATOR: Edge("name")}),
        "name": State(holds=Holds.NAME, edges={"```json": Edge("body"), "{": Edge("body", keep=True)}),
    },
)
_BARE: Final = _table("name", {"name": State(holds=Holds.NAME, edges={_SEPARATOR: Edge("body")})})

V3: Final = Syntax(
    table=_FENCED,
    written=Written(
        opener=_SECTION,
        call=JsonForm(before=f"{_CALL}function{_SEPARATOR}", middle="\n```json\n", after=f"\n```{_CALL_END}"),
        between="\n",
        after=_SECTION_END,
    ),
)
V3_1: Final = Syntax(
    table=_BARE,
    written=Written(
        opener=_SECTION,
        call=JsonForm(before=_CALL, middle=_SEPARATOR, after=_CALL_END),
        after=_SECTION_END,
    ),
)


def build_v3(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, V3, name="deepseek_v3")


def build_v3_1(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, V3_1, name="deepseek_v3_1")
