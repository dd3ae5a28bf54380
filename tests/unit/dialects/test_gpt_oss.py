"""Harmony: what its messages may be held to, how its efforts are asked for, and where a continued answer goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.request import ChoiceFormat, Conversation, Message, Role, TextPart, Thinking, ToolChoice, ToolMode
from dragoman.dialects.base import Channel, Piece
from support.dialect_tapes import ask, model, speak
from support.grammars import accepts
from support.tools import TOOLS

SPECIALS = model("gpt_oss").specials
NEXT = "<|end|><|start|>assistant"
CALL = " to=functions.now<|channel|>commentary json<|message|>{}"
THOUGHT = f"<|channel|>analysis<|message|>Hm.{NEXT}"
PREAMBLE = f"<|channel|>commentary<|message|>I look.{NEXT}"
FINAL = "<|channel|>final<|message|>"


def grammar(choice: ToolChoice | None = None, output: ChoiceFormat | None = None, *, tools: bool = True) -> str:
    dialect = speak("gpt_oss")
    conversation = replace(ask(TOOLS.values() if tools else ()), tool_choice=choice or ToolChoice())
    text = dialect.grammar(conversation, dialect.render(conversation), output)
    assert text is not None
    return text


@pytest.mark.parametrize(
    "answer, auto, required",
    [
        (f"{FINAL}Yes.", True, False),
        (f"{THOUGHT}{THOUGHT}{PREAMBLE}{FINAL}Yes.", True, False),
        (f"{THOUGHT}{PREAMBLE}{CALL}", True, True),
        ('<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}', True, True),
        ('<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"town":"Paris"}', False, False),
        ("<|channel|>commentary to=functions.nothing <|constrain|>json<|message|>{}", False, False),
        (f"{CALL}<|call|><|start|>assistant{CALL}", False, False),
        ("Yes.", False, False),
    ],
)
def test_thoughts_and_preambles_come_before_an_answer_or_one_call(answer: str, auto: bool, required: bool):
    assert accepts(grammar(), answer, specials=SPECIALS) is auto
    assert accepts(grammar(ToolChoice(mode=ToolMode.REQUIRED)), answer, specials=SPECIALS) is required


def test_a_format_is_that_of_the_final_message():
    output = ChoiceFormat(options=("yes", "no"))
    for tools in (False, True):
        text = grammar(output=output, tools=tools)
        assert accepts(text, f"{THOUGHT}{FINAL}yes", specials=SPECIALS)
        assert not accepts(text, f"{THOUGHT}{FINAL}maybe", specials=SPECIALS)
        assert not accepts(text, "yes", specials=SPECIALS)
        assert accepts(text, CALL, specials=SPECIALS) is tools


@pytest.mark.seeds("S61", "S62")
@pytest.mark.parametrize(
    "thinking, effort",
    [
        (Thinking(), "medium"),
        (Thinking(effort="high"), "high"),
        (Thinking(effort="max"), "high"),
        (Thinking(effort="minimal"), "low"),
        (Thinking(effort="none"), "low"),
        (Thinking(enabled=False), "low"),
        (Thinking(enabled=True), "medium"),
    ],
)
def test_efforts_are_those_that_the_model_was_taught(thinking: Thinking, effort: str):
    dialect, conversation = speak("gpt_oss"), replace(ask(), thinking=thinking)
    assert f"Reasoning: {effort}\n" in dialect.render(conversation).text
    assert dialect.ignores(conversation) == ()


def test_an_answer_that_goes_on_is_text_without_a_header():
    said = Message(role=Role.ASSISTANT, parts=(TextPart(text="It may"),))
    conversation = Conversation(messages=(*ask().messages, said), continue_final=True, add_generation_prompt=False)
    dialect = speak("gpt_oss")
    prompt = dialect.render(conversation)
    assert prompt.text.endswith("<|channel|>final<|message|>It may")
    assert dialect.parser(conversation, prompt).feed(" rain.", special=False) == (Piece(Channel.TEXT, " rain."),)
    held = dialect.grammar(conversation, prompt, ChoiceFormat(options=(" rain.",)))
    assert held is not None
    assert accepts(held, " rain.", specials=SPECIALS)


def test_calls_where_none_may_be_made_are_thoughts():
    dialect, conversation = speak("gpt_oss"), ask()
    parser = dialect.parser(conversation, dialect.render(conversation))
    parsed = [
        *parser.feed(" to=functions.now", special=False),
        *parser.feed("<|message|>", special=True),
        *parser.feed("{}", special=False),
        *parser.feed("<|call|>", special=True),
    ]
    assert [part for part in parsed if not (isinstance(part, Piece) and part.channel is Channel.HIDDEN)] == [
        Piece(Channel.REASONING, "{}")
    ]
