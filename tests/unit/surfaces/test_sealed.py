from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InvalidRequest
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.readers import Place
from dragoman.surfaces.sealed import seal, unseal, unsealed

TEXTS = st.text(st.characters(blacklist_categories=["Cs"]))


@given(TEXTS)
def test_a_client_gives_back_what_it_got_in_printable_ascii(text):
    word = seal(text)
    assert word.isascii()
    assert word.isprintable()
    assert not {'"', "\\", " "} & set(word)
    assert unseal(word) == text


@given(st.text(max_size=40))
def test_any_other_word_is_foreign_and_none_stands_for_more_than_it_is_long(word):
    for made_up in (word, f"dg1.{word}"):
        text = unseal(made_up)
        assert text is None or len(text.encode()) <= len(made_up)


@pytest.mark.parametrize(
    "word", ["", "dg1", "dg1.A", "dg1.AAAAA", "dg1.!", "dg1.é", "dg1.\udfff", "dg1._w", "EqQBCgIYAhIM"]
)
def test_a_damaged_word_is_foreign(word):
    """'_w' is the byte 0xff, which begins no character."""
    assert unseal(word) is None


def test_a_foreign_word_is_listed_and_says_nothing():
    at = Place().child("data")
    assert unsealed("EqQBCgIYAhIM", at) == ""
    assert list(at.ignored) == ["data"]


THINKS = {"type": "thinking", "thinking": "", "signature": seal("a\0b")}


@pytest.mark.parametrize(
    "block, field",
    [
        (THINKS, "signature"),
        ({"type": "redacted_thinking", "data": seal("a\0b")}, "data"),
        ({"type": "compaction", "content": None, "encrypted_content": seal("a\0b")}, "encrypted_content"),
    ],
)
def test_what_no_prompt_can_hold_is_refused_in_a_seal_too(block, field):
    with pytest.raises(InvalidRequest) as caught:
        Messages().parse({"messages": [{"role": "assistant", "content": [block]}, {"role": "user", "content": "hi"}]})
    assert caught.value.param == f"messages.0.content.0.{field}"


def test_a_foreign_word_is_listed_only_where_it_is_the_thought():
    """Claude Code keeps the signatures of a conversation that it began elsewhere, with the thoughts themselves."""
    seen = {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCgIYAhIM"}
    unseen = {"type": "redacted_thinking", "data": "EqQBCgIYAhIM"}
    for block, listed in ((seen, ()), (seen | {"thinking": ""}, ("signature",)), (unseen, ("data",))):
        body = {"messages": [{"role": "assistant", "content": [block]}, {"role": "user", "content": "hi"}]}
        assert Messages().parse(body).ignored == tuple(f"messages.*.content.*.{name}" for name in listed)
