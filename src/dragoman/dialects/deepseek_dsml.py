"""DeepSeek from V3.2 on, whose calls are tags with a token of their own in them (DSML).

    <｜DSML｜tool_calls>
    <｜DSML｜invoke name="get_weather">
    <｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>
    <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜tool_calls>

V3.2 calls the block ``function_calls``, V4.1 ``calls``, and that has a blank before the name of every tag. All three are read. A block may
also come where a model forgot to close its thoughts.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.asking import THREE_EFFORTS, Asking, as_it_is, with_efforts
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import Written
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.pairs_form import PairsForm
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_OPEN, _CLOSE = "<｜DSML｜", "</｜DSML｜"
_OPENERS: Final[dict[Terminal, Edge]] = {_OPEN: Edge("opened", tentative=True)}
_BLOCKS: Final = ("tool_calls>", "function_calls>", "calls>")

_TABLE: Final = Table(
    {
        **prose(_OPENERS, from_thoughts=_OPENERS),
        "opened": State(holds=Holds.SPACE, edges={name: Edge("block") for name in _BLOCKS}),
        "block": State(holds=Holds.SPACE, edges={_OPEN: Edge("invocation"), _CLOSE: Edge("closed")}),
        "closed": State(holds=Holds.SPACE, edges={name: Edge("opening") for name in _BLOCKS}),
        "invocation": State(holds=Holds.SPACE, edges={'invoke name="': Edge("name")}),
        "name": State(holds=Holds.NAME, edges={'">': Edge("parameters")}),
        "parameters": State(
            holds=Holds.SPACE,
            edges={_OPEN: Edge("parameter"), _CLOSE: Edge("invoked"), "{": Edge("object", keep=True)},
        ),
        "parameter": State(holds=Holds.SPACE, edges={'parameter name="': Edge("key")}),
        "key": State(
            holds=Holds.KEY,
            edges={
                '" string="true">': Edge("string"),
                '" string="false">': Edge("json"),
                '">': Edge("typed"),
            },
        ),
        "string": State(holds=Holds.STRING, edges={_CLOSE: Edge("value_closed", tentative=True)}),
        "json": State(holds=Holds.JSON, edges={_CLOSE: Edge("value_closed", tentative=True)}),
        "typed": State(holds=Holds.TYPED, edges={_CLOSE: Edge("value_closed", tentative=True)}),
        "value_closed": State(holds=Holds.SPACE, edges={"parameter>": Edge("parameters")}),
        "object": State(holds=Holds.BODY, body=lambda _: JsonArguments(), then=Edge("parameters")),
        "invoked": State(holds=Holds.SPACE, edges={"invoke>": Edge("block", ends=True)}),
    }
)


def _syntax(block: str, *, blank: str = "", asking: Asking = as_it_is) -> Syntax:
    """``block`` is what the block is called, and ``blank`` stands before each tag's name."""
    return Syntax(
        table=_TABLE,
        written=Written(
            opener=f"{_OPEN}{blank}{block}>",
            call=PairsForm(
                before=f'\n{_OPEN}{blank}invoke name="',
                middle='">\n',
                key=f'{_OPEN}{blank}parameter name="',
                assign='" string="true">',
                assign_json='" string="false">',
                end=f"{_CLOSE}{blank}parameter>\n",
                after=f"{_CLOSE}{blank}invoke>",
            ),
            after=f"\n{_CLOSE}{blank}{block}>",
        ),
        asking=asking,
    )


V3_2: Final = _syntax("function_calls")
V4: Final = _syntax("tool_calls", asking=with_efforts(THREE_EFFORTS))
V4_1: Final = _syntax("calls", blank=" ", asking=with_efforts(THREE_EFFORTS))


def build_v3_2(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, V3_2, name="deepseek_v3_2")


def build_v4(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, V4, name="deepseek_v4")


def build_v4_1(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, V4_1, name="deepseek_v4_1")
