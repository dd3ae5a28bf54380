"""A request to the Messages surface between its parsing and its answer: what the client wants to see of the model's thoughts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.surfaces.base import Call

ThinkingDisplay: TypeAlias = Literal["summarized", "omitted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesCall(Call):
    """``thinking_display``: thoughts are told as they are, or left empty, with no more than a signature to give back (``omitted``)."""

    thinking_display: ThinkingDisplay = "summarized"
