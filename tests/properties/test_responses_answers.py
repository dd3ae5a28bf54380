from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from dragoman.core.errors import Code, EngineFailed
from dragoman.core.events import (
    ChoiceFinished,
    FinishReason,
    GenerationEvent,
    ReasoningDelta,
    TextDelta,
    TokenRecord,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
)
from dragoman.surfaces.responses_call import ResponsesCall
from support.event_order.responses import violations
from support.response_answers import ACCEPTED, FINISHED, TOOLS, asked, fed, projector, read, told

ENGINE_DIED = EngineFailed("the engine died", code=Code.ENGINE_CRASHED)
EVENT = TypeAdapter(ResponseStreamEvent)
RESPONSE = TypeAdapter(Response)
LISTS = {"content_index": "content", "summary_index": "summary"}
FIELDS = {"output_text": "text", "reasoning_text": "text", "reasoning_summary_text": "text"} | {
    "function_call_arguments": "arguments",
    "custom_tool_call_input": "input",
}

TEXTS = st.sampled_from(["", "a", " b", "\n", '"\\', "é", "👩‍🚀", "\0\u2028"])
RECORDS = st.lists(
    st.builds(TokenRecord, id=st.just(7), text=TEXTS, data=st.just(b"x"), logprob=st.just(-1.0)), max_size=2
)


@st.composite
def tool_calls(draw, index: int) -> list[GenerationEvent]:
    name = draw(st.sampled_from([*TOOLS, "unheard_of"]))
    arguments = json.dumps({"input": draw(st.text(max_size=6))}, ensure_ascii=draw(st.booleans()))
    cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=3)))
    pieces = [arguments[start:end] for start, end in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
    begun = ToolCallBegun(index=index, name=name)
    return [begun, *(ToolCallArguments(index=index, text=piece) for piece in pieces), ToolCallEnded(index=index)]


@st.composite
def answers(draw) -> list[GenerationEvent]:
    """The events of one answer as the order law has them; the budget may cut it anywhere."""
    events: list[GenerationEvent] = []
    for kind in draw(st.lists(st.sampled_from(["text", "text", "reasoning", "call"]), max_size=6)):
        if kind == "text":
            events.append(TextDelta(text=draw(TEXTS), tokens=tuple(draw(RECORDS))))
        elif kind == "reasoning":
            events.append(ReasoningDelta(text=draw(TEXTS)))
        else:
            events += draw(tool_calls(sum(isinstance(event, ToolCallBegun) for event in events)))
    if draw(st.booleans()):
        events = events[: draw(st.integers(0, len(events)))]
        reason = FinishReason.LENGTH
    else:
        reason = draw(st.sampled_from([FinishReason.STOP, FinishReason.TOOL_CALLS]))
    return [ACCEPTED, *events, ChoiceFinished(reason=reason), FINISHED]


CALLS = st.builds(asked, logprobs=st.none() | st.just(0), summaries=st.booleans(), encrypted=st.booleans())


def folded(stream: Iterable[dict]) -> list[dict]:
    """The output as a client has it who believes in parts and deltas, and checks what he is told to be done."""
    items: list[dict] = []
    for event in stream:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert event["output_index"] == len(items)
            items.append(event["item"])
            continue
        if "output_index" not in event:
            continue
        item = items[event["output_index"]]
        assert event["output_index"] == len(items) - 1, "only the last item goes on"
        assert item["status"] == "in_progress"
        places = [(LISTS[name], event[name]) for name in LISTS if name in event]
        if kind.endswith("part.added"):
            [(name, index)] = places
            assert len(item[name]) == index
            item[name].append(event["part"])
            continue
        target = item[places[0][0]][places[0][1]] if places else item
        source, _, step = kind.rpartition(".")
        if kind == "output_item.done":
            later = {"status": event["item"]["status"]}
            if "encrypted_content" in event["item"]:
                later["encrypted_content"] = event["item"]["encrypted_content"]
            item.update(later)
            assert item == event["item"]
        elif kind.endswith("part.done"):
            assert target == event["part"]
        elif step == "delta":
            target[FIELDS[source]] += event["delta"]
            target.get("logprobs", []).extend(event.get("logprobs", []))
        else:
            assert event[FIELDS[source]] == target[FIELDS[source]]
            assert event.get("logprobs", []) == target.get("logprobs", [])
    return items


@pytest.mark.seeds("S158")
@given(CALLS, answers())
def test_a_stream_adds_up_to_the_buffered_object(call: ResponsesCall, events):
    stream, whole = told(events, call)
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert stream[-1]["response"] == whole
    assert folded(stream) == whole["output"]
    assert all(item["status"] != "in_progress" for item in whole["output"])
    # An item that is incomplete is the last, and so is its response (Open Responses, "Items").
    assert all(item["status"] == "completed" for item in whole["output"][:-1])
    if any(item["status"] == "incomplete" for item in whole["output"]):
        assert whole["status"] == "incomplete"


@settings(deadline=None)  # the SDK's types are built at their first use
@given(CALLS, answers())
def test_the_official_sdk_reads_what_is_sent(call: ResponsesCall, events):
    stream, whole = told(events, call)
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    texts: dict[int, str] = {}
    for event in stream:
        for seen in state.handle_event(EVENT.validate_python(event, strict=True)):
            if seen.type in ("response.output_text.delta", "response.function_call_arguments.delta"):
                texts[seen.output_index] = seen.snapshot
    RESPONSE.validate_python(whole, strict=True)
    for index, text in texts.items():
        item = whole["output"][index]
        assert text == (item["arguments"] if item["type"] == "function_call" else item["content"][0]["text"])


@pytest.mark.seeds("S158")
@settings(deadline=None)  # the SDK's types are built at their first use
@given(CALLS, answers(), st.booleans(), st.data())
def test_a_stream_keeps_the_order_of_the_contract_wherever_it_ends(call: ResponsesCall, events, queued, data):
    answer = projector(call, queued=queued)
    at = data.draw(st.integers(0, len(events)))
    sent = [*answer.opening(), *fed(answer, events[:at])]
    if at < len(events):
        sent += answer.cancelled() if data.draw(st.booleans()) else answer.fail(ENGINE_DIED)
    assert violations(b"".join(event.encode() for event in sent)) == []
    assert read(sent)[-1]["response"] == json.loads(json.dumps(answer.result()))


@given(CALLS, answers(), st.data())
def test_keep_alives_come_between_any_events_and_change_nothing(call: ResponsesCall, events, data):
    at = data.draw(st.integers(1, len(events) - 1))
    answer = projector(call)
    sent = [*fed(answer, events[:at]), answer.beat(), *fed(answer, events[at:])]
    stream = read(sent)
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert folded(stream) == stream[-1]["response"]["output"]
    assert stream[-1]["response"] == told(events, call)[1]
