from __future__ import annotations

from typing import get_args, get_type_hints

import pytest
from openai.types import chat
from openai.types.chat.chat_completion_content_part_image_param import ImageURL

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import ImagePart, Message, Role, TextPart, ToolCall
from dragoman.surfaces.openai_messages import (
    IMAGE_FIELDS,
    MESSAGE_FIELDS,
    MESSAGES,
    PART_FIELDS,
    TOOL_CALL_FIELDS,
    Transcript,
)
from dragoman.surfaces.readers import Place
from support.pictures import data_url, file, image_url


def read(*messages, at=None):
    return transcript(*messages, at=at).messages


def transcript(*messages, at=None) -> Transcript:
    return MESSAGES.reader.read(list(messages), at or Place().child("messages"))


def refusal(*messages) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        read(*messages)
    return caught.value


USER = {"role": "user", "content": "hi"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_each_role_speaks(role):
    assert read({"role": role, "content": "x", "name": "n"}) == (
        Message(role=Role(role), parts=(TextPart(text="x"),), name="n"),
    )


def test_a_tool_answers_a_call_that_an_assistant_made_without_words():
    assert read(
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
    ) == (
        Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="call_1", name="f", arguments='{"a": 1}'),)),
        Message(role=Role.TOOL, parts=(TextPart(text="3"),), tool_call_id="call_1"),
    )


@pytest.mark.parametrize(
    "official",
    [
        chat.ChatCompletionDeveloperMessageParam,
        chat.ChatCompletionSystemMessageParam,
        chat.ChatCompletionUserMessageParam,
        chat.ChatCompletionAssistantMessageParam,
        chat.ChatCompletionToolMessageParam,
        chat.ChatCompletionFunctionMessageParam,
    ],
)
def test_every_field_of_openais_messages_has_a_row(official):
    assert set(official.__annotations__) <= {row.name for row in MESSAGE_FIELDS}


@pytest.mark.parametrize(
    "official, table",
    [
        (chat.ChatCompletionContentPartTextParam, PART_FIELDS),
        (chat.ChatCompletionContentPartRefusalParam, PART_FIELDS),
        (chat.ChatCompletionContentPartImageParam, PART_FIELDS),
        (ImageURL, IMAGE_FIELDS),
        (chat.ChatCompletionMessageFunctionToolCallParam, TOOL_CALL_FIELDS),
        (chat.ChatCompletionMessageCustomToolCallParam, TOOL_CALL_FIELDS),
    ],
)
def test_every_field_of_openais_parts_and_calls_has_a_row(official, table):
    assert set(official.__annotations__) <= {row.name for row in table}


def test_a_refusal_is_what_the_assistant_said():
    said = {"role": "assistant", "content": None, "refusal": "I can't."}
    assert read(said) == (Message(role=Role.ASSISTANT, parts=(TextPart(text="I can't."),)),)
    assert read(said | {"content": "Sorry. "})[0].text == "Sorry. I can't."
    assert read({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]})[0].text == "No."


def test_reasoning_is_read_by_either_name():
    said = {"role": "assistant", "content": "4"}
    assert read(said | {"reasoning": "2+2"})[0].reasoning == "2+2"
    at = Place().child("messages")
    assert read(said | {"reasoning": "b", "reasoning_content": "a"}, at=at)[0].reasoning == "a"
    assert list(at.ignored) == ["messages.*.reasoning"]


def test_an_answer_that_ended_while_the_model_thought_can_be_sent_back():
    assert read({"role": "assistant", "content": None, "reasoning_content": "Let me"}) == (
        Message(role=Role.ASSISTANT, reasoning="Let me"),
    )


@pytest.mark.parametrize("name", ["prefix", "partial"])
@pytest.mark.parametrize("value", [True, False])
def test_a_last_message_can_say_that_it_is_a_beginning(name, value):
    turns = USER, {"role": "assistant", "content": "Par", name: value}
    assert transcript(*turns).prefix is value
    assert transcript(USER).prefix is None


def test_the_older_form_of_a_call_and_its_answer_are_joined_by_the_name_of_the_function():
    called = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}
    assert read(called, {"role": "function", "name": "f", "content": "3"}) == (
        Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="f", name="f", arguments='{"a": 1}'),)),
        Message(role=Role.TOOL, parts=(TextPart(text="3"),), name="f", tool_call_id="f"),
    )


def test_the_newer_form_of_a_call_wins_and_the_older_is_listed():
    place = Place()
    both = {"role": "assistant", "tool_calls": [CALL], "function_call": {"name": "g", "arguments": "{}"}}
    (message,) = read(both, at=place.child("messages"))
    assert [call.name for call in message.tool_calls] == ["f"]
    assert list(place.ignored) == ["messages.*.function_call"]


def test_arguments_of_an_earlier_call_are_not_judged():
    call = {"id": "c", "function": {"name": "f", "arguments": "[not json"}}
    assert read({"role": "assistant", "tool_calls": [call]})[0].tool_calls[0].arguments == "[not json"


