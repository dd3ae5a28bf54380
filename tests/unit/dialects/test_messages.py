from __future__ import annotations

import pytest

from dragoman.core.request import ToolChoice, ToolMode
from dragoman.dialects.messages import CallShape, Pen, rewritten, template_messages, template_tools
from support.conversations import conversation

CALL = {"id": "call_1", "function": {"name": "add", "arguments": '{"a": 1, "b": {"c": ["x"]}}'}}
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"my_key": {"enum": ["x"]}}},
    },
}
AS_IT_IS = Pen(prose=str, word=str, term=str)
BY_KIND = Pen(prose="p:{}".format, word="w:{}".format, term="t:{}".format)


def shapes(*messages: dict, pen: Pen = AS_IT_IS, **shape):
    return template_messages(conversation(list(messages)).messages, pen=pen, shape=CallShape(**shape))


def tools(*declared: dict, pen: Pen = AS_IT_IS, **choice):
    return template_tools(conversation([], tools=list(declared), tool_choice=ToolChoice(**choice)), pen=pen)


def calls(*ids: str) -> dict:
    return {"role": "assistant", "tool_calls": [{"id": i, "function": {"name": "f", "arguments": "{}"}} for i in ids]}


def result(of: str) -> dict:
    return {"role": "tool", "content": f"of {of}", "tool_call_id": of}


class TestMessages:
    def test_a_plain_turn_has_a_role_and_a_content(self):
        assert shapes({"role": "user", "content": "hi"}) == [{"role": "user", "content": "hi"}]

    def test_tool_calls_have_openais_shape_with_parsed_arguments(self):
        assert shapes({"role": "assistant", "content": "", "tool_calls": [CALL]}) == [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "add", "arguments": {"a": 1, "b": {"c": ["x"]}}},
                    }
                ],
            }
        ]

    @pytest.mark.parametrize("arguments", ["{not json", "[1]", "3", "[" * 100_000])
    def test_arguments_that_are_no_object_stay_text(self, arguments: str):
        call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
        [shaped] = shapes({"role": "assistant", "tool_calls": [call]})
        assert shaped["tool_calls"][0]["function"]["arguments"] == arguments

    @pytest.mark.parametrize("blank", ["", " \n"])
    def test_blank_arguments_are_none_at_all(self, blank: str):
        call = {"id": "c", "function": {"name": "f", "arguments": blank}}
        [shaped] = shapes({"role": "assistant", "tool_calls": [call]})
        assert shaped["tool_calls"][0]["function"]["arguments"] == {}
        [shaped] = shapes({"role": "assistant", "tool_calls": [call]}, arguments_as_text=True)
        assert shaped["tool_calls"][0]["function"]["arguments"] == "{}"

    def test_a_tool_result_names_its_call(self):
        [_, shaped] = shapes(calls("call_1"), result("call_1"))
        assert shaped == {"role": "tool", "content": "of call_1", "tool_call_id": "call_1"}

    def test_names_and_reasoning_are_passed_on(self):
        turn = {"role": "assistant", "content": "a", "name": "bo", "reasoning_content": "why"}
        assert shapes(turn) == [turn | {"thinking": "why"}], "Transformers gives templates both names"

    def test_every_text_that_a_client_wrote_is_written_by_its_kind_and_nothing_else_is(self):
        turn = {"role": "assistant", "content": "a", "name": "n", "reasoning_content": "r", "tool_calls": [CALL]}
        assert shapes(turn, result("call_1"), pen=BY_KIND) == [
            {
                "role": "assistant",
                "content": "p:a",
                "name": "w:n",
                "reasoning_content": "p:r",
                "thinking": "p:r",
                "tool_calls": [
                    {
                        "id": "w:call_1",
                        "type": "function",
                        "function": {"name": "w:add", "arguments": {"w:a": 1, "w:b": {"w:c": ["p:x"]}}},
                    }
                ],
            },
            {"role": "tool", "content": "p:of call_1", "tool_call_id": "w:call_1"},
        ]

    def test_values_that_are_no_text_stay_themselves(self):
        value = {"n": 1, "f": 2.5, "t": True, "z": None, "l": [False, "s"]}
        assert rewritten(value, str) == value
        assert rewritten(value, str)["t"] is True


