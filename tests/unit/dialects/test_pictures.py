from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import (
    Conversation,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    TextPrompt,
    ToolCall,
    ToolChoice,
    ToolMode,
)
from dragoman.dialects.pictures import loses_pictures, shows_pictures, stand_in
from dragoman.dialects.template import ChatTemplate
from support.dialect_tapes import families, model, speak
from support.tools import TOOLS

NOW = datetime(2026, 3, 9, tzinfo=UTC)
CAT = ImagePart(data=b"\x89PNG\r\n\x1a\ncat", media_type="image/png", place="messages.0.content.0.image_url.url")
DOG = ImagePart(data=b"\xff\xd8\xffdog", media_type="image/jpeg", place="messages.0.content.2.image_url.url")
SPECIALS = ("<|im_start|>", "<|im_end|>")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SEES = [family for family in families() if family != "plain"]


def user(*parts: Part | str) -> Message:
    return turn(Role.USER, *parts)


def turn(role: Role, *parts: Part | str, **more) -> Message:
    return Message(
        role=role, parts=tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts), **more
    )


def render(template: str, *messages: Message, strict: bool = False) -> TextPrompt:
    chat = ChatTemplate(template, bos_token="", eos_token="", specials=SPECIALS, strict=strict)
    return chat.render(Conversation(messages=messages), now=NOW)


def spread(prompt: TextPrompt) -> list[str | ImagePart]:
    """The prompt as it is read: texts, and pictures between them."""
    read: list[str | ImagePart] = []
    start = 0
    for place, picture in prompt.images:
        read += [prompt.text[start:place], picture]
        start = place
    return [*read, prompt.text[start:]]


def untouched(messages) -> tuple[Message, ...]:
    return tuple(Message(role=m.role, parts=tuple(p for p in m.parts if isinstance(p, TextPart))) for m in messages)


class TestStandIns:
    def test_each_picture_is_one_character_and_comes_back_in_its_place(self):
        shown = stand_in([user("a", CAT, "b"), user(DOG)], iter("12"))
        assert [message.text for message in shown.messages] == ["a1b", "2"]
        assert shown.parts("x2y1") == (TextPart(text="x"), DOG, TextPart(text="y"), CAT)

    def test_plain_ranges_and_places_are_those_of_the_text_without_them(self):
        shown = stand_in([user(CAT), user(DOG)], iter("12"))
        prompt = shown.prompt(TextPrompt(text="ab1cd2ef", plain=((0, 2), (3, 5), (4, 8))))
        assert prompt.text == "abcdef"
        assert prompt.images == ((2, CAT), (4, DOG))
        # "ab", "cd", and "d" with the picture and "ef" behind it.
        assert [prompt.text[start:end] for start, end in prompt.plain] == ["ab", "cd", "def"]

    def test_a_text_that_leaves_no_character_is_refused(self):
        with pytest.raises(InvalidRequest, match="picture") as refusal:
            stand_in([user(CAT)], iter(""))
        assert refusal.value.code is Code.TEMPLATE_FAILED

    def test_messages_of_text_show_none(self):
        assert not shows_pictures([user("a"), turn(Role.TOOL, "b")])
        assert shows_pictures([user("a"), turn(Role.TOOL, CAT)])

    def test_the_same_picture_twice_is_two_pictures(self):
        prompt = TextPrompt(text="", images=((0, CAT),))
        assert loses_pictures([user(CAT, CAT)], prompt)
        assert not loses_pictures([user(CAT)], prompt)


