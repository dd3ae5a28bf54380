"""What the clients ask, as scripts that know no server: each yields requests and is sent the answers.

Prompts are random words of one token each (on the demo model), drawn from a generator keyed by workload,
round, number of clients and client. So every server is asked the same, and no server has seen a prompt before.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

Payload: TypeAlias = dict[str, object]

WORDS: Final = tuple(Path(__file__).with_name("words.txt").read_text().split())


@dataclass(frozen=True, slots=True)
class Request:
    """One streamed completion to ask for."""

    path: str
    payload: Payload


Script: TypeAlias = Generator[Request, str, None]
"""What one client does: requests out, the text of each answer in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which client this is, of how many, in which round. Rounds count from 0."""

    round: int
    clients: int
    client: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A load, and the numbers of clients that it is run with unless told otherwise."""

    name: str
    title: str
    script: Callable[[Place], Script]
    clients: tuple[int, ...]


def words(count: int, *key: object) -> str:
    """Random words that depend on the key alone."""
    generator = random.Random("/".join(map(str, key)))  # noqa: S311 - repeatable, and no secret
    return " ".join(generator.choices(WORDS, k=count))


def completion(prompt: str, max_tokens: int) -> Request:
    """Continue a raw text."""
    return Request("/v1/completions", {"prompt": prompt, **_streamed(max_tokens)})


def chat(messages: list[Payload], max_tokens: int) -> Request:
    """Answer a conversation."""
    return Request("/v1/chat/completions", {"messages": list(messages), **_streamed(max_tokens)})


def _streamed(max_tokens: int) -> Payload:
    return {
        "model": "default",
        "max_tokens": max_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def _distinct(place: Place) -> Script:
    """Few clients ask more often, so that a round is long enough to measure."""
    for turn in range(max(2, 8 // place.clients)):
        yield completion(words(40, "distinct", place.round, place.clients, place.client, turn), 32)


def _shared(place: Place) -> Script:
    """The system prompt is new in every round: cold for every server, shared only by this round's clients."""
    system = words(1000, "shared", place.round, place.clients)
    question = words(12, "shared", place.round, place.clients, place.client)
    yield chat([{"role": "system", "content": system}, {"role": "user", "content": question}], 32)


def _conversation(place: Place) -> Script:
    """Five turns, each with all that was said before."""
    messages: list[Payload] = []
    for turn in range(5):
        question = words(40, "conversation", place.round, place.clients, place.client, turn)
        messages.append({"role": "user", "content": question})
        answer = yield chat(messages, 32)
        messages.append({"role": "assistant", "content": answer})


def _contexts(place: Place) -> Script:
    """Decode, not prefill, is most of the time: eight streams that each attend to a context of their own."""
    yield completion(words(1000, "contexts", place.round, place.clients, place.client), 512)


WORKLOADS: Final = {
    workload.name: workload
    for workload in (
        Workload(
            name="distinct",
            title="distinct prompts of 40 words, 32 tokens out",
            script=_distinct,
            clients=(1, 4, 8, 16),
        ),
        Workload(
            name="shared",
            title="one cold shared 1,000-token system prompt, distinct questions, 32 tokens out",
            script=_shared,
            clients=(1, 4, 8, 16),
        ),
        Workload(
            name="conversation",
            title="five-turn conversations, 32 tokens out per turn",
            script=_conversation,
            clients=(1, 4, 8, 16),
        ),
        Workload(
            name="contexts",
            title="distinct 1,000-token contexts, 512 tokens out",
            script=_contexts,
            clients=(8,),
        ),
    )
}
