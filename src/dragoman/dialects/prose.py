"""The part of a table that most families share: thoughts between two tags, the text, and what leads from it to calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.dialects.table import Edge, Holds, State, Terminal

THINK: Final = ("<think>", "</think>")


def prose(
    openers: Mapping[Terminal, Edge],
    *,
    think: tuple[str, str] | None = THINK,
    from_thoughts: Mapping[Terminal, Edge] | None = None,
) -> dict[str, State]:
    """The states ``start``, ``opening``, ``text`` and, with ``think``, ``thinking`` and ``reasoning``; an answer begins in one of them.

    White space at an answer's ``start`` is text if text follows; in ``opening``, behind thoughts and calls, it is not.

    ``openers`` lead to calls from all but thoughts, and ``from_thoughts`` from those, where a model may leave the closing tag out. Thoughts
    may also begin anew where a call ended, which leads to ``opening``; a closing tag without an opening one is hidden there.
    """
    if think is None:
        return {
            "start": State(holds=Holds.TEXT, edges=openers, otherwise="text"),
            "opening": State(holds=Holds.SPACE, edges=openers, otherwise="text"),
            "text": State(holds=Holds.TEXT, edges=openers),
        }
    opened, closed = think
    thoughts = {closed: Edge("opening"), **(from_thoughts or {})}
    beginning: dict[Terminal, Edge] = {opened: Edge("thinking"), closed: Edge("opening"), **openers}
    return {
        "start": State(holds=Holds.TEXT, edges=beginning, otherwise="text"),
        "opening": State(holds=Holds.SPACE, edges=beginning, otherwise="text"),
        "thinking": State(holds=Holds.SPACE, edges={opened: Edge("thinking"), **thoughts}, otherwise="reasoning"),
        "reasoning": State(holds=Holds.REASONING, edges=thoughts),
        "text": State(holds=Holds.TEXT, edges=openers),
    }
