from __future__ import annotations

import msgspec
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
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
    TokenRecord,
    Usage,
    Visibility,
)
from dragoman.core.request import Conversation, Generate, Message, Readout, Role, TextPart
from dragoman.surfaces.base import Call, Stamp
from dragoman.surfaces.openai_chat_projector import ChatProjector

STAMP = Stamp(id="1", created=1_764_489_600, model="smollm2")
HI = Conversation(messages=(Message(role=Role.USER, parts=(TextPart(text="hi"),)),))
NOTHING = Readout()
USAGE = Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=3)
ACCEPTED = Accepted(prompt_tokens=5, cached_tokens=3)
EVENTS = [
    ACCEPTED,
    TextDelta(text="Par"),
    TextDelta(text="is"),
    ChoiceFinished(reason=FinishReason.STOP),
    Finished(usage=USAGE),
]


def call(*, n: int = 1, readout: Readout = NOTHING, **fields) -> Call:
    return Call(operation=Generate(prompt=HI, n=n, readout=readout), **fields)


def answer(asked: Call, events: list[GenerationEvent] = EVENTS) -> tuple[list[dict], dict]:
    """The stream's chunks without ``[DONE]``, and the buffered object."""
    projector = ChatProjector(asked, STAMP)
    data = [event.data for item in events for event in projector.feed(item)]
    assert data.pop() == b"[DONE]"
    return [msgspec.json.decode(line) for line in data], msgspec.json.decode(msgspec.json.encode(projector.result()))


def shown(text: str, logprob: float = -1.0) -> TokenRecord:
    return TokenRecord(id=ord(text[0]), text=text, data=text.encode(), logprob=logprob)


def end(logprob: float = -0.25) -> TokenRecord:
    return TokenRecord(id=2, text="", data=b"<|im_end|>", logprob=logprob, visibility=Visibility.CONTROL)


TWO = [
    ACCEPTED,
    TextDelta(choice=1, text="B", tokens=(shown("B"),)),
    TextDelta(choice=0, text="Aa", tokens=(shown("A"), shown("a"))),
    ChoiceFinished(choice=1, reason=FinishReason.LENGTH),
    TextDelta(choice=0, text="!", tokens=(shown("!"),)),
    TextDelta(choice=0, text="", tokens=(end(),)),
    ChoiceFinished(choice=0, reason=FinishReason.STOP, stop="x"),
    Finished(usage=USAGE),
]
"""Two choices that come about at the same time."""


@pytest.mark.parametrize("asked", [call(), call(include_usage=True)], ids=["plain", "usage"])
def test_what_is_sent_is_what_the_official_types_say(asked):
    chunks, whole = answer(asked)
    for chunk in chunks:
        TypeAdapter(ChatCompletionChunk).validate_python(chunk, strict=True)
    answered = TypeAdapter(ChatCompletion).validate_python(whole, strict=True)
    assert (answered.model_extra, answered.choices[0].message.model_extra) == ({}, {})
    assert answered.choices[0].model_extra == {"stop_reason": None}  # vLLM's


@pytest.mark.seeds("S42")
def test_the_official_accumulator_reads_interleaved_choices_as_the_buffered_object():
    chunks, whole = answer(call(n=2, readout=Readout(logprobs=1)), TWO)
    state = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
    told, direct = state.current_completion_snapshot, ChatCompletion.model_validate(whole)
    assert [choice.message.content for choice in direct.choices] == ["Aa!", "B"]
    for folded, buffered in zip(told.choices, direct.choices, strict=True):
        assert folded.message.content == buffered.message.content
        assert folded.finish_reason == buffered.finish_reason
        assert folded.logprobs.content == buffered.logprobs.content


def test_the_reason_is_null_until_the_end_and_the_role_is_said_once():
    chunks, _ = answer(call())
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, None, "stop"]
    roles = [chunk["choices"][0]["delta"].get("role", "absent") for chunk in chunks]
    assert roles == ["assistant", "absent", "absent", "absent"]


@pytest.mark.seeds("S42")
def test_every_choice_begins_at_once_in_its_order():
    opening = ChatProjector(call(n=3), STAMP).feed(ACCEPTED)
    choices = [msgspec.json.decode(event.data)["choices"][0] for event in opening]
    assert [choice["index"] for choice in choices] == [0, 1, 2]
    assert [choice["delta"] for choice in choices] == [{"role": "assistant", "content": "", "refusal": None}] * 3


