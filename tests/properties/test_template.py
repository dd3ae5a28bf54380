"""Law 7 for any text: the prompt is what the template writes, and no client character takes part in a control token."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InvalidRequest
from dragoman.core.request import TextPrompt
from dragoman.dialects.runner import TemplateRunner
from dragoman.dialects.template import ChatTemplate
from support.conversations import conversation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPECIALS = ("<|im_start|>", "<|im_end|>", "<|im_end|><|", "|><|", "<s>", "[INST]", "<|a", "EOS", "<\u2581x>")
"""Some overlap, some hold others, one is a word."""
AWKWARD = (*SPECIALS, "<|im_end|>\n<|", 'x"y')
"""Templates trim white space and JSON escapes quotes, so these can be lost track of."""

Pieces = list[tuple[str, bool]]
"""A prompt as (text, whether the client wrote it), which each template below is known to write."""


def chatml(texts: list[str]) -> Pieces:
    return [piece for text in texts for piece in (("<|im_start|>user\n", False), (text, True), ("<|im_end|>\n", False))]


def side_by_side(texts: list[str]) -> Pieces:
    return [(text, True) for text in texts]


def wrapped(texts: list[str]) -> Pieces:
    return [piece for text in texts for piece in (("<|", False), (text.strip(), True), ("|>", False))]


def without_tildes(texts: list[str]) -> Pieces:
    return [piece for text in texts for piece in ((text.replace("~", ""), True), ("<|im_end|>", False))]


def last_part(texts: list[str]) -> Pieces:
    return [piece for text in texts for piece in ((text.split("</think>")[-1], True), ("EOS", False))]


def backwards(texts: list[str]) -> Pieces:
    return [(text[::-1], True) for text in texts]


TEMPLATES: list[tuple[str, Callable[[list[str]], Pieces]]] = [
    ("<|im_start|>user\n{{ c }}<|im_end|>{{ '\\n' }}", chatml),
    ("{{ c }}", side_by_side),
    ("<|{{ c | trim }}|>", wrapped),
    ("{{ c.replace('~', '') }}<|im_end|>", without_tildes),
    ("{% if '</think>' in c %}{{ c.split('</think>')[-1] }}{% else %}{{ c }}{% endif %}EOS", last_part),
    ("{{ c[::-1] }}", backwards),
]

pieces_of_tokens = st.sampled_from(SPECIALS).flatmap(
    lambda token: st.tuples(st.integers(0, len(token)), st.integers(0, len(token))).map(
        lambda cut: token[min(cut) : max(cut)]
    )
)
hostile = st.lists(
    pieces_of_tokens
    | st.sampled_from(SPECIALS)
    | st.sampled_from(["~", "</think>", " ", "\n", '"', "\\", "\U00020000", "im", "end", ">|dne_mi|<"])
    | st.text(max_size=3).filter(lambda text: "\0" not in text),
    max_size=8,
).map("".join)


def loop(body: str) -> str:
    return "{% for m in messages %}{% set c = m.content %}" + body + "{% endfor %}"


@pytest.mark.parametrize("body, oracle", TEMPLATES, ids=lambda value: getattr(value, "__name__", None))
@given(texts=st.lists(hostile, min_size=1, max_size=3))
def test_a_control_token_is_recognised_exactly_where_the_template_alone_wrote_it(
    body: str, oracle: Callable[[list[str]], Pieces], texts: list[str]
):
    template = ChatTemplate(loop(body), bos_token="", eos_token="", specials=SPECIALS)
    prompt = template.render(conversation([{"role": "user", "content": text} for text in texts]), now=NOW)

    check(prompt, oracle(texts))


def check(prompt: TextPrompt, pieces: Pieces) -> None:
    assert prompt.text == "".join(text for text, _ in pieces)
    client = [mine for text, mine in pieces for _ in text]
    plain = [any(start <= i < end for start, end in prompt.plain) for i in range(len(prompt.text))]
    for special in SPECIALS:
        for start in range(len(prompt.text) - len(special) + 1):
            if prompt.text.startswith(special, start):
                where = slice(start, start + len(special))
                assert any(plain[where]) is any(client[where]), (special, start)
    edges = [edge for span in prompt.plain for edge in span]
    assert edges == sorted(set(edges)), "spans are ordered, disjoint and not empty"


def open_chatml(texts: list[str]) -> Pieces:
    return chatml(texts)[:-1]


def open_part(texts: list[str]) -> Pieces:
    return last_part(texts)[:-1]


@pytest.mark.seeds("S64")
@pytest.mark.parametrize(
    "body, oracle",
    [(TEMPLATES[0][0], open_chatml), (TEMPLATES[1][0], side_by_side), (TEMPLATES[4][0], open_part)],
    ids=lambda value: getattr(value, "__name__", None),
)
@given(texts=st.lists(hostile, min_size=1, max_size=3))
def test_the_same_holds_for_a_turn_that_is_left_open_at_its_last_character(
    body: str, oracle: Callable[[list[str]], Pieces], texts: list[str]
):
    template = ChatTemplate(loop(body), bos_token="", eos_token="", specials=SPECIALS)
    turns = [{"role": "assistant", "content": text} for text in texts]
    check(template.render(conversation(turns, continue_final=True), now=NOW), oracle(texts))


MEDDLERS = [
    "{{ c | upper }}",
    "{{ c[1:9] | urlencode }}",
    "{% if c[0] == '<' %}!{% endif %}{{ c }}",
    "{{ c | tojson }}",
]


@pytest.mark.parametrize("body", [*MEDDLERS, "{{ c | trim }}", "{{ c }}"])
@pytest.mark.parametrize("continue_final", [False, True])
@given(texts=st.lists(hostile, min_size=1, max_size=3))
def test_a_template_that_meddles_with_text_is_refused_or_lets_no_token_through(
    body: str, continue_final: bool, texts: list[str]
):
    own = "<|im_start|>"
    template = ChatTemplate(own + loop(body), bos_token="", eos_token="", specials=AWKWARD)
    turns = [{"role": "assistant", "content": text} for text in texts]
    try:
        prompt = template.render(conversation(turns, continue_final=continue_final), now=NOW)
    except InvalidRequest:
        return
    for special in AWKWARD:
        for start in range(len(prompt.text)):
            end = start + len(special)
            if prompt.text.startswith(special, start):
                touched = any(begin < end and start < stop for begin, stop in prompt.plain)
                assert touched is (end > len(own)), (special, start)


def in_tokens(texts: list[str]) -> Pieces:
    return [piece for text in texts for piece in (("<|", False), (text, True), ("|>", False))]


names = st.lists(
    hostile | st.sampled_from(["im", "end", "im_end", "a", "x", "s", "INST", "EO", "get_weather"]),
    min_size=1,
    max_size=4,
    unique=True,
)


@pytest.mark.parametrize("body, oracle", [("{{ n }}", side_by_side), ("<|{{ n }}|>", in_tokens)])
@pytest.mark.parametrize("source", ["{% for t in tools %}{% set n = t.function.name %}", "{% for n in properties %}"])
@given(names=names)
def test_a_tools_names_take_no_part_in_a_control_token(
    source: str, body: str, oracle: Callable[[list[str]], Pieces], names: list[str]
):
    tools = [{"function": {"name": name}} for name in names]
    tools[0]["function"]["parameters"] = {"properties": {name: {} for name in names}}
    properties = "{% set properties = tools[0].function.parameters.properties %}"
    template = TemplateRunner(
        properties + source + body + "{% endfor %}", bos_token="", eos_token="", specials=SPECIALS
    )
    check(template.write(conversation([], tools=tools), now=NOW).prompt, oracle(names))


@pytest.mark.parametrize("said", ["", "<|im_end|>"])
@pytest.mark.parametrize("body", ["{{ n }}", "<{{ n }}>"])
@given(names=names)
def test_names_that_a_template_sorts_are_refused_or_let_no_token_through(said: str, body: str, names: list[str]):
    own = "[INST]"
    source = "{% for n in tools[0].function.parameters.properties | sort %}" + body + "{% endfor %}" + own
    template = TemplateRunner(source + "{{ messages[0].content }}", bos_token="", eos_token="", specials=SPECIALS)
    tool = {"function": {"name": "f", "parameters": {"properties": {name: {} for name in names}}}}
    try:
        prompt = template.write(conversation([{"role": "user", "content": said}], tools=[tool]), now=NOW).prompt
    except InvalidRequest:
        return
    ours = len(prompt.text) - len(said) - len(own)
    for special in SPECIALS:
        for start in range(len(prompt.text)):
            end = start + len(special)
            if prompt.text.startswith(special, start):
                touched = any(begin < end and start < stop for begin, stop in prompt.plain)
                assert touched is not (start == ours and special == own), (special, start)
