"""Kimi-K3, whose answer is channels of XML in which control tokens take the place of brackets (XTML).

    <|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>
    <|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>

(one line in truth). The prompt opens the first channel, ``think`` or ``response``. What stands in none is text.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_OPEN, _CLOSE, _SEPARATOR = "<|open|>", "<|close|>", "<|sep|>"

_CHANNELS: Final[dict[Terminal, Edge]] = {_OPEN: Edge("opened", tentative=True), _CLOSE: Edge("closed", tentative=True)}
_ENDS: Final[dict[Terminal, Edge]] = {_CLOSE: Edge("argument_closed", tentative=True)}


def attribute(text: str) -> str:
    """What an attribute's value means."""
    return text.replace("&quot;", '"').replace("&amp;", "&")


def _tag(to: Edge) -> State:
    """The rest of a tag whose name is known, its attributes included."""
    return State(holds=Holds.SYNTAX, edges={_SEPARATOR: to})


TABLE: Final = Table(
    {
        "opening": State(holds=Holds.SPACE, edges=_CHANNELS, otherwise="text"),
        "thinking": State(holds=Holds.SPACE, edges=_CHANNELS, otherwise="reasoning"),
        "reasoning": State(holds=Holds.REASONING, edges=_CHANNELS),
        "text": State(holds=Holds.TEXT, edges=_CHANNELS),
        "opened": State(
            holds=Holds.SPACE,
            edges={"think": Edge("to_thinking"), "response": Edge("to_response"), "tools": Edge("to_tools")},
        ),
        "to_thinking": _tag(Edge("thinking")),
        "to_response": _tag(Edge("opening")),
        "to_tools": _tag(Edge("tools")),
        "closed": State(
            holds=Holds.SPACE,
            edges={name: Edge("to_opening") for name in ("think", "response", "tools", "message")},
        ),
        "to_opening": _tag(Edge("opening")),
        "tools": State(holds=Holds.SPACE, edges={_OPEN: Edge("call"), _CLOSE: Edge("closed")}),
        "call": State(holds=Holds.SPACE, edges={'call tool="': Edge("name")}),
        "name": State(holds=Holds.NAME, read=attribute, edges={'"': Edge("named")}),
        "named": _tag(Edge("arguments")),
        "arguments": State(holds=Holds.SPACE, edges={_OPEN: Edge("argument"), _CLOSE: Edge("called")}),
        "called": _tag(Edge("tools", ends=True)),
        "argument": State(holds=Holds.SPACE, edges={'argument key="': Edge("key"), "json": Edge("to_object")}),
        "key": State(
            holds=Holds.KEY, read=attribute, edges={'" type="string"': Edge("to_string"), '"': Edge("to_value")}
        ),
        "to_string": _tag(Edge("string")),
        "to_value": _tag(Edge("value")),
        "string": State(holds=Holds.STRING, edges=_ENDS),
        "value": State(holds=Holds.JSON, edges=_ENDS),
        "argument_closed": State(holds=Holds.SPACE, edges={"argument": Edge("to_arguments")}),
        "to_arguments": _tag(Edge("arguments")),
        "to_object": _tag(Edge("object")),
        "object": State(
            holds=Holds.BODY,
            body=lambda _: JsonArguments(),
            then=Edge("object_closed"),
            edges={_CLOSE: Edge("to_arguments")},
        ),
        "object_closed": State(holds=Holds.SPACE, edges={_CLOSE: Edge("to_arguments")}),
    }
)
