"""How a client's wish about reasoning is told to a template: as the variables by which families know it.

Every family reads its own. All are set, and a template takes those that it reads; a wish of which it reads none has no effect.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Thinking

_SWITCHES: Final = (
    "enable_thinking",  # Qwen3, GLM from 4.5 on, Gemma 4, Nemotron, SmolLM3
    "thinking",  # DeepSeek from V3.1 on, Granite, Kimi K2.5
)

_KEEPING: Final = (
    "preserve_thinking",  # Qwen3.6, Kimi K2.6
    "keep_past_thinking",  # LFM2
)
_FORGETTING: Final = (
    "clear_thinking",  # GLM from 4.7 on
    "truncate_history_thinking",  # Nemotron 3
)


def variables(thinking: Thinking) -> JsonObject:
    """What to set for a template; nothing where the client left it to the model (S61 to S63)."""
    return {name: value for wish in _wishes(thinking).values() for name, value in wish.items()}


def unused(thinking: Thinking, free: AbstractSet[str]) -> tuple[str, ...]:
    """The wishes that have no effect on a template, by name; ``free`` are the variables that it reads and nobody else sets."""
    return tuple(name for name, wish in _wishes(thinking).items() if free.isdisjoint(wish))


def _wishes(thinking: Thinking) -> dict[str, dict[str, Json]]:
    """The variables that each wish would set. An effort is also a switch, unless that is set by itself (S62)."""
    wishes: dict[str, dict[str, Json]] = {}
    if thinking.enabled is not None:
        wishes["enable_thinking"] = dict.fromkeys(_SWITCHES, thinking.enabled)
    if thinking.effort is not None:
        switches = _SWITCHES if thinking.enabled is None else ()
        wishes["reasoning_effort"] = dict.fromkeys(switches, thinking.effort != "none")
        wishes["reasoning_effort"]["reasoning_effort"] = thinking.effort
    if thinking.preserve is not None:
        wishes["preserve_thinking"] = {
            **dict.fromkeys(_KEEPING, thinking.preserve),
            **dict.fromkeys(_FORGETTING, not thinking.preserve),
        }
    return wishes