@pytest.mark.seeds("S53")
def test_usage_is_null_in_every_chunk_but_the_last():
    chunks, whole = answer(call(n=2, include_usage=True), TWO)
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == whole["usage"]


def test_there_is_no_usage_key_in_a_stream_that_did_not_ask():
    chunks, _ = answer(call())
    assert all("usage" not in chunk for chunk in chunks)


def test_usage_so_far_is_in_every_chunk_where_it_was_asked_for():
    events = [
        ACCEPTED,
        TextDelta(choice=1, text="B", generated=2),
        ReasoningDelta(choice=0, text="?", generated=1),
        TextDelta(choice=0, text="A", generated=4),
        ChoiceFinished(choice=1, reason=FinishReason.STOP, generated=3),
        ChoiceFinished(choice=0, reason=FinishReason.STOP, generated=5),
        Finished(usage=Usage(prompt_tokens=5, completion_tokens=8, cached_tokens=3, reasoning_tokens=2)),
    ]
    chunks, _ = answer(call(n=2, include_usage=True, continuous_usage=True), events)
    # Two openings, then 2, 2 + 1, 2 + 4, 3 + 4 and 3 + 5 tokens, and what the end says.
    assert [chunk["usage"]["completion_tokens"] for chunk in chunks] == [0, 0, 2, 3, 6, 7, 8, 8]
    assert [chunk["usage"]["total_tokens"] for chunk in chunks] == [5, 5, 7, 8, 11, 12, 13, 13]
    assert all(chunk["usage"]["prompt_tokens_details"] == {"cached_tokens": 3} for chunk in chunks)
    reasoning = [chunk["usage"]["completion_tokens_details"]["reasoning_tokens"] for chunk in chunks]
    assert reasoning == [0, 0, 0, 1, 1, 1, 1, 2]


