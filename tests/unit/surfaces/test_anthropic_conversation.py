from __future__ import annotations

import pytest

from dragoman.core.errors import InvalidRequest, Unsupported
from dragoman.core.request import Conversation, Role
from dragoman.surfaces.anthropic_messages import Messages

HELLO = {"role": "user", "content": "hi"}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}


def parse(*turns: dict, **body: object) -> Conversation:
    prompt = Messages().parse({"messages": list(turns), **body}).operation.prompt
    assert isinstance(prompt, Conversation)
    return prompt


def script(prompt: Conversation) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in prompt.messages]


def assistant(text: str) -> dict:
    return {"role": "assistant", "content": text}


def system(text: str, **more: object) -> dict:
    return {"role": "system", "content": text, **more}


def refused(*turns: dict, **body: object) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        parse(*turns, **body)
    return caught.value


@pytest.mark.seeds("S114")
class TestSystem:
    def test_a_string_and_blocks_are_one_turn_in_front(self):
        blocks = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "\nBe kind."}]
        assert script(parse(HELLO, system=blocks)) == [("system", "Be brief.\nBe kind."), ("user", "hi")]
        assert script(parse(HELLO, system="Be brief.\nBe kind.")) == script(parse(HELLO, system=blocks))

    @pytest.mark.parametrize("nothing", [None, "", [], [{"type": "text", "text": ""}]])
    def test_without_a_text_there_is_none(self, nothing):
        assert script(parse(HELLO, system=nothing)) == [("user", "hi")]

    @pytest.mark.parametrize(
        "wrong, path",
        [(5, "system"), ([5], "system.0"), ([{"type": "text"}], "system.0.text"), ("a\0b", "system")],
    )
    def test_what_is_no_text_is_refused_at_its_path(self, wrong, path):
        assert refused(HELLO, system=wrong).param == path


class TestSystemTurns:
    """Claude Code sends one after the user's, as a string in one request and as blocks in the next (wire.md, finding 8)."""

    def test_they_stay_where_they_stand(self):
        turns = (HELLO, system("It is Monday."), assistant("Good."), HELLO)
        assert script(parse(*turns, system="Be brief.")) == [
            ("system", "Be brief."),
            ("user", "hi"),
            ("system", "It is Monday."),
            ("assistant", "Good."),
            ("user", "hi"),
        ]

    def test_a_string_and_blocks_are_the_same(self):
        blocks = [{"type": "text", "text": "It is Monday.", "cache_control": {"type": "ephemeral"}}]
        assert parse(HELLO, {"role": "system", "content": blocks}) == parse(HELLO, system("It is Monday."))

    def test_one_for_a_single_turn_is_gone_after_the_next_user_message(self):
        """``clear_at`` of the SDK's type: it stays in the array, and the model is not shown it any more."""
        note = system("Hurry.", clear_at="next_user_message")
        assert script(parse(HELLO, note)) == [("user", "hi"), ("system", "Hurry.")]
        assert script(parse(HELLO, note, assistant("a"), HELLO)) == [("user", "hi"), ("assistant", "a"), ("user", "hi")]
        assert len(parse(HELLO, system("Hurry.", clear_at="never"), assistant("a"), HELLO).messages) == 4

    def test_it_belongs_to_system_turns(self):
        turn = {"role": "user", "content": "hi", "clear_at": "never"}
        assert Messages().parse({"messages": [turn]}).ignored == ("messages.*.clear_at",)

    def test_an_effort_in_the_middle_is_listed(self):
        call = Messages().parse({"messages": [HELLO, {"role": "system", "output_config": {"effort": "low"}}]})
        assert call.ignored == ("messages.*.output_config",)
        assert script(call.operation.prompt) == [("user", "hi")]


@pytest.mark.seeds("S64", "S65", "S67")
class TestPrefill:
    def test_a_last_turn_of_the_assistant_is_the_beginning_of_the_answer(self):
        prompt = parse(HELLO, assistant("The answer is ("))
        assert (prompt.continue_final, prompt.add_generation_prompt) == (True, True)
        assert script(prompt)[-1] == ("assistant", "The answer is (")

    def test_a_last_turn_of_the_user_is_answered(self):
        assert parse(HELLO, assistant("a"), HELLO).continue_final is False

    @pytest.mark.parametrize(
        "nothing", ["", [], [{"type": "text", "text": ""}], [{"type": "redacted_thinking", "data": "x"}]]
    )
    def test_an_empty_one_asks_for_nothing(self, nothing):
        """Anthropic lets the last turn of the assistant be empty, and no other."""
        assert parse(HELLO, {"role": "assistant", "content": nothing}) == parse(HELLO)

    def test_white_space_at_its_end_is_refused_as_anthropic_refuses_it(self):
        assert refused(HELLO, assistant("a ")).param == "messages.1.content"

    def test_the_path_is_the_clients_whatever_the_turns_became(self):
        results = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": "r"} for i in "ab"]}
        error = refused(HELLO, CALLED, results, assistant("b "), system="Be brief.")
        assert error.param == "messages.3.content"

    def test_thoughts_alone_cannot_be_continued(self):
        thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
        assert refused(HELLO, {"role": "assistant", "content": [thought]}).param == "messages.1.content"

    def test_a_call_must_be_answered(self):
        assert refused(HELLO, CALLED).param == "messages.1"

    def test_tools_are_not_offered_beside_it(self):
        error = refused(HELLO, assistant("a"), tools=[TOOL])
        assert isinstance(error, Unsupported)
        assert error.param == "tools"
        assert parse(HELLO, assistant("a"), tools=[TOOL], tool_choice={"type": "none"}).continue_final is True

    def test_one_without_anything_to_answer_is_refused(self):
        assert refused(assistant("a")).param == "messages"


def test_turns_of_one_role_stay_apart():
    assert [role for role, _ in script(parse(HELLO, HELLO, assistant("a"), HELLO))] == [
        "user",
        "user",
        "assistant",
        "user",
    ]


@pytest.mark.parametrize("role", ["developer", "tool", "", 5])
def test_there_are_no_other_roles(role):
    assert refused({"role": role, "content": "a"}).param == "messages.0.role"


def test_a_turn_has_a_role():
    assert refused({"content": "a"}).param == "messages.0.role"


def test_an_assistant_that_said_nothing_stays_in_its_place():
    prompt = parse(HELLO, assistant(""), HELLO)
    assert script(prompt)[1] == (Role.ASSISTANT.value, "")
