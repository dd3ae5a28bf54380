"""Calls, events and readers for tests of how the Responses surface answers."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dragoman.core.events import Accepted, ChoiceFinished, Finished, FinishReason, GenerationEvent, TextDelta, Usage
from dragoman.core.json import JsonObject
from dragoman.core.request import Generate, Readout, TextPrompt
from dragoman.surfaces.base import ServerEvent, Stamp
from dragoman.surfaces.responses_call import CallableTool, ResponsesCall
from dragoman.surfaces.responses_projector import ResponsesProjector

STAMP = Stamp(id="a1", created=1_764_489_600, model="smollm2")
ENDED = 1_764_489_607.9
"""What the clock says."""

ECHO: JsonObject = {
    "instructions": None,
    "tools": [],
    "tool_choice": "auto",
    "text": {"format": {"type": "text"}},
    "reasoning": {"effort": None, "summary": None},
    "truncation": "disabled",
    "temperature": 1.0,
    "top_p": 1.0,
    "top_logprobs": 0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "metadata": {},
    "store": True,
    "background": False,
    "service_tier": "default",
    "safety_identifier": None,
    "prompt_cache_key": None,
    "previous_response_id": None,
}

TOOLS = {
    "get_weather": CallableTool(name="get_weather"),
    "files__read": CallableTool(name="read", namespace="files"),
    "apply_patch": CallableTool(name="apply_patch", kind="custom"),
}

ACCEPTED = Accepted(prompt_tokens=5, cached_tokens=3)
STOP = ChoiceFinished(reason=FinishReason.STOP)
CUT = ChoiceFinished(reason=FinishReason.LENGTH)
CALLED = ChoiceFinished(reason=FinishReason.TOOL_CALLS)
FINISHED = Finished(usage=Usage(prompt_tokens=5, completion_tokens=9, cached_tokens=3, reasoning_tokens=4))
HELLO = [ACCEPTED, TextDelta(text="Hel"), TextDelta(text="lo"), STOP, FINISHED]


def asked(*, logprobs: int | None = None, **fields) -> ResponsesCall:
    """A call whose output text is described where ``logprobs`` is a number."""
    operation = Generate(prompt=TextPrompt(text="hi"), readout=Readout(logprobs=logprobs))
    return ResponsesCall(operation=operation, logprobs=logprobs is not None, echo=ECHO, tools=TOOLS, **fields)


def projector(call: ResponsesCall | None = None, *, queued: bool = False) -> ResponsesProjector:
    """One that is stamped with ``STAMP``, at ``ENDED``."""
    return ResponsesProjector(call or asked(), STAMP, clock=lambda: ENDED, queued=queued)


def fed(answer: ResponsesProjector, events: Iterable[GenerationEvent]) -> list[ServerEvent]:
    """All that it sends for these."""
    return [sent for event in events for sent in answer.feed(event)]


def read(sent: Iterable[ServerEvent]) -> list[dict]:
    """The data of the events; ``[DONE]`` is left out."""
    return [msgspec.json.decode(event.data) for event in sent if event.data != b"[DONE]"]


def told(events: Iterable[GenerationEvent], call: ResponsesCall | None = None) -> tuple[list[dict], dict]:
    """The whole stream, and the buffered object."""
    answer = projector(call)
    stream = read(fed(answer, events))
    return stream, msgspec.json.decode(msgspec.json.encode(answer.result()))