@pytest.mark.seeds("S52")
def test_reasoning_is_a_field_of_its_own_in_the_stream_and_in_the_message():
    events = [
        ACCEPTED,
        ReasoningDelta(text="Hm"),
        ReasoningDelta(text="m."),
        TextDelta(text="Yes"),
        ChoiceFinished(reason=FinishReason.STOP),
        Finished(usage=Usage(prompt_tokens=5, completion_tokens=4, reasoning_tokens=3)),
    ]
    chunks, whole = answer(call(), events)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[1:]]
    assert deltas == [{"reasoning_content": "Hm"}, {"reasoning_content": "m."}, {"content": "Yes"}, {}]
    message = whole["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("Hmm.", "Yes")
    assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": 3}


@pytest.mark.seeds("S71", "S83")
def test_each_delta_has_the_rows_of_its_own_tokens():
    chunks, whole = answer(call(n=2, readout=Readout(logprobs=0)), TWO)
    said = [
        (choice["index"], choice["delta"]["content"], [row["token"] for row in choice["logprobs"]["content"]])
        for choice in (chunk["choices"][0] for chunk in chunks)
        if choice["logprobs"] is not None
    ]
    # The delta of three tokens has three rows; the one of the control token alone is not sent.
    assert said == [(1, "B", ["B"]), (0, "Aa", ["A", "a"]), (0, "!", ["!"])]
    for choice in whole["choices"]:
        assert "".join(row["token"] for row in choice["logprobs"]["content"]) == choice["message"]["content"]
        assert choice["logprobs"]["refusal"] is None


@pytest.mark.seeds("S83")
def test_reasoning_is_not_described_by_rows():
    events = [
        ACCEPTED,
        ReasoningDelta(text="Hm", tokens=(shown("Hm"),)),
        TextDelta(text="Yes", tokens=(shown("Yes"),)),
        ChoiceFinished(reason=FinishReason.STOP),
        Finished(usage=USAGE),
    ]
    chunks, whole = answer(call(readout=Readout(logprobs=0)), events)
    assert chunks[1]["choices"][0]["logprobs"] is None
    assert [row["token"] for row in whole["choices"][0]["logprobs"]["content"]] == ["Yes"]


def test_logprobs_are_null_in_every_choice_that_did_not_ask_and_empty_where_nothing_came():
    chunks, whole = answer(call())
    assert all(chunk["choices"][0]["logprobs"] is None for chunk in chunks)
    assert whole["choices"][0]["logprobs"] is None
    nothing = [ACCEPTED, ChoiceFinished(reason=FinishReason.LENGTH), Finished(usage=USAGE)]
    _, whole = answer(call(readout=Readout(logprobs=1)), nothing)
    assert whole["choices"][0]["logprobs"] == {"content": [], "refusal": None}


def test_token_ids_are_of_everything_that_was_generated():
    events = [
        ACCEPTED,
        PromptRead(ids=(10, 11)),
        ReasoningDelta(text="Hm", tokens=(shown("Hm"),)),
        TextDelta(text="Y", tokens=(shown("Y"),)),
        TextDelta(text="", tokens=(end(),)),
        ChoiceFinished(reason=FinishReason.STOP),
        Finished(usage=USAGE),
    ]
    chunks, whole = answer(call(readout=Readout(token_ids=True)), events)
    assert whole["prompt_token_ids"] == [10, 11]
    assert whole["choices"][0]["token_ids"] == [ord("H"), ord("Y"), 2]
    assert [chunk["choices"][0].get("token_ids") for chunk in chunks] == [None, None, [ord("H")], [ord("Y")], [2], None]
    assert [chunk.get("prompt_token_ids") for chunk in chunks] == [None, [10, 11], None, None, None, None]
    # A reader that takes choices[0] of every chunk, as most do, finds one.
    assert chunks[1]["choices"][0]["delta"] == {}


def test_the_prompt_is_reported_once_however_many_choices_read_it():
    events = [*TWO]
    events[1:1] = [PromptRead(choice=1, ids=(10, 11)), PromptRead(choice=0, ids=(10, 11))]
    chunks, whole = answer(call(n=2, readout=Readout(token_ids=True)), events)
    assert [chunk["prompt_token_ids"] for chunk in chunks if "prompt_token_ids" in chunk] == [[10, 11]]
    assert whole["prompt_token_ids"] == [10, 11]


def test_prompt_logprobs_stand_beside_the_choices():
    events = [ACCEPTED, PromptRead(tokens=(TokenRecord(id=1, text="", data=b"<s>"), shown("h"))), *EVENTS[1:]]
    _, whole = answer(call(readout=Readout(prompt_logprobs=0)), events)
    assert whole["prompt_logprobs"] == [None, {"104": {"logprob": -1.0, "rank": None, "decoded_token": "h"}}]


@pytest.mark.parametrize("stop", ["</s>", 151643, None])
def test_what_a_choice_stopped_at_is_told_as_vllm_tells_it(stop):
    events = [ACCEPTED, ChoiceFinished(reason=FinishReason.STOP, stop=stop), Finished(usage=USAGE)]
    chunks, whole = answer(call(), events)
    assert chunks[-1]["choices"][0]["stop_reason"] == stop
    assert whole["choices"][0]["stop_reason"] == stop


def test_a_stream_whose_second_choice_fails_ends_in_one_error_and_no_done():
    projector = ChatProjector(call(n=2), STAMP)
    for event in TWO[:4]:
        projector.feed(event)
    (sent,) = projector.fail(EngineFailed("decode failed", code=Code.ENGINE_ERROR))
    assert msgspec.json.decode(sent.data)["error"]["message"] == "decode failed"


@pytest.mark.parametrize("events", [EVENTS[:1], EVENTS[:-1]], ids=["accepted", "choice finished"])
def test_a_result_before_the_end_is_our_own_mistake(events):
    projector = ChatProjector(call(), STAMP)
    for event in events:
        projector.feed(event)
    with pytest.raises(RuntimeError):
        projector.result()


def test_a_result_with_a_choice_that_never_ended_is_our_own_mistake():
    projector = ChatProjector(call(n=2), STAMP)
    for event in EVENTS:
        projector.feed(event)
    with pytest.raises(RuntimeError):
        projector.result()


def test_names_that_look_like_the_templates_hole_are_kept():
    projector = ChatProjector(call(), Stamp(id="1", created=1, model="a\0b", fingerprint="\0"))
    chunk = msgspec.json.decode(projector.feed(TextDelta(text="x"))[0].data)
    assert (chunk["model"], chunk["system_fingerprint"]) == ("a\0b", "\0")
    assert chunk["choices"][0]["delta"] == {"content": "x"}
