"""What the operator decides about the HTTP side, as plain values; ``compose`` fills it from the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dragoman.core.limits import MAX_BODY_BYTES
from dragoman.surfaces.openai_chat_choice import ReasoningField

KEEPALIVE_SECONDS: Final = 9.0
"""Silence on a stream before something is written: the promise is 10 s, and a busy loop may be late."""

READ_SECONDS: Final = 30.0
"""For a whole request body to arrive; ends those that send a byte at a time (seeds.md 3.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions:
    """``host`` is the address that is listened on. No ``keys`` means that everybody may call. Durations are seconds."""

    host: str = "127.0.0.1"
    keys: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    strict_fields: bool = False
    continue_assistant: bool = True
    reasoning_field: ReasoningField = "reasoning_content"
    keep_billing_header: bool = False
    keepalive: float = KEEPALIVE_SECONDS
    read_timeout: float = READ_SECONDS
    max_body: int = MAX_BODY_BYTES
