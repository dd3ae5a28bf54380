"""Ends a prompt inside its last message, so that the answer goes on there (S49, S64).

Only a template knows where it writes a message and what it adds behind it. So a bookmark, a character that occurs nowhere else, is put
behind the message's text, and the prompt ends where the template carried it. Transformers finds the place in the same way. A message
that holds nothing but reasoning goes on inside that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dragoman.core.json import JsonObject
from dragoman.core.request import Message
from dragoman.dialects.veil import free_characters


class NoOpenTurnError(Exception):
    """The template has no place where the last message could go on: it drops, cuts, trims or rewrites its end (S66)."""


def bookmark(texts: Iterable[str]) -> str:
    """A character that none of the ``texts`` holds. Raises ``NoOpenTurnError`` where there is none left."""
    mark = next(free_characters(texts), None)
    if mark is None:
        raise NoOpenTurnError
    return mark


def last_said(message: Message) -> str:
    """The text inside which a message goes on: what it said, or thought where it has said nothing yet."""
    return message.text or message.reasoning or ""


def marked(messages: Sequence[JsonObject], mark: str) -> list[JsonObject]:
    """The messages for a template, with the ``mark`` behind what the last of them has said last."""
    *others, last = messages
    names = ("content",) if last["content"] or "reasoning_content" not in last else ("reasoning_content", "thinking")
    return [*others, {**last, **{name: f"{last[name]}{mark}" for name in names}}]


def cut(written: str, mark: str) -> str:
    """What the template wrote before the last ``mark``, and without it. Raises ``NoOpenTurnError`` where there is none."""
    before, found, _ = written.rpartition(mark)
    if not found:
        raise NoOpenTurnError
    return before.replace(mark, "")


def check_end(prompt: str, said: str, *, tags: re.Pattern[str]) -> None:
    """Raises ``NoOpenTurnError`` unless the prompt ends with what was said, as it was said.

    Space before it may be gone, and whatever lies before the last of the template's own ``tags`` in it: families take reasoning out of
    a message by its tags, and write it elsewhere.
    """
    start = max((tag.end() for tag in tags.finditer(said)), default=0)
    if not prompt.endswith(said) and not prompt.rstrip().endswith(said[start:].strip()):
        raise NoOpenTurnError
