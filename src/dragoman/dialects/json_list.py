"""Calls as a JSON array behind one opener, which several families share.

<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.dialects.json_body import JsonCall
from dragoman.dialects.table import Edge, Holds, State, Terminal


def list_states(*, closers: Mapping[Terminal, Edge] | None = None) -> dict[str, State]:
    """The states ``list``, ``item`` and ``items``, and ``closing`` where the family writes something behind the array.

    ``list`` stands before the array, where an opener leads. ``closers`` lead out of ``closing``.
    """
    behind = "opening" if closers is None else "closing"
    states = {
        "list": State(holds=Holds.SPACE, edges={"[": Edge("item")}),
        "item": State(holds=Holds.BODY, call=JsonCall, then=Edge("items", ends=True)),
        "items": State(holds=Holds.SPACE, edges={",": Edge("item"), "]": Edge(behind)}),
    }
    if closers is not None:
        states["closing"] = State(holds=Holds.SPACE, edges=closers, otherwise="text")
    return states
