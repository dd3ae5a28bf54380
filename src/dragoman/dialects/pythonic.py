"""Llama 4, and Llama 3.2 where its template asks for it: calls in Python.

    [get_weather(city="Paris", days=3), now()]

An answer may begin like this and be a list or a link, so only the names of declared tools are calls. Llama 4 may put the list between
``<|python_start|>`` and ``<|python_end|>``; Llama 3 may write ``<|python_tag|>`` before it, or before one call as its own tools have it:
``brave_search.call(query="rain")``.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.notation import PYTHON, ArgumentsReader
from dragoman.dialects.notation_grammar import Writing
from dragoman.dialects.table import Control, Edge, Holds, State, Table

WRITING: Final = Writing(opener="(", closer=")", assign="=", separator=", ", whole=("(**", ")"))


def _tool(text: str) -> str:
    return text.strip().removesuffix(".call")


TABLE: Final = Table(
    {
        "text": State(
            holds=Holds.TEXT,
            edges={
                "[": Edge("name", tentative=True),
                Control("<|python_tag|>"): Edge("tagged", tentative=True),
            },
        ),
        "tagged": State(holds=Holds.SPACE, edges={"[": Edge("name")}, otherwise="name"),
        "name": State(holds=Holds.NAME, edges={"(": Edge("arguments")}, read=_tool),
        "arguments": State(holds=Holds.BODY, body=lambda _: ArgumentsReader(PYTHON), then=Edge("called", ends=True)),
        "called": State(holds=Holds.SPACE, edges={",": Edge("name"), "]": Edge("text")}, otherwise="text"),
    }
)
