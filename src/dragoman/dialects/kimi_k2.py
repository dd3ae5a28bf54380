"""Kimi-K2, whose calls have ids that hold the tool's name.

    <|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|>
    <|tool_calls_section_end|>

(one line in truth).
"""

from __future__ import annotations

import re
from typing import Final

from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.prose import prose
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_ID: Final = re.compile(r"\s*(?:functions\.)?(?P<name>.*?)(?::\d+)?\s*", re.DOTALL)


def named(call_id: str) -> str:
    """The tool's name in an id: ``functions.get_weather:0`` calls ``get_weather``."""
    match = _ID.fullmatch(call_id)
    assert match is not None
    return match["name"]


_NEXT: Final[dict[Terminal, Edge]] = {
    "<|tool_call_begin|>": Edge("id"),
    "<|tool_call_end|>": Edge("section"),
    "<|tool_calls_section_end|>": Edge("opening"),
}

TABLE: Final = Table(
    {
        **prose({"<|tool_calls_section_begin|>": Edge("section", tentative=True)}),
        "section": State(holds=Holds.SPACE, edges=_NEXT),
        "id": State(holds=Holds.NAME, read=named, edges={"<|tool_call_argument_begin|>": Edge("body")}),
        "body": State(holds=Holds.BODY, body=lambda _: JsonArguments(), then=Edge("section", ends=True), edges=_NEXT),
    }
)
