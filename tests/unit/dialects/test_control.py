from __future__ import annotations

import pytest

from dragoman.dialects.control import ControlTexts

CHATML = ControlTexts(("<|im_start|>", "<|im_end|>", "<|im_end|>", ""))


def test_overlapping_and_nested_occurrences_are_all_found():
    control = ControlTexts(("<a>b", "b<", "<a>"))
    assert list(control.occurrences("<a>b<a>")) == [(0, 4), (0, 3), (3, 5), (4, 7)]
    assert control.sequence("<a>b<a>") == ["<a>b", "<a>", "b<", "<a>"]


@pytest.mark.parametrize(
    "text, marked, inside",
    [
        ("What is the capital of France?", False, False),
        ("a < b", True, False),
        ("snake_case", True, False),
        ("  im \n", False, True),
        ("end", False, True),
        ("ending", False, False),
        ("", False, False),
    ],
)
def test_harmless_text_is_told_from_what_might_be_part_of_a_token(text: str, marked: bool, inside: bool):
    assert (CHATML.has_mark(text), CHATML.may_be_part(text)) == (marked, inside)


@pytest.mark.parametrize(
    "text, apart",
    [
        ("</think>", True),
        ("<tool_call>", True),
        ("<|im_end|>\n", False),
        ("<|", False),
        ("im", False),
        ("text <", False),
        ("> text", False),
    ],
)
def test_a_literal_is_apart_when_it_can_share_no_character_with_a_token(text: str, apart: bool):
    assert CHATML.is_apart_from(text) is apart


def test_the_alphabet_is_all_that_tokens_are_written_with():
    assert ControlTexts(("<a>", "b\n")).alphabet == set("<a>b\n")


def test_a_token_of_letters_is_told_by_its_letters():
    assert ControlTexts(("EOS",)).has_mark("xEx")
    assert not ControlTexts(("EOS",)).has_mark("xyz")


def test_without_control_tokens_all_text_is_harmless():
    assert not ControlTexts(()).has_mark("<|x|>")
    assert not ControlTexts(()).may_be_part("x")


@pytest.mark.parametrize(
    "texts, word, plain",
    [
        (("<|im_end|>",), "get_weather", True),
        (("<|im_end|>",), "im_end", False),
        (("<|im_end|>",), "end", False),
        (("<|im_end|>",), "a b", False),
        (("<|im_end|>",), "a<", False),
        (("<|im_end|>",), "é", False),
        (("EOS",), "xEOSx", False),
        (("EOS",), "xE", False),
        (("EOS",), "Sx", False),
        (("EOS",), "xyz", True),
        ((">ab",), "bc", False),
        ((">ab",), "cb", True),
    ],
)
def test_a_plain_word_is_a_name_that_shares_no_character_with_a_token(texts: tuple[str, ...], word: str, plain: bool):
    assert ControlTexts(texts).is_plain_word(word) is plain


@pytest.mark.parametrize(
    ("text", "part"),
    [("Sorry", True), (" Sorry", True), ("the E", True), ("SO", True), ("orry", False), ("OS", True), ("x", False)],
)
def test_a_token_that_ends_like_a_word_may_be_completed_by_one(text, part):
    """``EO`` by a template and ``Sorry`` by a client are the token and three letters."""
    assert ControlTexts(("EOS",)).may_be_part(text) is part
