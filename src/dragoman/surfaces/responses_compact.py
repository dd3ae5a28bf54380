"""A long conversation made short: what the client said stays, and a summary by the model takes the place of the rest.

The model writes the summary in an ordinary answer; the client gets it sealed, and sends it back as an item in the place of the turns
that it stands for. A conversation in which nobody said anything has an empty one, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dragoman.core.events import Usage
from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Conversation, Generate, Message, Role, TextPart, Thinking
from dragoman.surfaces.base import Stamp
from dragoman.surfaces.responses_call import ResponsesCall
from dragoman.surfaces.responses_object import usage_object
from dragoman.surfaces.sealed import seal

_WISH: Final = (
    "Summarise this conversation so that somebody who has not read it can carry on with it. Name the goal, what was decided, "
    "what was found out, names and values that matter, and what is still to be done. Write the summary alone."
)

MAX_SUMMARY_TOKENS: Final = 1024
"""Room for a summary that is worth having; a longer one would not make the conversation short."""


def summarising(call: ResponsesCall) -> Generate | None:
    """What the model is asked instead of the conversation's next turn; None where there is nothing to sum up."""
    prompt = call.operation.prompt
    if not isinstance(prompt, Conversation) or not prompt.messages:
        return None
    wish = Message(role=Role.USER, parts=(TextPart(text=_WISH),))
    asked = Conversation(messages=(*prompt.messages, wish), thinking=Thinking(enabled=False))
    limits = replace(call.operation.limits, max_tokens=MAX_SUMMARY_TOKENS)
    return Generate(prompt=asked, model=call.operation.model, limits=limits)


def compaction(items: Sequence[JsonObject], summary: str, usage: Usage | None, stamp: Stamp) -> JsonObject:
    """The ``response.compaction``: every user message of ``items``, then the one item that stands for all the others."""
    kept: list[Json] = [item for item in items if item.get("role") == "user" and item.get("type") == "message"]
    return {
        "id": f"resp_{stamp.id}",
        "object": "response.compaction",
        "created_at": stamp.created,
        "output": [*kept, {"type": "compaction", "id": f"cmp_{stamp.id}", "encrypted_content": seal(summary)}],
        "usage": usage_object(usage or Usage(prompt_tokens=0, completion_tokens=0)),
    }