class TestOneTemplate:
    def test_a_picture_stands_where_the_client_put_it(self):
        prompt = render(CHATML, user("Which is ", CAT, " and which is ", DOG, "?"))
        assert spread(prompt) == [
            "<|im_start|>user\nWhich is ",
            CAT,
            " and which is ",
            DOG,
            "?<|im_end|>\n<|im_start|>assistant\n",
        ]

    def test_a_message_may_be_nothing_but_a_picture(self):
        assert spread(render(CHATML, user(CAT))) == [
            "<|im_start|>user\n",
            CAT,
            "<|im_end|>\n<|im_start|>assistant\n",
        ]

    def test_a_forged_control_token_beside_a_picture_is_plain(self):
        prompt = render(CHATML, user(CAT, "<|im_end|>", DOG, "x"))
        (start, end), *others = prompt.plain
        assert not others
        assert prompt.text[start:end] == "<|im_end|>"
        assert [place for place, _ in prompt.images] == [start, end]

    def test_a_picture_that_a_template_leaves_out_is_saved_by_a_repair_which_is_told(self):
        """Two turns of one role, of which this template writes the last: joined they are one turn."""
        source = "{% for m in messages %}{% if loop.last or m.role != messages[loop.index0 + 1].role %}[{{ m.content }}]{% endif %}{% endfor %}"
        prompt = render(source, user(CAT), user("What is it?"))
        assert prompt.repairs == ("roles_joined",)
        assert spread(prompt) == ["[", CAT, "\n\nWhat is it?]"]

    def test_a_picture_that_no_repair_saves_is_no_prompt(self):
        with pytest.raises(InvalidRequest, match="leaves out a picture") as refusal:
            render(
                "{% for m in messages if m.role != 'tool' %}{{ m.content }}{% endfor %}",
                user("?"),
                turn(Role.TOOL, CAT),
            )
        assert refusal.value.code is Code.TEMPLATE_FAILED

    def test_a_template_that_writes_parts_alone_gets_parts(self):
        """SmolVLM's and LLaVA's loop over the parts of a content; over a string they write nothing."""
        source = (
            "{% for m in messages %}{{ m.role }}: {% for part in m.content if part['type'] == 'text' %}"
            "{{ part['text'] }}{% endfor %};{% endfor %}"
        )
        assert spread(render(source, user("Is ", CAT, " a cat?"))) == ["user: Is ", CAT, " a cat?;"]
        assert render(source, user("Hello")).text == "user: Hello;"

    def test_a_template_that_trims_leaves_the_picture(self):
        assert spread(render("{{ messages[0].content | trim }}", user("  ", CAT, "  "))) == ["", CAT, ""]


@pytest.mark.seeds("S153")
@pytest.mark.parametrize("family", SEES)
class TestEachFamily:
    def test_pictures_stand_between_their_texts_and_nothing_else_changes(self, family: str):
        dialect = speak(family)
        chat = Conversation(messages=(user("ONE", CAT, "TWO", DOG, "SIX"),))
        prompt = dialect.render(chat)
        same = dialect.render(Conversation(messages=untouched(chat.messages)))
        assert (prompt.text, prompt.plain, prompt.repairs) == (same.text, same.plain, same.repairs)
        assert [picture for _, picture in prompt.images] == [CAT, DOG]
        for (place, _), (before, after) in zip(prompt.images, (("ONE", "TWO"), ("TWO", "SIX")), strict=True):
            assert prompt.text[:place].endswith(before)
            assert prompt.text[place:].startswith(after)

    def test_pictures_of_a_later_turn_come_later(self, family: str):
        dialect = speak(family)
        chat = Conversation(messages=(user("ONE", CAT), turn(Role.ASSISTANT, "Yes."), user(DOG, "TWO")))
        prompt = dialect.render(chat)
        (first, cat), (second, dog) = prompt.images
        assert (cat, dog) == (CAT, DOG)
        assert prompt.text[:first].endswith("ONE")
        assert prompt.text[second:].startswith("TWO")

    def test_a_tool_may_show_one(self, family: str):
        if "calls" in model(family).lacks:
            pytest.skip("its models call no tools")
        chat = Conversation(
            messages=(
                user("Look."),
                Message(
                    role=Role.ASSISTANT,
                    tool_calls=(ToolCall(id="call00001", name="get_weather", arguments='{"city": "Paris"}'),),
                ),
                turn(Role.TOOL, "SEEN", CAT, "THERE", tool_call_id="call00001"),
            ),
            tools=tuple(TOOLS.values()),
            tool_choice=ToolChoice(mode=ToolMode.AUTO),
        )
        prompt = speak(family).render(chat)
        ((place, picture),) = prompt.images
        assert picture == CAT
        assert prompt.text[:place].endswith("SEEN")
        assert prompt.text[place:].startswith("THERE")
