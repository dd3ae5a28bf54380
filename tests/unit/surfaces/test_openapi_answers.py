"""What surfaces answer has the shapes that the published document gives it: tapes of three, and runs of the fourth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from anthropic.types import RawMessageStreamEvent
from jsonschema import Draft202012Validator
from openai.types.responses import ResponseStreamEvent

from dragoman.core.errors import Code, EngineFailed
from dragoman.core.events import ReasoningDelta, ToolCallArguments, ToolCallBegun, ToolCallEnded
from dragoman.surfaces.openapi import document
from support.response_answers import ACCEPTED, CALLED, CUT, FINISHED, HELLO, asked, fed, projector, read, told
from support.responses import call_of

DOCUMENT = json.loads(json.dumps(document(version="1.2.3")))
SCHEMAS = DOCUMENT["components"]["schemas"]
TAPES = Path(__file__).parents[2] / "golden" / "tapes"


def accepts(name: str, value: object) -> bool:
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return Draft202012Validator(schema).is_valid(value)


def members(union: object) -> tuple:
    """The types of an SDK's union."""
    return get_args(get_args(union)[0])


SHAPES_OF = {
    "chat": ("ChatCompletion", "ChatCompletionChunk", "Error"),
    "completions": ("Completion", "CompletionChunk", "Error"),
    "messages": ("Message", "MessageEvent", "MessagesError"),
}
"""Of what a surface answers: the whole, an event, a failure."""


@pytest.mark.parametrize("path", sorted(TAPES.glob("*.tape")), ids=lambda path: path.stem)
def test_what_the_tapes_hold_has_the_shapes_that_are_published(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    (surface,) = (line.removeprefix("surface ") for line in lines if line.startswith("surface "))
    whole, event, failure = SHAPES_OF[surface]
    for line in lines:
        if line.startswith("< ") and "data: {" in line:
            value = json.loads(line.partition("data: ")[2])
            assert accepts(failure if "error" in value else event, value), line
        if line.startswith("= "):
            assert accepts(whole, json.loads(line.removeprefix("= "))), line


THOUGHT = ReasoningDelta(text="Hm.")


def calling(name: str, *pieces: str) -> list:
    arguments = [ToolCallArguments(index=0, text=piece) for piece in pieces]
    return [ToolCallBegun(index=0, name=name), *arguments, ToolCallEnded(index=0)]


RESPONSES = [
    pytest.param(HELLO, asked(), id="text"),
    pytest.param(HELLO, asked(logprobs=2), id="described text"),
    pytest.param([ACCEPTED, CUT, FINISHED], asked(), id="nothing"),
    pytest.param([ACCEPTED, THOUGHT, CUT, FINISHED], asked(summaries=True), id="a summary that was cut"),
    pytest.param([ACCEPTED, THOUGHT, *HELLO[1:]], asked(encrypted=True), id="thought"),
    pytest.param([ACCEPTED, *calling("files__read", '{"a":', "1}"), CALLED, FINISHED], asked(), id="call"),
    pytest.param([ACCEPTED, *calling("apply_patch", '{"input":"x"}'), CALLED, FINISHED], asked(), id="custom call"),
]


@pytest.mark.parametrize("events, call", RESPONSES)
def test_what_responses_tells_has_the_shapes_that_are_published(events, call):
    call = replace(call, echo=call_of().echo)
    stream, whole = told(events, call)
    assert [event["type"] for event in stream if not accepts("ResponseEvent", event)] == []
    assert accepts("Response", whole)
    assert not accepts("Response", whole | {"surprise": 1})
    del stream[0]["sequence_number"]
    assert not accepts("ResponseEvent", stream[0])


def test_a_response_that_breaks_has_the_shapes_that_are_published():
    answer = projector()
    sent = read([*fed(answer, [ACCEPTED]), *answer.fail(EngineFailed("lost", code=Code.ENGINE_CRASHED))])
    assert [event["type"] for event in sent] == [
        "response.created",
        "response.in_progress",
        "error",
        "response.failed",
    ]
    assert [event["type"] for event in sent if not accepts("ResponseEvent", event)] == []


def test_every_event_that_messages_and_responses_have_is_one_that_the_sdks_know_or_that_ends_or_rests_a_stream():
    def known(union: object) -> set[str]:
        return {kind for event in members(union) for kind in get_args(event.model_fields["type"].annotation)}

    def ours(name: str) -> set[str]:
        return {schema.removeprefix(f"{name}.") for schema in SCHEMAS if schema.startswith(f"{name}.")}

    assert ours("MessageEvent") == known(RawMessageStreamEvent) | {"ping"}
    assert ours("ResponseEvent") <= known(ResponseStreamEvent)
