"""Changes a conversation as little as needed for a template that refuses it, or that leaves out what was said (peers F 85).

Templates are written for the turns that a model was trained on: some know one system turn or none, some insist that user and assistant
take turns, some take one call a turn. Clients send what they like. Each repair here keeps all that was said, and is told to the client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from dragoman.core.request import Message, Part, Role, TextPart, ToolCall
from dragoman.dialects.messages import in_call_order, object_of

Messages: TypeAlias = tuple[Message, ...]

_INSTRUCTING: Final = frozenset({Role.SYSTEM, Role.DEVELOPER})
_JOINED: Final = frozenset({Role.USER, Role.ASSISTANT})
_GAP: Final = TextPart(text="\n\n")


@dataclass(frozen=True, slots=True)
class Repair:
    """A change of messages, and the word by which a client is told. What needs none, it returns as it is."""

    word: str
    apply: Callable[[Messages], Messages]


@dataclass(frozen=True, slots=True)
class Repaired:
    """Messages, and the words for what was changed in them, in the order of the changes."""

    messages: Messages
    words: tuple[str, ...] = ()


def repaired(messages: Messages, repairs: Iterable[Repair]) -> Repaired:
    """The messages after all of the ``repairs``, of which those that change nothing are not told."""
    words: list[str] = []
    for repair in repairs:
        changed = repair.apply(messages)
        if changed != messages:
            words.append(repair.word)
        messages = changed
    return Repaired(messages, tuple(words))


def least_repaired(messages: Messages, fits: Callable[[Messages], bool]) -> Repaired | None:
    """Messages that ``fits``, with no repair that could be left out; None where all of them together do not help.

    The messages as they are do not fit. Of repairs that can stand for each other, the one that changes less is kept. Asks at most twice
    for each repair.
    """
    chosen: tuple[Repair, ...] = ()
    for repair in REPAIRS:
        before, chosen = repaired(messages, chosen).messages, (*chosen, repair)
        after = repaired(messages, chosen).messages
        if after != before and fits(after):
            break
    else:
        return None
    for repair in reversed(chosen):
        fewer = tuple(kept for kept in chosen if kept is not repair)
        without = repaired(messages, fewer).messages
        if without == repaired(messages, chosen).messages or (without != messages and fits(without)):
            chosen = fewer
    return repaired(messages, chosen)


def first_change(before: Messages, after: Messages) -> int:
    """The index of the first message that is not as it was."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (old, new) in pairs if old != new), min(len(before), len(after)))


def _developer_as_system(messages: Messages) -> Messages:
    return tuple(
        replace(message, role=Role.SYSTEM) if message.role is Role.DEVELOPER else message for message in messages
    )


def _arguments_as_text(messages: Messages) -> Messages:
    """Arguments that are no object, as a model may have written them, become the one text in an object."""
    return tuple(replace(message, tool_calls=tuple(map(_wrapped, message.tool_calls))) for message in messages)


def _wrapped(call: ToolCall) -> ToolCall:
    if object_of(call.arguments) is not None:
        return call
    return replace(call, arguments=json.dumps({"arguments": call.arguments}, ensure_ascii=False))


def _system_in_place(messages: Messages) -> Messages:
    """What the system says after others have spoken, a user says there, so that the prompt's beginning stays as it was."""
    first = next((index for index, message in enumerate(messages) if message.role not in _INSTRUCTING), len(messages))
    later = (replace(turn, role=Role.USER) if turn.role in _INSTRUCTING else turn for turn in messages[first:])
    return (*messages[:first], *later)


def _system_merged(messages: Messages) -> Messages:
    instructing = [message for message in messages if message.role in _INSTRUCTING]
    if not instructing:
        return messages
    return (_joined(instructing), *(message for message in messages if message.role not in _INSTRUCTING))


def _roles_joined(messages: Messages) -> Messages:
    turns: list[list[Message]] = []
    for message in messages:
        if turns and _continues(turns[-1][-1], message):
            turns[-1].append(message)
        else:
            turns.append([message])
    return tuple(map(_joined, turns))


def _continues(before: Message, message: Message) -> bool:
    """Whether a message only goes on with what was said before it. After calls come their results, so there it does not."""
    return message.role in _JOINED and before.role is message.role and not before.tool_calls


def _system_in_user(messages: Messages) -> Messages:
    instructing = [message for message in messages if message.role in _INSTRUCTING]
    others = [message for message in messages if message.role not in _INSTRUCTING]
    if not instructing:
        return messages
    said = replace(_joined(instructing), role=Role.USER)
    if others and others[0].role is Role.USER:
        return (_joined([said, others[0]]), *others[1:])
    return (said, *others)


def _calls_split(messages: Messages) -> Messages:
    """One call a turn, each followed by its results."""
    turns: list[Message] = []
    waiting: list[Message] = []
    for message in in_call_order(messages):
        if message.role is Role.TOOL:
            while waiting and any(call.id == message.tool_call_id for turn in waiting for call in turn.tool_calls):
                turns.append(waiting.pop(0))
            turns.append(message)
            continue
        turns += waiting
        first, *waiting = _one_call_each(message)
        turns.append(first)
    return (*turns, *waiting)


def _one_call_each(message: Message) -> list[Message]:
    if len(message.tool_calls) < 2:
        return [message]
    first, *others = message.tool_calls
    bare = replace(message, parts=(), reasoning=None)
    return [replace(message, tool_calls=(first,)), *(replace(bare, tool_calls=(call,)) for call in others)]


def _text_in_reasoning(messages: Messages) -> Messages:
    """What an assistant thought and said before its calls becomes one thought: some templates take one of both."""
    return tuple(
        replace(message, parts=(), reasoning=f"{message.reasoning}{_GAP.text}{message.text}")
        if message.tool_calls and message.reasoning and message.text
        else message
        for message in messages
    )


def _joined(messages: Sequence[Message]) -> Message:
    """One message that says what all of them say; the last may call tools."""
    first, last = messages[0], messages[-1]
    if first is last:
        return first
    reasons = [message.reasoning for message in messages if message.reasoning]
    parts: list[Part] = []
    for message in messages:
        if message.parts:
            parts += (_GAP, *message.parts) if parts else message.parts
    return replace(
        first,
        parts=tuple(parts),
        name=first.name if len({message.name for message in messages}) == 1 else None,
        reasoning=_GAP.text.join(reasons) or None,
        tool_calls=last.tool_calls,
    )


DEVELOPER_AS_SYSTEM: Final = Repair("developer_as_system", _developer_as_system)
SYSTEM_IN_PLACE: Final = Repair("system_in_place", _system_in_place)

REPAIRS: Final = (
    Repair("arguments_as_text", _arguments_as_text),
    DEVELOPER_AS_SYSTEM,
    SYSTEM_IN_PLACE,
    Repair("system_merged", _system_merged),
    Repair("roles_joined", _roles_joined),
    Repair("system_in_user", _system_in_user),
    Repair("calls_split", _calls_split),
    Repair("text_in_reasoning", _text_in_reasoning),
)
"""All that are known, those that change less before those that change more."""
