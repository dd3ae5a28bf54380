"""Folds what the items of a conversation mean into messages.

A model's answer is one message, of which a client got several items: what it thought, said and called become one again. A call's
output must answer a call that is there, for no template could write it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from dragoman.core.request import Message, Part, Role, TextPart, ToolCall
from dragoman.surfaces.responses_entries import Answered, Called, Entry, Offered, Referred, Said, Thought
from dragoman.surfaces.responses_tools import Offer


def messages_of(entries: Iterable[Entry], offer: Offer) -> tuple[Message, ...]:
    """The turns. Raises ``InvalidRequest`` at an output whose call is not among them."""
    transcript = _Transcript(offer)
    for entry in entries:
        transcript.add(entry)
    return transcript.end()


class _Transcript:
    """The messages so far, and the answer that may still go on."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._messages: list[Message] = []
        self._thoughts: list[str] = []
        self._parts: list[Part] = []
        self._calls: list[ToolCall] = []
        self._known: set[str] = set()

    def add(self, entry: Entry) -> None:
        """What comes next."""
        match entry:
            case Thought(text=text):
                self._thoughts.append(text)
            case Said(role=Role.ASSISTANT, parts=parts):
                # What was said in two messages is two paragraphs.
                self._parts += (TextPart(text="\n\n"), *parts) if self._parts and parts else parts
            case Called():
                name = self._offer.name_of(entry.name, entry.namespace)
                self._calls.append(ToolCall(id=entry.call, name=name, arguments=entry.arguments))
                self._known.add(entry.call)
            case Said(role=role, parts=parts):
                self._answer_ends()
                self._messages.append(Message(role=role, parts=parts))
            case Answered(call=call, parts=parts, place=place):
                if call not in self._known:
                    raise place.wrong(f"{place.path} names a call that is neither in the input nor in what came before")
                self._answer_ends()
                self._messages.append(Message(role=Role.TOOL, parts=parts, tool_call_id=call))
            case Offered() | Referred():  # tools are on offer in the whole conversation; references were replaced
                pass
            case _:
                assert_never(entry)

    def end(self) -> tuple[Message, ...]:
        """All of them."""
        self._answer_ends()
        return tuple(self._messages)

    def _answer_ends(self) -> None:
        if self._thoughts or self._parts or self._calls:
            self._messages.append(
                Message(
                    role=Role.ASSISTANT,
                    parts=tuple(self._parts),
                    reasoning="\n\n".join(self._thoughts) or None,
                    tool_calls=tuple(self._calls),
                )
            )
        self._thoughts, self._parts, self._calls = [], [], []
