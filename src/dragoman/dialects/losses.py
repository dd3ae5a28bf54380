"""Tells whether a template leaves out what was said: it may branch on roles, and have no branch for one.

Templates trim, escape and move texts, so a text need not stand in the prompt as it was sent. Hence the messages are marked, each in a
character of its own that occurs nowhere else, and the marks are looked for in what the template makes of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from dragoman.core.request import Message, Role, TextPart, ToolCall
from dragoman.dialects.pictures import stand_in

_TELLING: Final = 16
"""Characters of a text that does not stand in a prompt by chance."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Messages, and the marks that each must reach the prompt."""

    messages: tuple[Message, ...]
    marks: frozenset[str]


def endangers(messages: tuple[Message, ...], *, prompt: str = "") -> bool:
    """Whether there is anything that templates are known to leave out, and that is not seen in the ``prompt`` at once.

    That is the text of instructions and of turns whose neighbour has the same role, and calls that are not alone in their turn.
    Texts are looked for in their order, so that many of them cost one walk through the prompt.
    """
    if any(len(message.tool_calls) > 1 for message in messages):
        return True
    end = 0
    for text in (messages[index].text.strip() for index in _endangered(messages)):
        place = prompt.find(text, end) if len(text) >= _TELLING else -1
        if text and place < 0:
            return True
        end = max(end, place + len(text))
    return False


def marked(messages: tuple[Message, ...], free: Iterator[str], *, sent: tuple[Message, ...]) -> Marked:
    """The messages with a character from ``free`` on everything of that kind, on every call, and on what was not ``sent`` so.

    A picture becomes its mark, which is just what a template sees of it.
    """
    shown = stand_in(messages, free)
    marks = list(shown.pictures)
    turns = list(shown.messages)
    changed = frozenset(messages).difference(sent)
    doubtful = {*_endangered(messages), *(index for index, message in enumerate(messages) if message in changed)}
    texts = [index for index in sorted(doubtful) if messages[index].text.strip()]
    for index, mark in zip(texts, free, strict=False):
        marks.append(mark)
        turns[index] = replace(turns[index], parts=(*turns[index].parts, TextPart(text=mark)))
    renamed: dict[str, str] = {}
    for index, message in enumerate(messages):
        if message.tool_calls:
            calls = []
            for call, mark in zip(message.tool_calls, free, strict=False):
                marks.append(mark)
                calls.append(_marked_call(call, mark))
                renamed[call.id] = calls[-1].id
            turns[index] = replace(turns[index], tool_calls=(*calls, *message.tool_calls[len(calls) :]))
        elif message.tool_call_id in renamed:
            turns[index] = replace(turns[index], tool_call_id=renamed[message.tool_call_id])
    return Marked(tuple(turns), frozenset(marks))


def _endangered(messages: tuple[Message, ...]) -> Iterator[int]:
    alike = {i + k for i, (one, other) in enumerate(pairwise(messages)) if one.role is other.role for k in (0, 1)}
    for index, message in enumerate(messages):
        if message.role in (Role.SYSTEM, Role.DEVELOPER) or (index in alike and message.role is not Role.TOOL):
            yield index


def _marked_call(call: ToolCall, mark: str) -> ToolCall:
    """Marked in its name and its id, for some templates write just one of them, and with an id as long as before, which some check."""
    return replace(call, name=call.name + mark, id=call.id[:-1] + mark)
