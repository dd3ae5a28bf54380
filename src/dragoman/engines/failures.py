"""What went wrong with an engine, in words for people and codes for programs. Pure."""

from __future__ import annotations

import re
from typing import Final

from dragoman.core.errors import Cancelled, Code, EngineFailed, InvalidRequest, ServiceError, Unsupported
from dragoman.core.json import JsonObject
from dragoman.engines.link import ExitStatus, LinkBroken
from dragoman.engines.submitting import NEEDS
from dragoman.protocol.errors import RemoteProtocolError
from dragoman.protocol.frames import Error, Fault, LoadFail

RETRY_AFTER: Final = 5
"""Seconds; loading a model takes a few."""

_LOAD_WORDS: Final = {
    "nomem": "there is not enough memory for it; try a smaller model, a smaller context or fewer slots",
    "io": "its file can not be read",
    "format": "its file is not a model that the engine can read",
    "unsupported": "the engine does not know this kind of model",
}

_PAIR: Final = re.compile(r"(\d+)\s+(\d+)\s*")
_WORDS: Final = re.compile(r"prompt_tokens=(\d+)\s+requested=(\d+)\s+capacity=(\d+)\s*")


def not_started(broken: LinkBroken) -> EngineFailed:
    """There was nothing to run."""
    return EngineFailed(f"The engine could not be started: {broken}.", code=Code.ENGINE_CRASHED)


def unwritable(broken: LinkBroken) -> EngineFailed:
    """A command could not be delivered (S108)."""
    return EngineFailed(f"The engine could not be written to: {broken}.", code=Code.ENGINE_CRASHED)


def broken_protocol(error: RemoteProtocolError) -> EngineFailed:
    """The framing is lost, and with it every request (S109)."""
    return EngineFailed(f"The engine broke the protocol: {error}.", code=Code.ENGINE_PROTOCOL)


def undescribed() -> EngineFailed:
    """An older engine, and nobody said what runs in it."""
    message = "The engine does not describe its model, and its context length and slots were not given."
    return EngineFailed(message, code=Code.ENGINE_PROTOCOL)


def silent(seconds: float) -> EngineFailed:
    """It runs, and does nothing."""
    message = f"The engine wrote nothing for {seconds:g} s while requests were running, and was stopped."
    return EngineFailed(message, code=Code.ENGINE_CRASHED)


def not_accepted(seconds: float) -> EngineFailed:
    """It was asked for what it had not announced (S88)."""
    message = f"The engine did not accept the request within {seconds:g} s; it may not know what was asked for."
    return EngineFailed(message, code=Code.ENGINE_TIMEOUT)


def still_loading() -> EngineFailed:
    """Try again."""
    return EngineFailed("The engine is still loading its model.", code=Code.ENGINE_LOADING, retry_after=RETRY_AFTER)


def shutting_down() -> EngineFailed:
    """We are going."""
    return EngineFailed("The server is shutting down.", code=Code.SHUTTING_DOWN, retry_after=RETRY_AFTER)


def load_failure(frame: LoadFail) -> EngineFailed:
    """The engine said itself why it could not load."""
    said = f" ({frame.detail})" if frame.detail else ""
    return EngineFailed(f"The model could not be loaded: {_LOAD_WORDS[frame.kind]}{said}.", code=Code.ENGINE_CRASHED)


def exit_failure(status: ExitStatus | None, *, loading: bool) -> EngineFailed:
    """The engine ended, or closed its output, without a word."""
    when = "while it loaded the model" if loading else "while it served"
    if status is None:
        message = f"The engine closed its output {when}."
    elif status.signal == "SIGILL":
        message = (
            f"The engine was killed by SIGILL {when}: it met an illegal instruction, one that this CPU does not have. "
            "It was built for another machine; run `dragoman doctor`, which tells which build suits this one."
        )
    elif status.signal == "SIGKILL" and loading:
        message = f"The engine was killed by SIGKILL {when}; the system does that when memory runs out."
    else:
        message = f"The engine {status} {when}."
    return EngineFailed(message, code=Code.ENGINE_CRASHED)


def request_failure(error: Error, *, ids: bool) -> ServiceError:
    """The error that a client gets for an ERROR frame; ``ids`` when the prompt was token ids (S93)."""
    detail = error.detail or error.code
    match error.code:
        case "CONTEXT_EXCEEDED":
            return _context_exceeded(error.detail)
        case "CANCELLED":
            return Cancelled("The request was cancelled.", code=Code.CANCELLED)
        case "NOT_SUPPORTED":
            return Unsupported(f"The engine does not support this: {detail}.", code=Code.UNSUPPORTED_VALUE)
        case "EMPTY_PROMPT":
            return InvalidRequest("The prompt is empty.", code=Code.INVALID_VALUE, feature="prompt")
        case "INVALID_TOKEN":
            return InvalidRequest(f"Not a token of this model: {detail}.", code=Code.INVALID_VALUE, feature="prompt")
        case "BAD_GRAMMAR":
            message = f"The engine can not hold an answer to this: {detail}."
            return InvalidRequest(message, code=Code.INVALID_VALUE, feature="grammar")
        case "BAD_IMAGE":
            message = f"The engine can not take a picture: {detail}."
            return InvalidRequest(message, code=Code.INVALID_IMAGE, feature="images")
        case "BAD_REQUEST" if (feature := _feature(error.detail)) is not None:
            _, _, reason = error.detail.partition(" ")
            message = f"The engine can not obey {feature}: it {reason or 'has a value of the wrong kind or range'}."
            return InvalidRequest(message, code=Code.INVALID_VALUE, feature=feature)
        case "BAD_REQUEST" if ids:
            # Older engines have no better word for an id that is outside their vocabulary.
            message = "The prompt has a token id that is not in the model's vocabulary."
            return InvalidRequest(message, code=Code.INVALID_VALUE, feature="prompt")
        case _:
            return EngineFailed(f"The engine refused the request: {detail}.", code=Code.ENGINE_ERROR)


def _feature(detail: str) -> str | None:
    """The key of an extension that the first word of a refusal names, without its inner field."""
    key = detail.partition(" ")[0].partition(".")[0]
    return key if key in NEEDS else None


def _context_exceeded(detail: str) -> InvalidRequest:
    """Both spellings of seeds.md 2.4; the message names both numbers, in the words that clients search for.

    ``details`` has them, too, for a contract whose clients search for other words.
    """
    details: JsonObject | None = None
    if pair := _PAIR.fullmatch(detail):
        used, limit = map(int, pair.groups())
        full = ", which leaves no room for an answer" if used <= limit else ""
        message = f"The maximum context length is {limit} tokens, but the prompt has {used}{full}."
        details = {"prompt_tokens": used, "context_length": limit}
    elif words := _WORDS.fullmatch(detail):
        prompt, requested, capacity = map(int, words.groups())
        message = (
            f"The maximum context length is {capacity} tokens, but the prompt has {prompt} tokens "
            f"and {requested} more were asked for."
        )
        details = {"prompt_tokens": prompt, "context_length": capacity, "requested_tokens": requested}
    else:
        message = f"The prompt is longer than the model's context ({detail or 'no numbers given'})."
    return InvalidRequest(message, code=Code.CONTEXT_LENGTH_EXCEEDED, feature="prompt", details=details)


def fault_failure(fault: Fault) -> EngineFailed:
    """The engine wrote nonsense within one request; the others are sound (seeds.md 1.0.5, S84)."""
    return EngineFailed(f"The engine broke the protocol in this request: {fault.detail}.", code=Code(fault.code))
