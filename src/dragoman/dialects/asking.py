"""What a client asks of a model's thoughts (S61 to S63), in the words of families whose templates have words of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from dragoman.core.request import Conversation, Thinking

Asking: TypeAlias = Callable[[Conversation], Conversation]
"""Rewrites a conversation before the template gets it. What the family has no use for stays as it is, and is reported."""

THREE_EFFORTS: Final[Mapping[str, str]] = {"minimal": "low", "medium": "high", "xhigh": "max"}
"""For models that know low, high and max."""


def as_it_is(conversation: Conversation) -> Conversation:
    """For most families."""
    return conversation


def is_off(conversation: Conversation) -> bool:
    """Whether the client wants no thoughts, in its own words or in the template's."""
    thinking = conversation.thinking
    if conversation.template_args.get("enable_thinking", thinking.enabled) is not None:
        return not conversation.template_args.get("enable_thinking", thinking.enabled)
    return thinking.effort == "none"


def with_efforts(known: Mapping[str, str]) -> Asking:
    """Efforts in the family's words; ``none`` is no effort but a switch, which templates would take for an unknown word."""

    def asked(conversation: Conversation) -> Conversation:
        return replace(conversation, thinking=switched(conversation.thinking, known))

    return asked


def switched(thinking: Thinking, known: Mapping[str, str]) -> Thinking:
    """An effort in the family's words, and the switch that it also is where that was not set by itself (S62)."""
    if thinking.effort is None:
        return thinking
    enabled = thinking.enabled if thinking.enabled is not None else thinking.effort != "none"
    effort = None if thinking.effort == "none" else known.get(thinking.effort, thinking.effort)
    return replace(thinking, enabled=enabled, effort=effort)
