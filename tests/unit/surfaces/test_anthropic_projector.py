from __future__ import annotations

import json

import msgspec
import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types import Usage as AnthropicUsage
from pydantic import TypeAdapter

from dragoman.core.errors import Code, EngineFailed
from dragoman.core.events import (
    Accepted,
    ChoiceFinished,
    Finished,
    FinishReason,
    GenerationEvent,
    PromptRead,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Usage,
)
from dragoman.core.request import Conversation, Generate, OutputLimits, Role, TextPart
from dragoman.core.request import Message as Turn
from dragoman.surfaces.anthropic_call import MessagesCall
from dragoman.surfaces.anthropic_projector import AnthropicProjector
from dragoman.surfaces.base import Stamp
from dragoman.surfaces.sealed import unseal
from support.event_order import messages

STAMP = Stamp(id="1", created=1_764_489_600, model="smollm2", request_id="req_4")
HI = Conversation(messages=(Turn(role=Role.USER, parts=(TextPart(text="hi"),)),))
ACCEPTED = Accepted(prompt_tokens=50, cached_tokens=32)
STOPPED = ChoiceFinished(reason=FinishReason.STOP, generated=7)
CALLED = ChoiceFinished(reason=FinishReason.TOOL_CALLS, generated=7)
FINISHED = Finished(usage=Usage(prompt_tokens=50, completion_tokens=7, cached_tokens=32, reasoning_tokens=3))

PLAIN = [TextDelta(text="Par"), TextDelta(text="is"), STOPPED]
THOUGHT = [ReasoningDelta(text="Hm"), ReasoningDelta(text="m."), TextDelta(text="Paris"), STOPPED]
CALL = [
    ToolCallBegun(index=0, name="weather"),
    ToolCallArguments(index=0, text='{"city": "P'),
    ToolCallArguments(index=0, text='aris"}'),
    ToolCallEnded(index=0),
]
AGENT = [
    ReasoningDelta(text="Which?"),
    TextDelta(text="Let me see."),
    *CALL,
    ToolCallBegun(index=1, name="now"),
    ToolCallEnded(index=1),
    CALLED,
]
CUT = [*CALL[:2], ChoiceFinished(reason=FinishReason.LENGTH, generated=7)]


def call(max_tokens: int | None = 100, **fields) -> MessagesCall:
    limits = OutputLimits(max_tokens=max_tokens)
    return MessagesCall(operation=Generate(prompt=HI, limits=limits), **fields)


def answer(events: list[GenerationEvent], asked: MessagesCall | None = None) -> tuple[list[dict], dict]:
    """The stream's events, each of the official type and all in the right order, and the buffered object."""
    projector = AnthropicProjector(asked or call(), STAMP)
    told = [event for item in (ACCEPTED, *events, FINISHED) for event in projector.feed(item)]
    assert messages.violations(b"".join(event.encode() for event in told)) == []
    return [msgspec.json.decode(event.data) for event in told], json.loads(msgspec.json.encode(projector.result()))


def accumulated(events: list[dict]) -> dict:
    """The message that Anthropic's SDK makes of a stream."""
    snapshot, buffers = None, {}
    for event in events:
        read = TypeAdapter(RawMessageStreamEvent).validate_python(event, strict=True)
        snapshot = accumulate_event(event=read, current_snapshot=snapshot, json_bufs=buffers)
    return snapshot.to_dict()


def shapes(events: list[dict]) -> list[str]:
    """Types of events and deltas, with the index of the block that they belong to."""
    return [
        event["type"] if "index" not in event else f"{event.get('delta', event)['type']}@{event['index']}"
        for event in events
    ]


@pytest.mark.seeds("S114", "S158")
@pytest.mark.parametrize("display", ["summarized", "omitted"])
@pytest.mark.parametrize(
    "events", [PLAIN, THOUGHT, AGENT, CUT, [STOPPED]], ids=["text", "thought", "agent", "cut", "no"]
)
def test_the_official_accumulator_reads_a_stream_as_the_buffered_object(events, display):
    told, whole = answer(events, call(thinking_display=display))
    assert accumulated(told) == whole
    TypeAdapter(Message).validate_python(whole, strict=True)