def test_parts_stay_apart():
    content = [{"type": "text", "text": "a"}, {"type": "text", "text": ""}]
    assert read({"role": "user", "content": content})[0].parts == (TextPart(text="a"), TextPart(text=""))


def test_what_an_sdk_dumps_of_an_earlier_answer_is_read():
    dumped = {
        "role": "assistant",
        "content": "Paris",
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "tool_calls": None,
        "reasoning_content": "France, so",
    }
    at = Place().child("messages")
    assert read(dumped, at=at) == (
        Message(role=Role.ASSISTANT, parts=(TextPart(text="Paris"),), reasoning="France, so"),
    )
    assert list(at.ignored) == ["messages.*.annotations"]


@pytest.mark.parametrize(
    "messages, param, code",
    [
        ([], "messages", Code.INVALID_VALUE),
        (["hi"], "messages.0", Code.INVALID_VALUE),
        ([USER, {"content": "x"}], "messages.1.role", Code.MISSING_FIELD),
        ([{"role": "ctx", "content": "x"}], "messages.0.role", Code.INVALID_VALUE),
        ([{"role": 5, "content": "x"}], "messages.0.role", Code.INVALID_VALUE),
        ([{"role": "user"}], "messages.0.content", Code.MISSING_FIELD),
        ([{"role": "user", "content": None}], "messages.0.content", Code.MISSING_FIELD),
        ([{"role": "assistant", "content": None, "tool_calls": []}], "messages.0.content", Code.MISSING_FIELD),
        ([{"role": "user", "content": 5}], "messages.0.content", Code.INVALID_VALUE),
        ([{"role": "user", "content": []}], "messages.0.content", Code.INVALID_VALUE),
        ([{"role": "user", "content": ["x"]}], "messages.0.content.0", Code.INVALID_VALUE),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages.0.content.0.text", Code.MISSING_FIELD),
        ([{"role": "user", "content": [{"text": "x"}]}], "messages.0.content.0.type", Code.MISSING_FIELD),
        (
            [{"role": "user", "content": [{"type": "txt", "text": "x"}]}],
            "messages.0.content.0.type",
            Code.INVALID_VALUE,
        ),
        ([{"role": "user", "content": "\ud800"}], "messages.0.content", Code.INVALID_VALUE),
        ([{"role": "user", "content": "a\0"}], "messages.0.content", Code.INVALID_VALUE),
        (
            [{"role": "user", "content": [{"type": "text", "text": "\0"}]}],
            "messages.0.content.0.text",
            Code.INVALID_VALUE,
        ),
        ([{"role": "user", "content": "x", "name": 5}], "messages.0.name", Code.INVALID_VALUE),
        ([{"role": "user", "content": "x", "tool_calls": [CALL]}], "messages.0.tool_calls", Code.INVALID_VALUE),
        ([{"role": "user", "content": "x", "tool_call_id": "c"}], "messages.0.tool_call_id", Code.INVALID_VALUE),
        (
            [{"role": "user", "content": "x", "reasoning_content": "r"}],
            "messages.0.reasoning_content",
            Code.INVALID_VALUE,
        ),
        ([{"role": "user", "content": "x", "reasoning": ""}], "messages.0.reasoning", Code.INVALID_VALUE),
        ([{"role": "user", "content": "x", "refusal": "r"}], "messages.0.refusal", Code.INVALID_VALUE),
        ([{"role": "user", "content": "x", "prefix": True}], "messages.0.prefix", Code.INVALID_VALUE),
        ([{"role": "assistant", "content": "x", "prefix": "yes"}], "messages.0.prefix", Code.INVALID_VALUE),
        ([{"role": "assistant", "content": "x", "partial": True}, USER], "messages.0", Code.INVALID_VALUE),
        ([{"role": "assistant", "content": None, "reasoning": ""}], "messages.0.content", Code.MISSING_FIELD),
        ([{"role": "tool", "content": "x"}], "messages.0.tool_call_id", Code.MISSING_FIELD),
        ([{"role": "function", "content": "x"}], "messages.0.name", Code.MISSING_FIELD),
        (
            [{"role": "function", "content": "x", "name": "f", "tool_call_id": "c"}],
            "messages.0.tool_call_id",
            Code.INVALID_VALUE,
        ),
        (
            [{"role": "user", "content": "x", "function_call": {"name": "f", "arguments": ""}}],
            "messages.0.function_call",
            Code.INVALID_VALUE,
        ),
        (
            [{"role": "assistant", "function_call": {"name": "f"}}],
            "messages.0.function_call.arguments",
            Code.MISSING_FIELD,
        ),
        ([{"role": "assistant", "tool_calls": "x"}], "messages.0.tool_calls", Code.INVALID_VALUE),
        ([{"role": "assistant", "tool_calls": ["x"]}], "messages.0.tool_calls.0", Code.INVALID_VALUE),
        (
            [{"role": "assistant", "tool_calls": [CALL | {"id": None}]}],
            "messages.0.tool_calls.0.id",
            Code.MISSING_FIELD,
        ),
        ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], "messages.0.tool_calls.0.function", Code.MISSING_FIELD),
        (
            [{"role": "assistant", "tool_calls": [CALL | {"function": {"name": "f", "arguments": {}}}]}],
            "messages.0.tool_calls.0.function.arguments",
            Code.INVALID_VALUE,
        ),
    ],
)
def test_a_fault_is_named_by_its_path(messages, param, code):
    error = refusal(*messages)
    assert (error.param, error.code) == (param, code)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AA=="}},
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f"}},
    ],
)
def test_a_part_that_is_neither_text_nor_a_picture_is_refused_where_it_stands(part):
    error = refusal({"role": "user", "content": [{"type": "text", "text": "what"}, part]})
    assert isinstance(error, Unsupported)
    assert error.param == "messages.0.content.1"
    assert part["type"] in error.message


