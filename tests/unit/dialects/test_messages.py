from __future__ import annotations

import pytest

from dragoman.dialects.messages import rewritten, template_messages
from support.conversations import conversation

CALL = {"id": "call_1", "function": {"name": "add", "arguments": '{"a": 1, "b": {"c": ["x"]}}'}}


def shape(message: dict, *, knows_developer: bool = False, write=str):
    return template_messages(conversation([message]).messages, knows_developer=knows_developer, write=write)[0]


def test_a_plain_turn_has_a_role_and_a_content():
    assert shape({"role": "user", "content": "hi"}) == {"role": "user", "content": "hi"}


@pytest.mark.parametrize("knows_developer, role", [(False, "system"), (True, "developer")])
def test_developer_turns_are_system_turns_for_templates_that_know_no_developer(knows_developer: bool, role: str):
    assert shape({"role": "developer", "content": "x"}, knows_developer=knows_developer)["role"] == role


def test_tool_calls_have_openais_shape_with_parsed_arguments():
    assert shape({"role": "assistant", "content": "", "tool_calls": [CALL]}) == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": {"c": ["x"]}}}}
        ],
    }


@pytest.mark.parametrize("arguments", ["", "{not json", "[1]", "3", "[" * 100_000])
def test_arguments_that_are_no_object_stay_text(arguments: str):
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    assert shape({"role": "assistant", "tool_calls": [call]})["tool_calls"][0]["function"]["arguments"] == arguments


def test_a_tool_result_names_its_call():
    assert shape({"role": "tool", "content": "3", "tool_call_id": "call_1"}) == {
        "role": "tool",
        "content": "3",
        "tool_call_id": "call_1",
    }


def test_names_and_reasoning_are_passed_on():
    turn = {"role": "assistant", "content": "a", "name": "bo", "reasoning_content": "why"}
    assert shape(turn) == turn | {"thinking": "why"}, "Transformers gives templates both names"


def test_every_text_that_a_client_wrote_is_rewritten_and_nothing_else_is():
    turn = {"role": "assistant", "content": "a", "name": "n", "reasoning_content": "r", "tool_calls": [CALL]}
    assert shape(turn, write=str.upper) == {
        "role": "assistant",
        "content": "A",
        "name": "N",
        "reasoning_content": "R",
        "thinking": "R",
        "tool_calls": [
            {"id": "CALL_1", "type": "function", "function": {"name": "ADD", "arguments": {"A": 1, "B": {"C": ["X"]}}}}
        ],
    }


def test_values_that_are_no_text_stay_themselves():
    value = {"n": 1, "f": 2.5, "t": True, "z": None, "l": [False, "s"]}
    assert rewritten(value, str) == value
    assert rewritten(value, str)["t"] is True
