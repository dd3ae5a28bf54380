from __future__ import annotations

import msgspec
import pytest
from openai.types import Completion
from pydantic import TypeAdapter

from dragoman.core.errors import Code, EngineFailed
from dragoman.core.events import (
    Accepted,
    Alternative,
    ChoiceFinished,
    Finished,
    FinishReason,
    GenerationEvent,
    PromptRead,
    TextDelta,
    TokenRecord,
    Usage,
    Visibility,
)
from dragoman.core.request import Generate, Prompt, PromptBatch, Readout, TextPrompt, TokenPrompt
from dragoman.surfaces.base import Call, Stamp
from dragoman.surfaces.openai_completions_projector import CompletionProjector

STAMP = Stamp(id="1", created=1, model="m")
ONCE = TextPrompt(text="Once")
NOTHING = Readout()
USAGE = Usage(prompt_tokens=2, completion_tokens=1)
ACCEPTED = Accepted(prompt_tokens=2)
STOPPED = ChoiceFinished(reason=FinishReason.STOP)
FINISHED = Finished(usage=USAGE)


def call(*, n: int = 1, prompt: Prompt | PromptBatch = ONCE, readout: Readout = NOTHING, **fields) -> Call:
    return Call(operation=Generate(prompt=prompt, n=n, readout=readout), **fields)


def answer(asked: Call, events: list[GenerationEvent]) -> tuple[list[dict], dict]:
    """The stream's chunks without ``[DONE]``, and the buffered object."""
    projector = CompletionProjector(asked, STAMP)
    data = [event.data for item in events for event in projector.feed(item)]
    assert data.pop() == b"[DONE]"
    return [msgspec.json.decode(line) for line in data], msgspec.json.decode(msgspec.json.encode(projector.result()))


def shown(text: str, logprob: float | None = -1.0) -> TokenRecord:
    """A token, and what was likely in its place where it has a value."""
    itself = () if logprob is None else (Alternative(ord(text[0]), text.encode(), logprob),)
    return TokenRecord(id=ord(text[0]), text=text, data=text.encode(), logprob=logprob, alternatives=itself)


END = TokenRecord(
    id=2,
    text="",
    data=b"<eos>",
    logprob=-0.5,
    alternatives=(Alternative(2, b"<eos>", -0.5),),
    visibility=Visibility.CONTROL,
)
PROMPT = PromptRead(text="One two", tokens=(shown("One", None), shown(" two", -3.0)))


@pytest.mark.seeds("S2")
def test_what_is_sent_is_what_the_official_types_say():
    events = [ACCEPTED, TextDelta(text=" upon"), ChoiceFinished(reason=FinishReason.LENGTH), FINISHED]
    (text, finish, usage), whole = answer(call(include_usage=True), events)
    adapter = TypeAdapter(Completion)
    for chunk in (finish, usage):
        adapter.validate_python(chunk, strict=True)
    # The SDK's type has no null for a reason that is not known yet, though OpenAI's own server sends it.
    assert text["choices"][0].pop("finish_reason") is None
    text["choices"][0]["finish_reason"] = "stop"
    adapter.validate_python(text, strict=True)
    buffered = adapter.validate_python(whole, strict=True)
    assert (buffered.choices[0].text, buffered.choices[0].finish_reason) == (" upon", "length")


def test_logprobs_are_what_the_official_type_says():
    events = [ACCEPTED, TextDelta(text=" a b", tokens=(shown(" a"), shown(" b"))), STOPPED, FINISHED]
    _, whole = answer(call(readout=Readout(logprobs=1)), events)
    logprobs = TypeAdapter(Completion).validate_python(whole, strict=True).choices[0].logprobs
    assert logprobs.model_extra == {}
    assert logprobs.tokens == [" a", " b"]
    assert logprobs.top_logprobs == [{" a": -1.0}, {" b": -1.0}]


@pytest.mark.seeds("S42")
def test_choices_are_interleaved_in_the_stream_and_ordered_in_the_object():
    events = [
        ACCEPTED,
        TextDelta(choice=1, text="B"),
        TextDelta(choice=0, text="A"),
        ChoiceFinished(choice=1, reason=FinishReason.LENGTH),
        TextDelta(choice=0, text="a"),
        ChoiceFinished(choice=0, reason=FinishReason.STOP, stop="\n"),
        FINISHED,
    ]
    chunks, whole = answer(call(n=2), events)
    sent = [(choice["index"], choice["text"], choice["finish_reason"]) for (choice,) in (c["choices"] for c in chunks)]
    assert sent == [(1, "B", None), (0, "A", None), (1, "", "length"), (0, "a", None), (0, "", "stop")]
    told = [(choice["index"], choice["text"], choice["stop_reason"]) for choice in whole["choices"]]
    assert told == [(0, "Aa", "\n"), (1, "B", None)]


@pytest.mark.seeds("S95")
def test_a_batch_has_a_choice_for_each_answer_to_each_prompt():
    batch = PromptBatch(prompts=(TokenPrompt(ids=(1,)), TextPrompt(text="x"), TokenPrompt(ids=(2, 3))))
    events = [ACCEPTED]
    for index in (2, 0, 1):
        events += [TextDelta(choice=index, text=str(index)), ChoiceFinished(choice=index, reason=FinishReason.LENGTH)]
    _, whole = answer(call(prompt=batch), [*events, FINISHED])
    assert [(choice["index"], choice["text"]) for choice in whole["choices"]] == [(0, "0"), (1, "1"), (2, "2")]


