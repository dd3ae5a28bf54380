from __future__ import annotations

from typing import get_args

import pytest
from openai.types.shared_params import ReasoningEffort

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import Conversation, Thinking
from dragoman.surfaces.fields import Form, Table
from dragoman.surfaces.openai_conversation import CONVERSATION, EFFORTS, conversation
from dragoman.surfaces.openai_messages import MESSAGES
from dragoman.surfaces.openai_tool_choice import tooling
from dragoman.surfaces.readers import Place

USER = {"role": "user", "content": "The capital of France?"}
PARTIAL = {"role": "assistant", "content": "It is Par"}
CALLING = {
    "role": "assistant",
    "content": "Let me see",
    "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
}

TOOL = {"type": "function", "function": {"name": "f"}}


def read(*messages, continue_assistant: bool = True, **fields) -> Conversation:
    form = Form({"messages": list(messages), **fields}, Table(MESSAGES, *CONVERSATION), Place())
    return conversation(form, tooling(form), continue_assistant=continue_assistant)


def refusal(*messages, **fields) -> tuple[str | None, Code]:
    with pytest.raises(InvalidRequest) as caught:
        read(*messages, **fields)
    return caught.value.param, caught.value.code


class TestContinuing:
    @pytest.mark.seeds("S64")
    def test_a_last_assistant_message_is_continued_unless_the_server_says_otherwise(self):
        assert read(USER, PARTIAL).continue_final is True
        assert read(USER, PARTIAL, continue_assistant=False).continue_final is False
        assert read(USER, PARTIAL, USER).continue_final is False
        assert read(USER).continue_final is False

    @pytest.mark.seeds("S67")
    def test_a_turn_that_ends_inside_a_word_is_continued_all_the_same(self):
        assert read(USER, {"role": "assistant", "content": "The capital is Par"}).continue_final is True

    @pytest.mark.seeds("S49")
    @pytest.mark.parametrize("continue_assistant", [True, False])
    @pytest.mark.parametrize(
        "fields, continued",
        [
            ({"continue_final_message": True}, True),
            ({"continue_final_message": True, "add_generation_prompt": False}, True),
            ({"continue_final_message": False}, False),
            ({"continue_final_message": False, "add_generation_prompt": True}, False),
            ({"add_generation_prompt": True}, False),
        ],
    )
    def test_the_request_decides_where_it_says_something(self, fields, continued, continue_assistant):
        assert read(USER, PARTIAL, continue_assistant=continue_assistant, **fields).continue_final is continued

    @pytest.mark.parametrize("name", ["prefix", "partial"])
    def test_a_message_can_ask_for_it_itself(self, name):
        assert read(USER, PARTIAL | {name: True}, continue_assistant=False).continue_final is True
        assert read(USER, PARTIAL | {name: False}).continue_final is False
        assert read(USER, PARTIAL | {name: True}, continue_final_message=False).continue_final is False

    @pytest.mark.seeds("S65")
    @pytest.mark.parametrize("fields", [{}, {"continue_final_message": True}])
    @pytest.mark.parametrize(
        "messages, param, code",
        [
            ([USER, CALLING], "messages.1.tool_calls", Code.UNSUPPORTED_VALUE),
            ([PARTIAL], "messages", Code.INVALID_VALUE),
            ([USER, PARTIAL | {"content": ""}], "messages.1.content", Code.INVALID_VALUE),
            ([USER, PARTIAL | {"content": " \n"}], "messages.1.content", Code.INVALID_VALUE),
            ([USER, USER, PARTIAL | {"content": "Par "}], "messages.2.content", Code.INVALID_VALUE),
            ([USER, PARTIAL | {"content": "Par\u00a0"}], "messages.1.content", Code.INVALID_VALUE),
            ([USER, PARTIAL | {"content": None, "reasoning": "so"}], "messages.1.content", Code.INVALID_VALUE),
        ],
    )
    def test_what_cannot_be_continued_is_refused_where_it_stands(self, messages, param, code, fields):
        assert refusal(*messages, **fields) == (param, code)

    @pytest.mark.parametrize("last", [CALLING, PARTIAL | {"content": "Par "}, PARTIAL | {"content": ""}])
    def test_the_same_messages_are_fine_where_a_new_turn_is_asked_for(self, last):
        assert read(USER, last, add_generation_prompt=True).continue_final is False

    @pytest.mark.parametrize(
        "messages, fields",
        [
            ([USER], {}),
            ([USER, PARTIAL, {"role": "tool", "tool_call_id": "c", "content": "x"}], {}),
            ([USER, PARTIAL], {"add_generation_prompt": True}),  # vLLM refuses the pair, too
        ],
    )
    def test_a_continuation_that_cannot_be_is_refused_by_name(self, messages, fields):
        assert refusal(*messages, continue_final_message=True, **fields) == (
            "continue_final_message",
            Code.INVALID_VALUE,
        )

    def test_a_closed_turn_without_a_cue_can_be_asked_for(self):
        chat = read(USER, PARTIAL, continue_final_message=False, add_generation_prompt=False)
        assert (chat.continue_final, chat.add_generation_prompt) == (False, False)
        assert read(USER).add_generation_prompt is True


