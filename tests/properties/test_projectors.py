from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk
from pydantic import TypeAdapter

from dragoman.core.events import (
    Accepted,
    Alternative,
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
from dragoman.core.request import Generate, Readout, TextPrompt
from dragoman.surfaces.base import Call, Stamp
from dragoman.surfaces.openai_chat_projector import ChatProjector
from dragoman.surfaces.openai_completions_projector import CompletionProjector

PROJECTORS = pytest.mark.parametrize("projector_type", [ChatProjector, CompletionProjector])
CHUNK = TypeAdapter(ChatCompletionChunk)

TEXTS = ["a", " b", "\n", "é", "👩‍🚀", "\0\u2028"]
OTHERS = [
    (),
    (Alternative(51, b" b", -0.125),),
    (Alternative(52, b"\xe2\x80", -0.125), Alternative(53, b"a", -9.0)),
    (Alternative(54, b"a", -9.0), Alternative(55, b"a", -9.5)),
]


def record(text: str, data: bytes, visibility: Visibility, others: tuple[Alternative, ...]) -> TokenRecord:
    """A token as the service reports it: itself among its alternatives where there are any, the likeliest first."""
    known = (*others, Alternative(7, data, -2.0)) if others else ()
    return TokenRecord(
        id=7,
        text=text,
        data=data,
        logprob=-2.0,
        alternatives=tuple(sorted(known, key=lambda other: -other.logprob)),
        visibility=visibility,
    )


# A shown token without text is part of a character; what is not shown has none.
SHOWN = [record(text, text.encode() or b"\xc3", Visibility.SHOWN, others) for text in ["", *TEXTS] for others in OTHERS]
UNSEEN = [record("", b"a", kind, OTHERS[1]) for kind in Visibility if kind is not Visibility.SHOWN]
VISIBLE = st.lists(st.sampled_from(SHOWN), max_size=2)
GENERATED = st.lists(st.sampled_from(SHOWN + UNSEEN), min_size=1, max_size=3)
READOUTS = st.builds(
    Readout,
    logprobs=st.none() | st.integers(0, 3),
    prompt_logprobs=st.none() | st.integers(0, 3),
    echo=st.booleans(),
    token_ids=st.booleans(),
)


@st.composite
def choices(draw, index: int, readout: Readout) -> list[GenerationEvent]:
    """The events of one choice, as the order law and the law of records have them."""
    events: list[GenerationEvent] = []
    prompt = tuple(draw(VISIBLE))
    if readout.echo or readout.prompt_logprobs is not None or readout.token_ids:
        text = "".join(one.text for one in prompt) if readout.echo else ""
        events.append(PromptRead(choice=index, text=text, tokens=prompt, ids=(1, 2)))
    for kind in draw(st.lists(st.sampled_from([TextDelta, TextDelta, ReasoningDelta]), max_size=3)):
        tokens = tuple(draw(GENERATED))
        events.append(kind(choice=index, text="".join(one.text for one in tokens), tokens=tokens))
    for number, whole in enumerate(draw(st.lists(st.booleans(), max_size=3))):
        events.append(ToolCallBegun(choice=index, index=number, name=draw(st.sampled_from(["f", "get_weather"]))))
        events += [
            ToolCallArguments(choice=index, index=number, text=part)
            for part in draw(st.lists(st.sampled_from(TEXTS), max_size=3))
        ]
        if draw(st.booleans()):  # syntax between calls, of which records tell
            events.append(TextDelta(choice=index, text="", tokens=(draw(st.sampled_from(UNSEEN)),)))
        if whole:
            events.append(ToolCallEnded(choice=index, index=number))
    stop = draw(st.sampled_from([None, "", "stop", 9]))
    return [*events, ChoiceFinished(choice=index, reason=draw(st.sampled_from(FinishReason)), stop=stop)]


@st.composite
def answers(draw) -> tuple[Call, list[GenerationEvent]]:
    """A call, and its events: those of one to four choices, mixed in any way that keeps each choice's own order."""
    readout, n = draw(READOUTS), draw(st.integers(1, 4))
    call = Call(
        operation=Generate(prompt=TextPrompt(text="x"), n=n, readout=readout),
        include_usage=draw(st.booleans()),
        continuous_usage=draw(st.booleans()),
        named_call=draw(st.booleans()),
    )
    queues = [draw(choices(index, readout)) for index in range(n)]
    turns = draw(st.permutations([index for index, events in enumerate(queues) for _ in events]))
    mixed = [queues[index].pop(0) for index in turns]
    return call, [Accepted(prompt_tokens=3), *mixed, Finished(usage=Usage(prompt_tokens=3, completion_tokens=9))]


def played(projector_type, call: Call, events: list[GenerationEvent]) -> tuple[list[dict], dict]:
    """The chunks of the stream that have choices, and the buffered object."""
    projector = projector_type(call, Stamp(id="0" * 24, created=1, model="m"))
    sent = [event.data for item in events for event in projector.feed(item)]
    # One line each, so that one write is one event for every reader of the format.
    assert all(b"\n" not in data and b"\r" not in data for data in sent)
    assert sent.pop() == b"[DONE]"
    chunks = [msgspec.json.decode(data) for data in sent]
    if call.include_usage:
        assert chunks.pop()["choices"] == []
    return chunks, msgspec.json.decode(msgspec.json.encode(projector.result()))


def by_choice(chunks: list[dict], n: int) -> list[list[dict]]:
    sorted_out: list[list[dict]] = [[] for _ in range(n)]
    for chunk in chunks:
        (choice,) = chunk["choices"]
        sorted_out[choice["index"]].append(choice)
    return sorted_out


@PROJECTORS
@given(answer=answers())
def test_each_choice_has_one_finish_chunk_its_last_and_a_null_reason_before(projector_type, answer):
    call, events = answer
    chunks, whole = played(projector_type, call, events)
    for index, told in enumerate(by_choice(chunks, call.operation.n)):
        reasons = [choice["finish_reason"] for choice in told]
        assert reasons == [None] * (len(told) - 1) + [whole["choices"][index]["finish_reason"]]
        assert reasons[-1] in ("stop", "length", "tool_calls")


@given(answer=answers())
def test_chat_says_the_role_in_the_first_delta_of_each_choice_and_never_again(answer):
    call, events = answer
    chunks, _ = played(ChatProjector, call, events)
    for told in by_choice(chunks, call.operation.n):
        assert [choice["delta"].get("role") for choice in told] == ["assistant"] + [None] * (len(told) - 1)
        assert all("role" not in choice["delta"] for choice in told[1:])


@given(answer=answers())
def test_every_chat_chunk_is_what_the_official_type_says(answer):
    call, events = answer
    for chunk in played(ChatProjector, call, events)[0]:
        CHUNK.validate_python(chunk, strict=True)


@given(answer=answers())
def test_the_buffered_chat_is_the_fold_of_its_stream(answer):
    call, events = answer
    chunks, whole = played(ChatProjector, call, events)
    readout = call.operation.readout
    assert [choice["index"] for choice in whole["choices"]] == list(range(call.operation.n))
    for told, choice in zip(by_choice(chunks, call.operation.n), whole["choices"], strict=True):
        deltas = [part["delta"] for part in told]
        text = "".join(delta.get("content", "") for delta in deltas)
        assert choice["message"]["content"] == (text or None if "tool_calls" in choice["message"] else text)
        assert choice["message"].get("tool_calls", []) == gathered(deltas)
        reasoning = "".join(delta.get("reasoning_content", "") for delta in deltas)
        assert choice["message"].get("reasoning_content", "") == reasoning
        rows = [row for part in told if part["logprobs"] for row in part["logprobs"]["content"]]
        assert choice["logprobs"] == (None if readout.logprobs is None else {"content": rows, "refusal": None})
        ids = [token for part in told for token in part.get("token_ids", [])]
        assert choice.get("token_ids") == (ids if readout.token_ids else None)
        assert choice["stop_reason"] == told[-1]["stop_reason"]
    for field in ("prompt_token_ids", "prompt_logprobs"):
        assert [chunk[field] for chunk in chunks if field in chunk] == ([whole[field]] if field in whole else [])


def gathered(deltas: list[dict]) -> list[dict]:
    """Calls as a client puts them together: by index, the first delta of each with all but the arguments."""
    calls: list[dict] = []
    for delta in deltas:
        for part in delta.get("tool_calls", []):
            if part["index"] == len(calls):
                calls.append({"id": part["id"], "type": part["type"], "function": dict(part["function"])})
            else:
                assert part.keys() == {"index", "function"}
                calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    return calls


@given(answer=answers())
def test_no_two_calls_of_an_answer_have_one_id(answer):
    call, events = answer
    _, whole = played(ChatProjector, call, events)
    ids = [made["id"] for choice in whole["choices"] for made in choice["message"].get("tool_calls", [])]
    assert len(set(ids)) == len(ids)
    assert all(0 < len(made) <= 40 for made in ids)  # OpenAI takes no longer ones back


@given(answer=answers())
def test_the_buffered_completion_is_the_fold_of_its_stream(answer):
    call, events = answer
    chunks, whole = played(CompletionProjector, call, events)
    readout = call.operation.readout
    assert [choice["index"] for choice in whole["choices"]] == list(range(call.operation.n))
    for told, choice in zip(by_choice(chunks, call.operation.n), whole["choices"], strict=True):
        assert choice["text"] == "".join(part["text"] for part in told)
        if readout.logprobs is None:
            assert [part["logprobs"] for part in [*told, choice]] == [None] * (len(told) + 1)
        else:
            for name, values in choice["logprobs"].items():
                assert values == [value for part in told if part["logprobs"] for value in part["logprobs"][name]]
        ids = [token for part in told for token in part.get("token_ids", [])]
        assert choice.get("token_ids") == (ids if readout.token_ids else None)
        for field in ("prompt_token_ids", "prompt_logprobs"):
            assert [part[field] for part in told if field in part] == ([choice[field]] if field in choice else [])


@pytest.mark.seeds("S75", "S83")
@given(answer=answers())
def test_the_rows_of_a_chat_delta_join_to_its_content(answer):
    call, events = answer
    chunks, whole = played(ChatProjector, call, events)
    if call.operation.readout.logprobs is None:
        return
    for choice in (chunk["choices"][0] for chunk in chunks):
        rows = (choice["logprobs"] or {"content": []})["content"]
        assert "".join(row["token"] for row in rows) == choice["delta"].get("content", "")
    for choice in whole["choices"]:
        assert "".join(row["token"] for row in choice["logprobs"]["content"]) == (choice["message"]["content"] or "")


@pytest.mark.seeds("S75", "S76", "S77", "S83")
@given(answer=answers())
def test_the_arrays_of_a_completion_describe_its_text_at_their_offsets(answer):
    call, events = answer
    chunks, whole = played(CompletionProjector, call, events)
    if call.operation.readout.logprobs is None:
        return
    for choice in (chunk["choices"][0] for chunk in chunks):
        assert "".join((choice["logprobs"] or {"tokens": []})["tokens"]) == choice["text"]
    for choice in whole["choices"]:
        text, arrays = choice["text"], choice["logprobs"]
        assert "".join(arrays["tokens"]) == text
        assert len({len(values) for values in arrays.values()}) == 1
        for token, offset in zip(arrays["tokens"], arrays["text_offset"], strict=True):
            assert text[offset : offset + len(token)] == token


@pytest.mark.seeds("S79")
@given(answer=answers())
def test_a_tokens_own_value_is_found_under_its_own_name(answer):
    call, events = answer
    _, whole = played(CompletionProjector, call, events)
    for choice in whole["choices"]:
        arrays = choice["logprobs"] or {"tokens": [], "token_logprobs": [], "top_logprobs": []}
        for token, logprob, table in zip(
            arrays["tokens"], arrays["token_logprobs"], arrays["top_logprobs"], strict=True
        ):
            assert table[token] == logprob
            assert list(table.values()) == sorted(table.values(), reverse=True)