@pytest.mark.seeds("S119")
class TestCallOrder:
    def contents(self, *messages: dict) -> list[str]:
        return [message["content"] for message in shapes(*messages)]

    def test_results_stand_in_the_order_of_their_calls(self):
        assert self.contents(calls("a", "b", "c"), result("c"), result("a"), result("b")) == [
            "",
            "of a",
            "of b",
            "of c",
        ]

    def test_every_turn_orders_its_own_results(self):
        said = self.contents(calls("a", "b"), result("b"), result("a"), calls("b", "a"), result("a"), result("b"))
        assert said == ["", "of a", "of b", "", "of b", "of a"]

    def test_results_of_no_call_and_second_results_of_one_stay_in_their_order(self):
        said = self.contents(calls("a", "b"), result("x"), result("b"), result("a"), result("y"), result("b"))
        assert said == ["", "of a", "of b", "of b", "of x", "of y"]

    def test_results_are_not_moved_across_other_turns(self):
        between = {"role": "user", "content": "wait"}
        assert self.contents(calls("a", "b"), result("b"), between, result("a")) == ["", "of b", "wait", "of a"]


class TestShapes:
    def test_ids_that_are_too_long_get_numbers_and_others_stay(self):
        shaped = shapes(
            calls("call_aaaa", "abcdefgh1", "call_bbbb"),
            result("call_bbbb"),
            result("abcdefgh1"),
            calls("call_aaaa"),
            short_ids=True,
        )
        ids = [[call["id"] for call in turn.get("tool_calls", ())] or turn["tool_call_id"] for turn in shaped]
        assert ids == [["call00000", "abcdefgh1", "call00001"], "abcdefgh1", "call00001", ["call00000"]]

    def test_a_turn_of_calls_alone_can_have_no_content_and_one_that_says_something_keeps_it(self):
        assert shapes(calls("a"), content_is_null=True)[0]["content"] is None
        assert shapes({**calls("a"), "content": "I look."}, content_is_null=True)[0]["content"] == "I look."


@pytest.mark.seeds("S119")
class TestTools:
    def test_tools_have_the_shape_in_which_transformers_passes_them(self):
        assert tools(ADD) == [ADD]

    def test_what_a_client_left_out_is_there_for_templates_that_take_it_for_granted(self):
        """The schema of no arguments is the one that Transformers makes of a Python function without parameters."""
        assert tools({"function": {"name": "now"}}) == [
            {
                "type": "function",
                "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}},
            }
        ]

    def test_strictness_is_no_matter_of_the_model(self):
        assert tools({"function": {**ADD["function"], "strict": True}}) == [ADD]

    def test_a_deferred_tool_is_left_to_the_message_that_tells_of_it(self):
        found = {"function": {"name": "now", "deferred": True}}
        assert tools(ADD, found) == tools(ADD) == [ADD]
        assert tools(found) is None

    def test_without_tools_there_are_none(self):
        assert tools() is None
        assert tools(ADD, mode=ToolMode.NONE) is None

    @pytest.mark.parametrize("mode", [ToolMode.AUTO, ToolMode.REQUIRED])
    def test_all_are_declared_however_few_may_be_called(self, mode: ToolMode):
        assert [
            tool["function"]["name"] for tool in tools(ADD, {"function": {"name": "now"}}, mode=mode, names=("now",))
        ] == [
            "add",
            "now",
        ]

    def test_every_text_is_written_by_its_kind_but_for_what_makes_it_a_schema(self):
        assert tools(ADD, pen=BY_KIND) == [
            {
                "type": "function",
                "function": {
                    "name": "w:add",
                    "description": "p:Adds.",
                    "parameters": {"type": "t:object", "properties": {"w:my_key": {"enum": ["t:x"]}}},
                },
            }
        ]
