from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import Conversation, Detokenize, Message, Role, TextPart, TextPrompt, Tokenize
from dragoman.core.results import Detokenized, Tokenized
from dragoman.surfaces import openai_chat
from dragoman.surfaces.fields import Form
from dragoman.surfaces.openai_conversation import conversation
from dragoman.surfaces.openai_tool_choice import tooling
from dragoman.surfaces.readers import Place
from dragoman.surfaces.tokens import detokenized, parse_detokenize, parse_tokenize, tokenized

MESSAGES = [{"role": "user", "content": "hi"}]
CONVERSATION = (Message(role=Role.USER, parts=(TextPart(text="hi"),)),)


@pytest.mark.seeds("S54")
@pytest.mark.parametrize(
    "body, operation",
    [
        ({"prompt": "a"}, Tokenize(source=TextPrompt(text="a", parse_special=True, add_special=True))),
        ({"prompt": ""}, Tokenize(source=TextPrompt(text=""))),
        (
            {"prompt": "a", "add_special_tokens": False, "parse_special": False, "return_token_strs": True},
            Tokenize(source=TextPrompt(text="a", parse_special=False, add_special=False), return_token_strs=True),
        ),
        ({"content": "a", "add_special": False}, Tokenize(source=TextPrompt(text="a", add_special=False))),
        ({"messages": MESSAGES}, Tokenize(source=Conversation(messages=CONVERSATION, add_generation_prompt=True))),
        (
            {"messages": MESSAGES, "add_generation_prompt": False, "model": "m", "prompt": None},
            Tokenize(source=Conversation(messages=CONVERSATION, add_generation_prompt=False), model="m"),
        ),
    ],
)
def test_a_text_or_a_conversation_is_tokenized(body, operation):
    assert parse_tokenize(body) == (operation, ())


@pytest.mark.seeds("S54")
@pytest.mark.parametrize(
    "body, param, code",
    [
        ({}, "prompt", Code.MISSING_FIELD),
        ({"prompt": "a", "messages": MESSAGES}, "messages", Code.INVALID_VALUE),
        ({"prompt": "a", "content": "a"}, "content", Code.INVALID_VALUE),
        ({"prompt": 5}, "prompt", Code.INVALID_VALUE),
        ({"prompt": "a\0"}, "prompt", Code.INVALID_VALUE),
        ({"messages": []}, "messages", Code.INVALID_VALUE),
        ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content", Code.INVALID_VALUE),
        ({"prompt": "a", "add_special_tokens": "no"}, "add_special_tokens", Code.INVALID_VALUE),
    ],
)
def test_exactly_one_source_is_wanted_and_well_formed(body, param, code):
    with pytest.raises(InvalidRequest) as caught:
        parse_tokenize(body)
    assert (caught.value.param, caught.value.code) == (param, code)


ASSISTANT = {"role": "assistant", "content": "Par"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.mark.seeds("S54")
@pytest.mark.parametrize("continue_assistant", [True, False])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"messages": [*MESSAGES, ASSISTANT]},
        {"messages": [*MESSAGES, ASSISTANT], "continue_final_message": True, "add_generation_prompt": False},
        {"messages": [*MESSAGES, ASSISTANT], "add_generation_prompt": True},
        {"enable_thinking": True, "preserve_thinking": False, "chat_template_kwargs": {"a": 1}},
        {"reasoning_effort": "high", "add_generation_prompt": False},
        {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
        {"tools": [TOOL], "tool_choice": "none"},
        {"functions": [{"name": "f"}], "function_call": {"name": "f"}},
    ],
)
def test_a_conversation_is_the_one_that_chat_would_answer(fields, continue_assistant):
    body = {"messages": MESSAGES, **fields}
    form = Form(body, openai_chat.FIELDS, Place())
    operation, _ = parse_tokenize(body, continue_assistant=continue_assistant)
    assert operation.source == conversation(form, tooling(form), continue_assistant=continue_assistant)


def test_fields_of_the_other_kind_of_source_are_listed_and_checked_all_the_same():
    assert parse_tokenize({"prompt": "a", "enable_thinking": True})[1] == ("enable_thinking",)
    assert parse_tokenize({"messages": MESSAGES, "add_special_tokens": True})[1] == ("add_special_tokens",)
    with pytest.raises(InvalidRequest) as caught:
        parse_tokenize({"prompt": "a", "enable_thinking": "yes"})
    assert caught.value.param == "enable_thinking"


def test_unknown_fields_are_listed_or_refused_when_strict():
    assert parse_tokenize({"prompt": "a", "foo": 1})[1] == ("foo",)
    assert parse_detokenize({"tokens": [], "foo": 1})[1] == ("foo",)
    with pytest.raises(InvalidRequest) as caught:
        parse_tokenize({"prompt": "a", "foo": 1}, strict=True)
    assert caught.value.param == "foo"


@pytest.mark.seeds("S54")
def test_a_count_says_how_much_would_fit():
    assert tokenized(Tokenized(ids=(19556, 28), context_length=8192)) == {
        "count": 2,
        "max_model_len": 8192,
        "tokens": [19556, 28],
    }
    assert tokenized(Tokenized(ids=(28,), context_length=8, strs=(",",)))["token_strs"] == [","]


@pytest.mark.seeds("S55")
def test_ids_become_text_again():
    assert parse_detokenize({"tokens": [1, 2]}) == (Detokenize(ids=(1, 2)), ())
    assert parse_detokenize({"tokens": [], "skip_special_tokens": True})[0] == Detokenize(
        ids=(), skip_special_tokens=True
    )
    assert detokenized(Detokenized(text="hi")) == {"prompt": "hi"}


@pytest.mark.seeds("S55")
@pytest.mark.parametrize("tokens", ["1 2", [True], [-1], [1.5], {"a": 1}, None])
def test_what_is_no_array_of_ids_is_refused(tokens):
    with pytest.raises(InvalidRequest) as caught:
        parse_detokenize({"tokens": tokens})
    assert caught.value.param == "tokens"
