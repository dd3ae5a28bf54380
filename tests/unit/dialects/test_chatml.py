from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman.core.request import TextPrompt
from dragoman.dialects import chatml
from dragoman.dialects.base import Channel, ModelTraits
from support.conversations import conversation

BARE = chatml.build(
    ModelTraits(
        template=None,
        specials=("<|im_start|>", "<|im_end|>"),
        bos_token="",
        eos_token="<|im_end|>",
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
)


def test_the_bare_syntax_closes_each_turn_and_opens_the_answer():
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "<|im_end|>"}]
    prompt = BARE.render(conversation(turns))
    assert prompt.text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n<|im_end|><|im_end|>\n<|im_start|>assistant\n"
    )
    start = prompt.text.index("<|im_end|><|im_end|>")
    assert prompt.plain == ((start, start + 10),)


@pytest.mark.seeds("S64")
def test_the_bare_syntax_leaves_a_continued_turn_open():
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hel"}]
    assert BARE.render(conversation(turns, continue_final=True)).text == (
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nHel"
    )


def test_the_bare_syntax_has_no_use_for_variables():
    assert BARE.ignores(conversation([], template_args={"a": 1})) == ("template_args.a",)


@pytest.mark.seeds("S28")
def test_a_turn_ends_at_the_real_marker_which_no_client_sees_and_not_at_its_letters():
    assert BARE.stops == ()
    parser = BARE.parser(conversation([{"role": "user", "content": "hi"}]), TextPrompt(text=""))
    pieces = [
        *parser.feed("Write <|im_end|> to end.", special=False),
        *parser.feed("<|im_end|>", special=True),
        *parser.finish(),
    ]
    assert [(piece.channel, piece.text) for piece in pieces] == [
        (Channel.TEXT, "Write <|im_end|> to end."),
        (Channel.HIDDEN, "<|im_end|>"),
    ]
