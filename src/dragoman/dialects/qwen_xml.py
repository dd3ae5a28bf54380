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

from typing import Final

from dragoman.dialects.prose import THINK, prose
from dragoman.dialects.table import Edge, Holds, State, Table


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


_OPENERS: Final = {"<tool_call>": Edge("call", tentative=True)}

TABLE: Final = Table({**prose(_OPENERS, think=THINK), **function_states(lines=True)})
IN_ONE_LINE: Final = Table({**prose(_OPENERS, think=THINK), **function_states(lines=False)})
