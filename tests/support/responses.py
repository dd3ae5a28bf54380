"""Bodies of the Responses surface, parsed and resolved in one step, with ids that can be foretold: ``msg_1``, ``fc_2`` and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count

import pytest

from dragoman.core.errors import InvalidRequest
from dragoman.core.json import JsonObject
from dragoman.core.request import Message
from dragoman.surfaces.responses import Responses
from dragoman.surfaces.responses_call import ResponsesCall
from dragoman.surfaces.responses_request import Request

SURFACE = Responses()


def minting() -> Callable[[], str]:
    numbers = count(1)
    return lambda: str(next(numbers))


def request_of(*, strict: bool = False, **body: object) -> Request:
    return SURFACE.parse({"input": "hi"} | body, strict=strict, mint=minting())  # type: ignore[arg-type]


def call_of(
    *, history: Sequence[JsonObject] = (), referred: Mapping[str, JsonObject] | None = None, **body: object
) -> ResponsesCall:
    return request_of(**body).resolve(history, referred)


def messages_of(*items: object, history: Sequence[JsonObject] = (), **body: object) -> tuple[Message, ...]:
    return call_of(input=list(items), history=history, **body).operation.prompt.messages  # type: ignore[union-attr]


def refusal(*, history: Sequence[JsonObject] = (), **body: object) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        call_of(history=history, **body)
    return caught.value