@pytest.mark.seeds("S47", "S76", "S77", "S78")
def test_an_echoed_prompt_leads_the_text_and_the_arrays():
    events = [ACCEPTED, PROMPT, TextDelta(text=" three", tokens=(shown(" three", -0.25),)), STOPPED, FINISHED]
    chunks, whole = answer(call(readout=Readout(logprobs=1, echo=True)), events)
    assert [chunk["choices"][0]["text"] for chunk in chunks] == ["One two", " three", ""]
    assert chunks[1]["choices"][0]["logprobs"]["text_offset"] == [7]
    assert whole["choices"][0]["text"] == "One two three"
    assert whole["choices"][0]["logprobs"] == {
        "tokens": ["One", " two", " three"],
        "token_logprobs": [None, -3.0, -0.25],
        "top_logprobs": [None, {" two": -3.0}, {" three": -0.25}],
        "text_offset": [0, 3, 7],
    }


@pytest.mark.seeds("S47")
def test_an_echo_without_logprobs_is_text_alone():
    events = [ACCEPTED, PromptRead(text="One two"), TextDelta(text=" three"), STOPPED, FINISHED]
    chunks, whole = answer(call(readout=Readout(echo=True)), events)
    assert [chunk["choices"][0]["text"] for chunk in chunks] == ["One two", " three", ""]
    assert (whole["choices"][0]["text"], whole["choices"][0]["logprobs"]) == ("One two three", None)


@pytest.mark.seeds("S23", "S76")
def test_a_prompt_can_be_scored_without_a_token_of_answer():
    events = [ACCEPTED, PROMPT, ChoiceFinished(reason=FinishReason.LENGTH), FINISHED]
    _, whole = answer(call(readout=Readout(logprobs=1, echo=True)), events)
    assert whole["choices"][0]["text"] == "One two"
    assert whole["choices"][0]["logprobs"]["token_logprobs"] == [None, -3.0]


@pytest.mark.seeds("S77")
def test_without_an_echo_offsets_and_arrays_are_of_the_answer_alone():
    events = [ACCEPTED, PromptRead(tokens=PROMPT.tokens), TextDelta(text="x", tokens=(shown("x"),)), STOPPED, FINISHED]
    chunks, whole = answer(call(readout=Readout(logprobs=1, prompt_logprobs=0)), events)
    choice = whole["choices"][0]
    assert (choice["logprobs"]["tokens"], choice["logprobs"]["text_offset"]) == (["x"], [0])
    assert choice["prompt_logprobs"] == [None, {"32": {"logprob": -3.0, "rank": None, "decoded_token": " two"}}]
    assert chunks[0]["choices"][0]["text"] == ""


def test_the_end_token_has_its_place_in_the_arrays():
    events = [ACCEPTED, TextDelta(text="", tokens=(END,)), STOPPED, FINISHED]
    chunks, whole = answer(call(readout=Readout(logprobs=1)), events)
    assert whole["choices"][0]["logprobs"] == {
        "tokens": [""],
        "token_logprobs": [-0.5],
        "top_logprobs": [{"": -0.5}],
        "text_offset": [0],
    }
    assert chunks[0]["choices"][0]["logprobs"] == whole["choices"][0]["logprobs"]


def test_each_choice_has_its_own_offsets_and_prompt():
    events = [
        ACCEPTED,
        PromptRead(choice=1, text="Long", ids=(9,), tokens=(shown("Long", None),)),
        PromptRead(choice=0, text="I", ids=(8,), tokens=(shown("I", None),)),
        TextDelta(choice=1, text="b", tokens=(shown("b"),)),
        TextDelta(choice=0, text="a", tokens=(shown("a"),)),
        ChoiceFinished(choice=0, reason=FinishReason.STOP),
        ChoiceFinished(choice=1, reason=FinishReason.STOP),
        FINISHED,
    ]
    batch = PromptBatch(prompts=(TextPrompt(text="I"), TextPrompt(text="Long")))
    _, whole = answer(call(prompt=batch, readout=Readout(logprobs=1, echo=True, token_ids=True)), events)
    assert [choice["text"] for choice in whole["choices"]] == ["Ia", "Longb"]
    assert [choice["logprobs"]["text_offset"] for choice in whole["choices"]] == [[0, 1], [0, 4]]
    assert [choice["prompt_token_ids"] for choice in whole["choices"]] == [[8], [9]]
    assert [choice["token_ids"] for choice in whole["choices"]] == [[ord("a")], [ord("b")]]


def test_usage_so_far_is_in_every_chunk_where_it_was_asked_for():
    events = [ACCEPTED, TextDelta(text="a", generated=1), TextDelta(text="b", generated=3), STOPPED, FINISHED]
    chunks, _ = answer(call(include_usage=True, continuous_usage=True), events)
    assert [chunk["usage"]["total_tokens"] for chunk in chunks] == [3, 5, 5, 3]


def test_a_member_that_fails_ends_the_stream_in_one_error():
    projector = CompletionProjector(call(), STAMP)
    projector.feed(ACCEPTED)
    (sent,) = projector.fail(EngineFailed("decode failed", code=Code.ENGINE_ERROR))
    assert msgspec.json.decode(sent.data)["error"]["code"] == "engine_error"


def test_a_result_before_the_end_is_our_own_mistake():
    projector = CompletionProjector(call(), STAMP)
    with pytest.raises(RuntimeError):
        projector.result()
