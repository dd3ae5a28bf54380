"""What the programs in Python share: where the servers are, what is asked, and how a case is told to be done."""

from __future__ import annotations

import sys

from pydantic import BaseModel

DEMO, PLAYER = sys.argv[1:3]
"""Addresses without ``/v1``: the demo model, and the model that plays scenes."""

QUESTION = "What is the weather in Paris?"
SCENE = f"{QUESTION} [scene: weather]"
"""The playing model thinks, calls ``get_weather`` for Paris and repeats the result."""

DEATH = f"{QUESTION} [scene: dies]"
THOUGHT = "They want the weather."
RESULT = "Sunny, 21 degrees."
PERSON = "Bob is 31 years old."


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def ok(case: str, *, called: object = True, text: str | None = "text", result: bool = False) -> None:
    """Say that a case is done. ``called`` must be something, and ``text`` an answer; with ``result`` it repeats that of the tool."""
    assert called, f"{case}: no call"
    assert text, f"{case}: no answer"
    assert "<tool_call" not in text, f"{case}: {text}"
    assert not result or RESULT in text, f"{case}: {text}"
    print(f"ok {case}", flush=True)