@pytest.mark.seeds("S2", "S118", "S119", "S158")
def test_an_answer_is_told_block_by_block_in_the_order_in_which_it_came():
    told, whole = answer(AGENT)
    assert shapes(told) == [
        "message_start",
        "content_block_start@0",
        "thinking_delta@0",
        "signature_delta@0",
        "content_block_stop@0",
        "content_block_start@1",
        "text_delta@1",
        "content_block_stop@1",
        "content_block_start@2",
        "input_json_delta@2",
        "input_json_delta@2",
        "content_block_stop@2",
        "content_block_start@3",
        "content_block_stop@3",
        "message_delta",
        "message_stop",
    ]
    assert whole["id"] == "msg_1"
    assert [block["type"] for block in whole["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert whole["content"][2:] == [
        {"type": "tool_use", "id": "toolu_1_0", "name": "weather", "input": {"city": "Paris"}},
        {"type": "tool_use", "id": "toolu_1_1", "name": "now", "input": {}},
    ]
    assert (whole["stop_reason"], whole["stop_sequence"]) == ("tool_use", None)


def test_text_after_a_call_is_a_block_of_its_own():
    _, whole = answer(
        [TextDelta(text="a"), *CALL, TextDelta(text="b"), ReasoningDelta(text="c"), TextDelta(text="d"), CALLED]
    )
    assert [block["type"] for block in whole["content"]] == ["text", "tool_use", "text", "thinking", "text"]


def test_empty_deltas_open_no_block_and_write_nothing():
    told, whole = answer([ReasoningDelta(text=""), TextDelta(text=""), *CALL, CALLED])
    assert [block["type"] for block in whole["content"]] == ["tool_use"]
    told, _ = answer([TextDelta(text="a"), TextDelta(text=""), STOPPED])
    assert shapes(told).count("text_delta@0") == 1


def test_the_whole_message_has_every_key_of_the_official_types():
    told, whole = answer(THOUGHT)
    for message in (told[0]["message"], whole):
        assert set(message) == set(Message.model_fields)
        assert set(message["usage"]) == set(AnthropicUsage.model_fields)


@pytest.mark.seeds("S114")
def test_usage_is_true_at_the_start_and_said_again_at_the_end():
    """50 tokens of prompt, of which 32 were cached, are 18 and 32 (wire.md, finding 9)."""
    told, whole = answer(THOUGHT)
    read = {"input_tokens": 18, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 32}
    start, delta = told[0]["message"]["usage"], told[-2]["usage"]
    assert start.items() >= {**read, "output_tokens": 0}.items()
    assert delta == {**read, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 3}}
    assert whole["usage"].items() >= delta.items()
    assert (start["service_tier"], whole["usage"]["service_tier"]) == ("standard", "standard")


@pytest.mark.parametrize(
    ("finished", "max_tokens", "reason", "sequence"),
    [
        (STOPPED, 100, "end_turn", None),
        (CALLED, 100, "tool_use", None),
        (ChoiceFinished(reason=FinishReason.STOP, stop="END", generated=7), 100, "stop_sequence", "END"),
        (ChoiceFinished(reason=FinishReason.STOP, stop=42, generated=7), 100, "end_turn", None),
        (ChoiceFinished(reason=FinishReason.LENGTH, generated=7), 7, "max_tokens", None),
        (ChoiceFinished(reason=FinishReason.LENGTH, generated=0), 0, "max_tokens", None),
        (ChoiceFinished(reason=FinishReason.LENGTH, generated=7), 8, "model_context_window_exceeded", None),
        (ChoiceFinished(reason=FinishReason.LENGTH, generated=7), None, "model_context_window_exceeded", None),
    ],
)
def test_an_end_has_anthropics_word_for_it(finished, max_tokens, reason, sequence):
    """A stop sequence is named (peers.md 103); a token's id is none."""
    events = [*(CALL if reason == "tool_use" else [TextDelta(text="x")]), finished]
    told, whole = answer(events, call(max_tokens=max_tokens))
    ending = {"stop_reason": reason, "stop_sequence": sequence, "stop_details": None}
    assert told[-2]["delta"] == ending
    assert whole.items() >= ending.items()


