from __future__ import annotations

import json

import msgspec
import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from dragoman.core.errors import Code, EngineFailed
from dragoman.core.events import (
    Accepted,
    ChoiceFinished,
    Finished,
    FinishReason,
    GenerationEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Usage,
)
from dragoman.core.request import Conversation, Generate, OutputLimits
from dragoman.surfaces.anthropic_call import MessagesCall
from dragoman.surfaces.anthropic_projector import AnthropicProjector
from dragoman.surfaces.base import Stamp
from support.event_order.messages import violations

EVENT = TypeAdapter(RawMessageStreamEvent)
MESSAGE = TypeAdapter(Message)
BUDGET = 9
ACCEPTED = Accepted(prompt_tokens=5, cached_tokens=3)
FINISHED = Finished(usage=Usage(prompt_tokens=5, completion_tokens=BUDGET, cached_tokens=3))
GENERATE = Generate(prompt=Conversation(messages=()), limits=OutputLimits(max_tokens=BUDGET))
CALLS = st.builds(
    MessagesCall, operation=st.just(GENERATE), thinking_display=st.sampled_from(["summarized", "omitted"])
)
TEXTS = st.sampled_from(["", "a", " b", "\n", '"\\', "é", "👩‍🚀", "\0\u2028"])


@st.composite
def tool_calls(draw, index: int) -> list[GenerationEvent]:
    arguments = json.dumps(draw(st.dictionaries(st.text(max_size=3), st.text(max_size=3) | st.integers(), max_size=2)))
    cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=3)))
    pieces = [arguments[start:end] for start, end in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
    begun = ToolCallBegun(index=index, name="f")
    return [begun, *(ToolCallArguments(index=index, text=piece) for piece in pieces), ToolCallEnded(index=index)]


@st.composite
def answers(draw) -> list[GenerationEvent]:
    """The events of one answer as the order law has them; the budget may cut it anywhere."""
    events: list[GenerationEvent] = []
    for kind in draw(st.lists(st.sampled_from([TextDelta, TextDelta, ReasoningDelta, ToolCallBegun]), max_size=6)):
        if kind is ToolCallBegun:
            events += draw(tool_calls(sum(isinstance(event, ToolCallBegun) for event in events)))
        else:
            events.append(kind(text=draw(TEXTS)))
    if draw(st.booleans()):
        events = events[: draw(st.integers(0, len(events)))]
        return [*events, ChoiceFinished(reason=FinishReason.LENGTH, generated=BUDGET)]
    called = any(isinstance(event, ToolCallBegun) for event in events)
    return [*events, ChoiceFinished(reason=FinishReason.TOOL_CALLS if called else FinishReason.STOP, generated=BUDGET)]


@pytest.mark.seeds("S158")
@settings(deadline=None)  # the SDK's types are built at their first use
@given(CALLS, answers())
def test_the_official_sdk_adds_a_stream_up_to_the_buffered_object(call: MessagesCall, events):
    projector = AnthropicProjector(call, Stamp(id="1", created=0, model="m"))
    told = [event for one in (ACCEPTED, *events, FINISHED) for event in projector.feed(one)]
    assert violations(b"".join(event.encode() for event in told)) == []
    snapshot, buffers = None, {}
    for event in told:
        read = EVENT.validate_python(msgspec.json.decode(event.data), strict=True)
        snapshot = accumulate_event(event=read, current_snapshot=snapshot, json_bufs=buffers)
    whole = msgspec.json.decode(msgspec.json.encode(projector.result()))
    assert snapshot.to_dict() == whole
    MESSAGE.validate_python(whole, strict=True)


@pytest.mark.seeds("S155", "S158")
@settings(deadline=None)
@given(CALLS, answers(), st.data())
def test_a_stream_keeps_the_order_of_the_contract_wherever_it_breaks_off(call: MessagesCall, events, data):
    projector = AnthropicProjector(call, Stamp(id="1", created=0, model="m"))
    written = [event.encode() for one in (ACCEPTED, *events[:-1]) for event in projector.feed(one)]
    written = written[: data.draw(st.integers(1, len(written)))]
    silence = data.draw(st.integers(0, len(written)))
    written.insert(silence, projector.keepalive())
    dead = EngineFailed("the engine died", code=Code.ENGINE_CRASHED)
    assert violations(b"".join([*written, *(event.encode() for event in projector.fail(dead))])) == []
