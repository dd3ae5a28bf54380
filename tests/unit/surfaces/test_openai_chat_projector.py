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
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Usage,
    Visibility,
)
from dragoman.core.request import Conversation, Generate, Message, Readout, Role, TextPart
from dragoman.surfaces.base import Call, Stamp
from dragoman.surfaces.openai_chat import ChatCompletions
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


def answer(asked: Call, events: list[GenerationEvent] = EVENTS, **options) -> tuple[list[dict], dict]:
    """The stream's chunks without ``[DONE]``, and the buffered object."""
    projector = ChatProjector(asked, STAMP, **options)
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


class TestCalls:
    """Ids are ``call_``, the stamp's id, the choice and the call, so that none comes twice."""

    EVENTS = (
        ACCEPTED,
        TextDelta(text="Let me see."),
        ToolCallBegun(index=0, name="get_weather"),
        ToolCallArguments(index=0, text='{"city":"Par'),
        ToolCallArguments(index=0, text='is \N{SNOWMAN}"}'),
        ToolCallEnded(index=0),
        ToolCallBegun(index=1, name="now"),
        ToolCallArguments(index=1, text="{}"),
        ToolCallEnded(index=1),
        ChoiceFinished(reason=FinishReason.TOOL_CALLS),
        Finished(usage=USAGE),
    )
    CUT = (
        ACCEPTED,
        ToolCallBegun(index=0, name="f"),
        ToolCallArguments(index=0, text='{"a":'),
        ChoiceFinished(reason=FinishReason.LENGTH),
        Finished(usage=USAGE),
    )

    def deltas(self, chunks: list[dict]) -> list[dict]:
        return [choice["delta"] for chunk in chunks for choice in chunk["choices"]]

    @pytest.mark.seeds("S119")
    @pytest.mark.parametrize("asked", [call(), call(include_usage=True, continuous_usage=True)], ids=["plain", "usage"])
    def test_a_call_is_named_once_and_then_grows_at_its_index(self, asked):
        """peers.md 33, 37 and 43."""
        chunks, _ = answer(asked, self.EVENTS)
        assert self.deltas(chunks)[:8] == [
            {"role": "assistant", "content": "", "refusal": None},
            {"content": "Let me see."},
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "call_1_0_0",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": ""},
                    }
                ]
            },
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":"Par'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": 'is \N{SNOWMAN}"}'}}]},
            {
                "tool_calls": [
                    {"index": 1, "id": "call_1_0_1", "type": "function", "function": {"name": "now", "arguments": ""}}
                ]
            },
            {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
            {},
        ]
        # Every reason but the last is null (peers.md 40), and that is in the plural (peers.md 45).
        reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]]
        assert reasons == [None] * 7 + ["tool_calls"]

    @pytest.mark.seeds("S119")
    def test_a_message_has_its_calls_whole_beside_its_text(self):
        _, whole = answer(call(), self.EVENTS)
        message = whole["choices"][0]["message"]
        assert message["content"] == "Let me see."
        assert message["tool_calls"] == [
            {
                "id": "call_1_0_0",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city":"Paris \N{SNOWMAN}"}'},
            },
            {"id": "call_1_0_1", "type": "function", "function": {"name": "now", "arguments": "{}"}},
        ]

    def test_a_message_of_calls_alone_has_no_content(self):
        events = [event for event in self.EVENTS if not isinstance(event, TextDelta)]
        _, whole = answer(call(), events)
        assert whole["choices"][0]["message"]["content"] is None
        assert answer(call())[1]["choices"][0]["message"]["content"] == "Paris"
        assert "tool_calls" not in answer(call())[1]["choices"][0]["message"]

    @pytest.mark.seeds("S57")
    def test_a_call_that_the_budget_cut_ends_for_length_with_what_there_is_of_it(self):
        """peers.md 30."""
        chunks, whole = answer(call(), self.CUT)
        assert chunks[-1]["choices"][0]["finish_reason"] == "length"
        (choice,) = whole["choices"]
        assert choice["finish_reason"] == "length"
        assert choice["message"]["content"] is None
        assert choice["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a":'}

    @pytest.mark.parametrize(
        "form, word",
        [
            ({}, "tool_calls"),
            ({"named_call": True}, "stop"),
            ({"function_call": True}, "function_call"),
            ({"function_call": True, "named_call": True}, "stop"),
        ],
    )
    def test_the_reason_is_openais_for_the_choice_that_was_made(self, form, word):
        """peers.md 31: in both shapes the same."""
        chunks, whole = answer(call(**form), self.EVENTS)
        assert chunks[-1]["choices"][0]["finish_reason"] == word
        assert whole["choices"][0]["finish_reason"] == word
        assert answer(call(**form), self.CUT)[1]["choices"][0]["finish_reason"] == "length"
        assert answer(call(**form))[1]["choices"][0]["finish_reason"] == "stop"  # peers.md 28

    def test_the_older_form_has_one_call_in_a_field_of_its_own(self):
        chunks, whole = answer(call(function_call=True), self.EVENTS)
        assert self.deltas(chunks)[2:] == [
            {"function_call": {"name": "get_weather", "arguments": ""}},
            {"function_call": {"arguments": '{"city":"Par'}},
            {"function_call": {"arguments": 'is \N{SNOWMAN}"}'}},
            {},
            {},
            {},
        ]
        message = whole["choices"][0]["message"]
        assert message["function_call"] == {"name": "get_weather", "arguments": '{"city":"Paris \N{SNOWMAN}"}'}
        assert "tool_calls" not in message

    @pytest.mark.parametrize("asked", [call(), call(function_call=True)], ids=["tools", "functions"])
    def test_what_is_sent_is_what_the_official_types_say(self, asked):
        chunks, whole = answer(asked, self.EVENTS)
        for chunk in chunks:
            TypeAdapter(ChatCompletionChunk).validate_python(chunk, strict=True)
        answered = TypeAdapter(ChatCompletion).validate_python(whole, strict=True)
        assert answered.choices[0].message.model_extra == {}

    @pytest.mark.seeds("S119")
    def test_an_answer_is_taken_back_as_the_message_that_it_was(self):
        """peers.md 46: with the ids that the server made."""
        said = answer(call(), self.EVENTS)[1]["choices"][0]["message"]
        older = answer(call(function_call=True), self.EVENTS)[1]["choices"][0]["message"]
        results = [{"role": "tool", "tool_call_id": made["id"], "content": "3"} for made in said["tool_calls"]]
        body = {"messages": [said, *results, older, {"role": "function", "name": "get_weather", "content": "3"}]}
        turns = ChatCompletions().parse(body).operation.prompt.messages
        assert [[made.id for made in turn.tool_calls] for turn in turns] == [
            ["call_1_0_0", "call_1_0_1"],
            [],
            [],
            ["get_weather"],
            [],
        ]
        assert [turn.tool_call_id for turn in turns] == [None, "call_1_0_0", "call_1_0_1", None, "get_weather"]

    @pytest.mark.seeds("S42")
    def test_the_official_accumulator_reads_calls_of_two_choices_as_the_buffered_object(self):
        events = [
            ACCEPTED,
            ToolCallBegun(choice=1, index=0, name="g"),
            ToolCallBegun(choice=0, index=0, name="f"),
            ToolCallArguments(choice=1, index=0, text='{"b":'),
            ToolCallArguments(choice=0, index=0, text="{}"),
            ToolCallEnded(choice=0, index=0),
            ToolCallArguments(choice=1, index=0, text="2}"),
            ChoiceFinished(choice=0, reason=FinishReason.TOOL_CALLS),
            ToolCallEnded(choice=1, index=0),
            ChoiceFinished(choice=1, reason=FinishReason.TOOL_CALLS),
            Finished(usage=USAGE),
        ]
        chunks, whole = answer(call(n=2), events)
        state = ChatCompletionStreamState()
        for chunk in chunks:
            state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
        told = state.current_completion_snapshot
        ids = set()
        for folded, buffered in zip(told.choices, ChatCompletion.model_validate(whole).choices, strict=True):
            (made,), (same,) = folded.message.tool_calls, buffered.message.tool_calls
            assert (made.id, made.function.name) == (same.id, same.function.name)
            assert made.function.arguments == same.function.arguments
            ids.add(made.id)
        assert len(ids) == 2

    def test_calls_are_counted_as_they_grow(self):
        events = [
            ACCEPTED,
            ToolCallBegun(index=0, name="f", generated=3),
            ToolCallArguments(index=0, text="{}", generated=5),
            ToolCallEnded(index=0, generated=7),
            ChoiceFinished(reason=FinishReason.TOOL_CALLS),
            Finished(usage=USAGE),
        ]
        chunks, _ = answer(call(include_usage=True, continuous_usage=True), events)
        assert [chunk["usage"]["completion_tokens"] for chunk in chunks[:-1]] == [0, 3, 5, 7]

    def test_syntax_around_a_call_has_ids_and_no_rows(self):
        """peers.md 48: log-probabilities go together with tools, in a stream, too."""
        syntax = TokenRecord(id=9, text="", data=b"<tool_call>", logprob=-0.5, visibility=Visibility.HIDDEN)
        events = [
            ACCEPTED,
            TextDelta(text="Y", tokens=(shown("Y"),)),
            TextDelta(text="", tokens=(syntax,)),
            *self.EVENTS[2:],
        ]
        chunks, whole = answer(call(readout=Readout(logprobs=0, token_ids=True)), events)
        assert chunks[2]["choices"][0]["token_ids"] == [9]
        assert chunks[2]["choices"][0]["logprobs"] == {"content": [], "refusal": None}
        assert [row["token"] for row in whole["choices"][0]["logprobs"]["content"]] == ["Y"]
        assert whole["choices"][0]["token_ids"] == [ord("Y"), 9]


@pytest.mark.parametrize("asked", [call(), call(readout=Readout(logprobs=0))], ids=["plain", "rows"])
@pytest.mark.parametrize(
    "setting, names",
    [
        ("reasoning_content", {"reasoning_content"}),
        ("reasoning", {"reasoning"}),
        ("both", {"reasoning_content", "reasoning"}),
    ],
)
def test_reasoning_is_called_what_the_server_was_told(setting, names, asked):
    events = [ACCEPTED, ReasoningDelta(text="H\0m"), ReasoningDelta(text="m."), *EVENTS[1:]]
    chunks, whole = answer(asked, events, reasoning=setting)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[1:3] == [dict.fromkeys(names, "H\0m"), dict.fromkeys(names, "m.")]
    message = whole["choices"][0]["message"]
    assert {name: message.get(name) for name in ("reasoning_content", "reasoning") if name in message} == dict.fromkeys(
        names, "H\0mm."
    )
