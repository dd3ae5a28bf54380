from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman.core.request import Thinking
from dragoman.dialects.template import ChatTemplate
from support.conversations import conversation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HI = [{"role": "user", "content": "hi"}]

# Each in the words of the family that it is called by.
QWEN3 = "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% else %}<think>{% endif %}"
QWEN36 = QWEN3 + "{% if preserve_thinking is defined and preserve_thinking is true %}kept{% endif %}"
DEEPSEEK = "{% if not thinking is defined %}{% set thinking = false %}{% endif %}{% if thinking %}<think>{% else %}</think>{% endif %}"
GLM = (
    "{%- set clear_thinking = clear_thinking if clear_thinking is defined else false -%}"
    "{%- if reasoning_effort is defined %}{{ reasoning_effort }}{% endif %}{% if not clear_thinking %}kept{% endif %}"
)
NEMOTRON = "{% set ns = namespace(cut=truncate_history_thinking | default(true)) %}{{ ns.cut }}"
LFM = "{%- set keep_past_thinking = keep_past_thinking | default(false) -%}{{ keep_past_thinking }}"
GPT_OSS = "{% macro system() %}Reasoning: {{ reasoning_effort | default('medium') }}{% endmacro %}{{ system() }}"
SMOLLM2 = "{{ messages[0].content }}"


def template(source: str) -> ChatTemplate:
    return ChatTemplate(source, bos_token="", eos_token="", specials=())


def render(source: str, *, args: dict | None = None, **thinking) -> str:
    chat = conversation(HI, thinking=Thinking(**thinking), template_args=args)
    return template(source).render(chat, now=NOW).text


def ignored(source: str, *, args: dict | None = None, **thinking) -> tuple[str, ...]:
    return template(source).ignores(conversation(HI, thinking=Thinking(**thinking), template_args=args), now=NOW)


@pytest.mark.seeds("S61")
@pytest.mark.parametrize(
    "source, unset, on, off",
    [
        (QWEN3, "<think>", "<think>", "<think></think>"),
        (DEEPSEEK, "</think>", "<think>", "</think>"),
    ],
)
def test_thinking_is_switched_by_the_familys_own_variable(source: str, unset: str, on: str, off: str):
    assert render(source) == unset
    assert render(source, enabled=True) == on
    assert render(source, enabled=False) == off
    assert ignored(source, enabled=True) == ()


@pytest.mark.seeds("S62")
def test_an_effort_is_told_and_switches_thinking_on_unless_it_is_none():
    assert render(GPT_OSS) == "Reasoning: medium"
    assert render(GPT_OSS, effort="high") == "Reasoning: high"
    for effort in ("minimal", "low", "medium", "high", "xhigh", "max"):
        assert render(DEEPSEEK, effort=effort) == "<think>"
    assert render(DEEPSEEK, effort="none") == "</think>"
    assert render(QWEN3, effort="none") == "<think></think>"


@pytest.mark.seeds("S61", "S62")
def test_the_switch_itself_wins_over_what_an_effort_says_of_it():
    assert render(QWEN3, effort="high", enabled=False) == "<think></think>"
    assert render(QWEN3, effort="none", enabled=True) == "<think>"
    assert ignored(QWEN3, effort="high", enabled=False) == ("reasoning_effort",)


@pytest.mark.seeds("S63")
@pytest.mark.parametrize(
    "source, unset, kept, dropped",
    [
        (QWEN36, "<think>", "<think>kept", "<think>"),
        (GLM, "kept", "kept", ""),
        (NEMOTRON, "True", "False", "True"),
        (LFM, "False", "True", "False"),
    ],
)
def test_keeping_earlier_thoughts_is_said_in_the_familys_own_words(source: str, unset: str, kept: str, dropped: str):
    assert render(source) == unset
    assert render(source, preserve=True) == kept
    assert render(source, preserve=False) == dropped
    assert ignored(source, preserve=True) == ()


def test_a_clients_arguments_win_over_the_fields_and_the_fields_are_listed():
    assert render(QWEN3, enabled=True, args={"enable_thinking": False}) == "<think></think>"
    assert ignored(QWEN3, enabled=True, args={"enable_thinking": False}) == ("enable_thinking",)
    assert ignored(GLM, effort="low", args={"reasoning_effort": "high"}) == ("reasoning_effort",)
    assert ignored(GPT_OSS + QWEN3, effort="low", args={"enable_thinking": True}) == ()


@pytest.mark.seeds("S61", "S62", "S63")
def test_what_a_template_does_not_read_is_listed_by_name():
    assert ignored(SMOLLM2) == ()
    assert ignored(SMOLLM2, enabled=False, effort="low", preserve=True, args={"a": 1, "enable_thinking": True}) == (
        "enable_thinking",
        "reasoning_effort",
        "preserve_thinking",
        "template_args.a",
        "template_args.enable_thinking",
    )


@pytest.mark.parametrize(
    "source",
    [
        "{{ a }}",
        "{% set a = a | default(1) %}{{ a }}",
        "{% set ns = namespace(b=a) %}{{ ns.b }}",
        "{% macro m() %}{{ a }}{% endmacro %}{{ m() }}",
        "{% for m in messages %}{% if a is defined %}x{% endif %}{% endfor %}",
        "{% generation %}{{ a }}{% endgeneration %}",
    ],
)
def test_a_variable_is_used_wherever_the_template_reads_it(source: str):
    assert ignored(source, args={"a": 1}) == ()


@pytest.mark.parametrize(
    "source", ["{% set a = 1 %}{{ a }}", "{% for a in messages %}{{ a.role }}{% endfor %}", "{{ messages[0].a }}"]
)
def test_a_name_that_the_template_gives_itself_is_none_that_it_reads(source: str):
    assert ignored(source, args={"a": 1}) == ("template_args.a",)