def test_a_prompt_that_is_only_read_has_no_content():
    told, whole = answer([ChoiceFinished(reason=FinishReason.LENGTH)], call(max_tokens=0))
    assert shapes(told) == ["message_start", "message_delta", "message_stop"]
    assert (whole["content"], whole["stop_reason"]) == ([], "max_tokens")


@pytest.mark.seeds("S57")
def test_a_call_that_the_budget_cut_is_closed_and_has_what_was_certain():
    cut = [
        ToolCallArguments(index=0, text='{"days": 2, "city": "Pa'),
        ChoiceFinished(reason=FinishReason.LENGTH, generated=7),
    ]
    told, whole = answer([ToolCallBegun(index=0, name="weather"), *cut], call(max_tokens=7))
    assert shapes(told)[-3:] == ["content_block_stop@0", "message_delta", "message_stop"]
    assert whole["content"][0]["input"] == {"days": 2}
    assert whole["stop_reason"] == "max_tokens"


def test_arguments_reach_the_client_as_the_model_wrote_them():
    """Neither a float nor UTF-8 could carry these."""
    events = [
        ToolCallBegun(index=0, name="f"),
        ToolCallArguments(index=0, text='{"n": 1e999, "s": "\\ud83d"}'),
        ToolCallEnded(index=0),
        CALLED,
    ]
    projector = AnthropicProjector(call(), STAMP)
    for event in (ACCEPTED, *events, FINISHED):
        projector.feed(event)
    assert b'"input":{"n": 1e999, "s": "\\ud83d"}' in msgspec.json.encode(projector.result())


def test_a_shown_thought_is_signed_and_its_signature_says_no_more():
    _, whole = answer(THOUGHT)
    assert whole["content"][0]["thinking"] == "Hmm."
    assert unseal(whole["content"][0]["signature"]) == ""


def test_an_omitted_thought_is_in_its_signature_alone():
    told, whole = answer(THOUGHT, call(thinking_display="omitted"))
    assert shapes(told)[1:5] == [
        "content_block_start@0",
        "signature_delta@0",
        "content_block_stop@0",
        "content_block_start@1",
    ]
    assert whole["content"][0]["thinking"] == ""
    assert unseal(whole["content"][0]["signature"]) == "Hmm."
    assert "Hm" not in json.dumps(told)


@pytest.mark.seeds("S155")
def test_a_failure_after_the_commit_is_an_error_event_and_no_end():
    """peers.md 108."""
    projector = AnthropicProjector(call(), STAMP)
    for event in (ACCEPTED, TextDelta(text="x")):
        projector.feed(event)
    (event,) = projector.fail(EngineFailed("the engine was killed", code=Code.ENGINE_CRASHED))
    assert event.event == "error"
    assert msgspec.json.decode(event.data) == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "the engine was killed"},
        "request_id": "req_4",
    }


@pytest.mark.seeds("S114")
def test_a_silence_is_filled_with_pings():
    assert AnthropicProjector(call(), STAMP).keepalive() == b'event: ping\ndata: {"type":"ping"}\n\n'


def test_a_prompt_that_was_read_is_not_told():
    assert AnthropicProjector(call(), STAMP).feed(PromptRead(text="hi")) == []


def test_there_is_no_message_before_the_end():
    projector = AnthropicProjector(call(), STAMP)
    projector.feed(ACCEPTED)
    with pytest.raises(RuntimeError):
        projector.result()
