from __future__ import annotations

import pytest

from dragoman.core.request import ImagePart, Message, Role, TextPart
from dragoman.dialects.losses import endangers, marked
from support.conversations import conversation


def chat(*messages: dict):
    return conversation(list(messages)).messages


def turn(role: str, content: str = "said", **more) -> dict:
    return {"role": role, "content": content, **more}


def call(name: str, of: str) -> dict:
    return {"id": of, "function": {"name": name, "arguments": "{}"}}


def texts(messages, sent=None) -> list[str]:
    found = marked(messages, iter("123456"), sent=messages if sent is None else sent)
    assert found.marks <= set("123456")
    return [message.text for message in found.messages]


@pytest.mark.parametrize(
    "messages, marked_texts",
    [
        ([turn("user"), turn("assistant"), turn("user")], ["said", "said", "said"]),
        ([turn("system"), turn("user"), turn("developer")], ["said1", "said", "said2"]),
        ([turn("user"), turn("user"), turn("assistant"), turn("assistant")], ["said1", "said2", "said3", "said4"]),
        ([turn("system", " \n"), turn("user", ""), turn("user", "x")], [" \n", "", "x1"]),
        ([turn("user"), turn("tool", tool_call_id="a"), turn("tool", tool_call_id="b")], ["said", "said", "said"]),
    ],
)
def test_instructions_and_neighbours_of_one_role_are_marked_where_they_say_something(messages, marked_texts):
    assert texts(chat(*messages)) == marked_texts
    assert endangers(chat(*messages)) is (marked_texts != [message["content"] for message in messages])


@pytest.mark.parametrize(
    "prompt, endangered",
    [("<s>You are a dragoman.</s>", False), ("<s>You are a dragon.</s>", True), ("", True)],
)
def test_a_long_text_that_stands_in_the_prompt_is_in_no_danger(prompt: str, endangered: bool):
    messages = chat(turn("system", " You are a dragoman.\n"), turn("user"))
    assert endangers(messages, prompt=prompt) is endangered
    assert endangers(chat(turn("system", "dragoman")), prompt="dragoman"), "a short one may stand there by chance"


def test_texts_are_found_in_their_order():
    said = "What would you like to know?"
    messages = chat(turn("user", said), turn("user", said))
    assert not endangers(messages, prompt=f"<s>{said}</s><s>{said}</s>")
    assert endangers(messages, prompt=f"<s>{said}</s>"), "one of the two is missing"


def test_what_was_not_sent_so_is_marked_whoever_says_it():
    before = chat(turn("user", "a"), turn("assistant", "b"), turn("user", "c"))
    after = chat(turn("user", "a"), turn("assistant", "x"), turn("user", "c"))
    assert texts(after, sent=before) == ["a", "x1", "c"]


def test_calls_are_marked_in_name_and_id_and_their_results_refer_to_them_still():
    messages = chat(
        turn("assistant", "", tool_calls=[call("f", "call_1"), call("g", "call_2")]),
        turn("tool", "x", tool_call_id="call_2"),
        turn("tool", "y", tool_call_id="call_9"),
    )
    found = marked(messages, iter("AB"), sent=messages)
    assert [(call.name, call.id) for call in found.messages[0].tool_calls] == [("fA", "call_A"), ("gB", "call_B")]
    assert [message.tool_call_id for message in found.messages[1:]] == ["call_B", "call_9"]
    assert found.marks == {"A", "B"}


def test_only_calls_that_share_a_turn_are_in_danger():
    alone = turn("assistant", "", tool_calls=[call("f", "a")])
    assert not endangers(chat(turn("user"), alone, turn("tool", tool_call_id="a"), alone))
    assert endangers(chat(turn("user"), turn("assistant", "", tool_calls=[call("f", "a"), call("f", "b")])))


def test_without_characters_left_the_rest_goes_unmarked():
    messages = chat(turn("system", "a"), turn("system", "b"), turn("assistant", "", tool_calls=[call("f", "a")]))
    found = marked(messages, iter("1"), sent=messages)
    assert found.marks == {"1"}
    assert [message.text for message in found.messages] == ["a1", "b", ""]
    assert found.messages[2] == messages[2]


def test_a_picture_is_its_mark_so_that_one_which_is_left_out_is_missed():
    picture = ImagePart(data=b"\x89PNG", media_type="image/png")
    shown = (Message(role=Role.USER, parts=(TextPart(text="a"), picture, TextPart(text="b"), picture)),)
    found = marked(shown, iter("12"), sent=shown)
    assert found.messages[0].text == "a1b2"
    assert found.marks == {"1", "2"}