class TestContinuingBesideTools:
    @pytest.mark.seeds("S65")
    @pytest.mark.parametrize("fields", [{}, {"continue_final_message": True}, {"tool_choice": "required"}])
    def test_a_turn_is_not_continued_while_tools_are_on_offer(self, fields):
        assert refusal(USER, PARTIAL, tools=[TOOL], **fields) == ("tools", Code.UNSUPPORTED_FIELD)

    @pytest.mark.seeds("S65")
    def test_the_older_field_is_named_where_that_was_sent(self):
        assert refusal(USER, PARTIAL, functions=[{"name": "f"}]) == ("functions", Code.UNSUPPORTED_FIELD)

    @pytest.mark.parametrize("fields", [{"tools": []}, {"tools": [TOOL], "tool_choice": "none"}])
    def test_tools_that_are_not_on_offer_do_not_matter(self, fields):
        assert read(USER, PARTIAL, **fields).continue_final is True

    def test_a_new_turn_may_call(self):
        assert read(USER, PARTIAL, tools=[TOOL], add_generation_prompt=True).tools[0].name == "f"


class TestThinking:
    @pytest.mark.seeds("S61", "S62", "S63")
    def test_each_field_says_its_part_and_nothing_else(self):
        assert read(USER).thinking == Thinking()
        assert read(USER, enable_thinking=False).thinking == Thinking(enabled=False)
        assert read(USER, reasoning_effort="high").thinking == Thinking(effort="high")
        assert read(USER, preserve_thinking=True).thinking == Thinking(preserve=True)

    @pytest.mark.seeds("S62")
    def test_every_effort_of_openai_is_known(self):
        official = {name for literal in get_args(ReasoningEffort) for name in get_args(literal)}
        assert {"none", "minimal", "low", "medium", "high", "xhigh"} <= official <= set(EFFORTS)

    @pytest.mark.seeds("S61", "S62", "S63")
    @pytest.mark.parametrize(
        "fields",
        [
            {"enable_thinking": "true"},
            {"enable_thinking": 1},
            {"reasoning_effort": "much"},
            {"reasoning_effort": 3},
            {"reasoning_effort": ["low"]},
            {"preserve_thinking": "yes"},
            {"chat_template_kwargs": []},
            {"add_generation_prompt": 1},
            {"continue_final_message": "true"},
        ],
    )
    def test_a_malformed_value_is_named(self, fields):
        assert refusal(USER, **fields) == (*fields, Code.INVALID_VALUE)

    def test_null_is_absent(self):
        nothing = dict.fromkeys(row.name for row in CONVERSATION)
        assert read(USER, PARTIAL, **nothing) == read(USER, PARTIAL)

    def test_arguments_of_the_template_are_passed_on_as_they_are(self):
        arguments = {"enable_thinking": False, "nested": {"a": [1, None]}}
        assert read(USER, chat_template_kwargs=arguments).template_args == arguments
