"""Checkers of whole streams, one for each contract: whether events come in the order, and add up to what the contract says (S2).

They know the contracts from outside, by their documents and the SDKs' types, and nothing of how we make a stream.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from support.event_order import chat, completions, messages, responses


def violations(path: str, body: Any, stream: bytes) -> list[str]:
    """What is wrong with the stream that answered this request. A path that no contract has, has no rules."""
    route, _, query = path.partition("?")
    options = (body.get("stream_options") or {}) if isinstance(body, dict) else {}
    asked = {"usage": bool(options.get("include_usage")), "continuous": bool(options.get("continuous_usage_stats"))}
    match route.removeprefix("/v1").split("/"):
        case ["", "chat", "completions"]:
            return chat.violations(stream, **asked)
        case ["", "completions"]:
            return completions.violations(stream, **asked)
        case ["", "messages"]:
            return messages.violations(stream)
        case ["", "responses"]:
            return responses.violations(stream)
        case ["", "responses", _]:
            after = parse_qs(query).get("starting_after")
            return responses.violations(stream, after=int(after[0]) if after else None)
    return []
