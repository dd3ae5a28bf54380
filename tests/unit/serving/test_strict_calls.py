"""Calls that must hold (S123)."""

from __future__ import annotations

import pytest

from dragoman.core.errors import Code, EngineFailed, InvalidRequest
from dragoman.core.events import (
    ChoiceFinished,
    FinishReason,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
)
from dragoman.core.request import ToolSpec
from dragoman.serving.strict_calls import Signatures, StrictCalls

WEATHER = ToolSpec(
    name="weather",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
NOW = ToolSpec(name="now")


def call(name: str, *arguments: str, ended: bool = True) -> list:
    parts = [ToolCallBegun(index=0, name=name), *(ToolCallArguments(index=0, text=text) for text in arguments)]
    return [*parts, ToolCallEnded(index=0)] if ended else parts


def watch(*events) -> None:
    strict = StrictCalls(Signatures((WEATHER, NOW)))
    for event in events:
        strict.check(event)


@pytest.mark.seeds("S123")
def test_what_the_schemas_allow_passes() -> None:
    watch(
        TextDelta(text="ok"),
        *call("weather", '{"ci', 'ty":"Paris"}'),
        *call("now", "{}"),
        ChoiceFinished(reason=FinishReason.TOOL_CALLS),
    )


@pytest.mark.seeds("S123")
@pytest.mark.parametrize(
    ("events", "said"),
    [
        (call("wether", "{}"), "there is no tool 'wether'"),
        (call("weather", '{"city":5}'), "is not of type"),
        (call("weather", "{}"), '"city" is a required property'),
        (call("weather", '{"city":"a","b":1}'), "Additional properties"),
        (call("weather", '{"city":'), "are not JSON"),
        (call("now", '{"zone":"UTC"}'), "Additional properties"),
        (
            [*call("weather", '{"city":', ended=False), ChoiceFinished(reason=FinishReason.LENGTH)],
            "the call to weather was not completed",
        ),
    ],
)
def test_what_does_not_hold_fails_the_answer_by_name(events, said) -> None:
    with pytest.raises(EngineFailed, match=said) as failure:
        watch(*events)
    assert failure.value.code is Code.INVALID_TOOL_CALL


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"$ref": "http://127.0.0.1:9/schema"}])
def test_a_schema_that_is_none_or_lies_elsewhere_is_refused(schema) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        Signatures((ToolSpec(name="f", parameters=schema),))
    assert refusal.value.feature == "tools"
