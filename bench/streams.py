"""What a client saw of one streamed completion. Pure: made from the recorded body, after the fact.

Reading JSON only once the answer is over keeps the client off the cores that the server computes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from bench.sse import Piece, events


class BrokenStream(Exception):
    """The server sent an error event, or a stream without its end, its usage or any text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One answer. Times are seconds on one clock; ``arrivals`` has one entry per event that carried text."""

    sent: float
    arrivals: tuple[float, ...]
    text: str
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int

    @property
    def time_to_first_token(self) -> float:
        """Seconds from the start of the request to its first text."""
        return self.arrivals[0] - self.sent

    @property
    def gaps(self) -> tuple[float, ...]:
        """Seconds between one token and the next."""
        return tuple(later - earlier for earlier, later in pairwise(self.arrivals))


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    text: str | None = None
    delta: _Delta = msgspec.field(default_factory=_Delta)


class _PromptDetails(msgspec.Struct):
    cached_tokens: int = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _PromptDetails | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: msgspec.Raw = msgspec.Raw(b"null")


_decoder = msgspec.json.Decoder(_Chunk)


def read_stream(sent: float, body: Sequence[Piece]) -> Stream:
    """Read a text or a chat completion's stream.

    Raises ``BrokenStream`` when it is not whole: a benchmark must not count the tokens of a failed answer.
    """
    arrivals: list[float] = []
    texts: list[str] = []
    usage: _Usage | None = None
    done = False
    for when, data in events(body):
        if data == b"[DONE]":
            done = True
            continue
        try:
            chunk = _decoder.decode(data)
        except msgspec.DecodeError as error:
            raise BrokenStream(f"{error}: {data[:200]!r}") from error
        if bytes(chunk.error) != b"null":
            raise BrokenStream(bytes(chunk.error).decode())
        usage = chunk.usage or usage
        text = "".join(choice.text or choice.delta.content or "" for choice in chunk.choices)
        if text:
            arrivals.append(when)
            texts.append(text)
    if not done or usage is None or not arrivals:
        raise BrokenStream(f"done: {done}, usage: {usage is not None}, events with text: {len(arrivals)}")
    details = usage.prompt_tokens_details
    return Stream(
        sent=sent,
        arrivals=tuple(arrivals),
        text="".join(texts),
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=details.cached_tokens if details else 0,
        output_tokens=usage.completion_tokens,
    )