@pytest.mark.parametrize(
    "message, param",
    [
        ({"role": "assistant", "content": "x", "audio": {"id": "a"}}, "messages.0.audio"),
        ({"role": "assistant", "tool_calls": [CALL | {"type": "custom"}]}, "messages.0.tool_calls.0.type"),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": ""}}]},
            "messages.0.tool_calls.0.custom",
        ),
    ],
)
def test_forms_that_are_not_served_are_refused_by_name(message, param):
    error = refusal(message)
    assert isinstance(error, Unsupported)
    assert error.param == param


def test_unknown_keys_are_listed_once_however_long_the_conversation():
    at = Place().child("messages")
    part = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    read(*[{"role": "user", "content": [part], "id": str(index)} for index in range(500)], at=at)
    assert set(at.ignored) == {"messages.*.id", "messages.*.content.*.cache_control"}


PICTURE = file()
PATH = "messages.0.content.0.image_url.url"


def shown(part: dict, *, role: str = "user", at=None) -> tuple[ImagePart, ...]:
    return read({"role": role, "tool_call_id": "c" if role == "tool" else None, "content": [part]}, at=at)[0].images


@pytest.mark.seeds("S153")
class TestPictures:
    def test_they_keep_their_places_among_the_texts(self):
        (message,) = read({"role": "user", "content": [image_url(PICTURE), {"type": "text", "text": "?"}]})
        assert message.parts == (ImagePart(data=PICTURE, media_type="image/png"), TextPart(text="?"))
        assert message.images[0].place == PATH

    @pytest.mark.parametrize(
        "part",
        [
            {"type": "image_url", "image_url": data_url(PICTURE)},
            {"type": "input_image", "image_url": data_url(PICTURE), "detail": "low"},
        ],
        ids=["url_alone", "as_in_responses"],
    )
    def test_other_spellings_of_clients_are_the_same_picture(self, part: dict):
        assert [picture.data for picture in shown(part)] == [PICTURE]

    def test_a_tool_may_show_one(self):
        assert len(shown(image_url(PICTURE), role="tool")) == 1

    @pytest.mark.parametrize("detail", get_args(get_type_hints(ImageURL)["detail"]))
    def test_each_detail_is_taken_and_listed_as_without_effect(self, detail: str):
        at = Place().child("messages")
        assert shown(image_url(PICTURE, detail=detail), at=at)
        assert list(at.ignored) == ["messages.*.content.*.image_url.detail"]

    @pytest.mark.parametrize(
        ("part", "param", "code"),
        [
            ({"type": "image_url"}, "messages.0.content.0.image_url", Code.MISSING_FIELD),
            ({"type": "image_url", "image_url": {}}, PATH, Code.MISSING_FIELD),
            ({"type": "image_url", "image_url": 7}, "messages.0.content.0.image_url", Code.INVALID_VALUE),
            ({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, PATH, Code.UNSUPPORTED_VALUE),
            ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}, PATH, Code.INVALID_IMAGE),
        ],
    )
    def test_a_fault_is_named_by_its_path(self, part: dict, param: str, code: Code):
        error = refusal({"role": "user", "content": [part]})
        assert (error.param, error.code) == (param, code)

    @pytest.mark.parametrize("role", ["system", "developer", "assistant"])
    def test_nobody_but_users_and_tools_shows_any(self, role: str):
        error = refusal({"role": role, "content": [image_url(PICTURE)]}, USER)
        assert (error.param, error.code) == (PATH, Code.INVALID_VALUE)

    def test_eleven_are_too_many(self):
        error = refusal(
            {"role": "user", "content": [image_url(PICTURE)] * 6}, {"role": "user", "content": [image_url(PICTURE)] * 5}
        )
        assert (error.param, error.code) == ("messages", Code.INVALID_VALUE)
