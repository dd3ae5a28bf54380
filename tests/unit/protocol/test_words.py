from __future__ import annotations

import math

import pytest

from dragoman.protocol.words import is_code, natural, parse_ids, parse_json, prose, read_prose, real, show


@pytest.mark.parametrize("word", [b"", b"-1", b"+1", b"1_0", b" 1", b"1.0", b"0x1", b"\xd9\xa1", b"9" * 4096])
def test_a_number_is_decimal_digits_in_range_and_nothing_else(word):
    with pytest.raises(ValueError):
        natural(word)


def test_a_number_may_have_leading_zeros_and_be_as_large_as_its_limit():
    assert natural(b"007", 7) == 7
    with pytest.raises(ValueError):
        natural(b"8", 7)


@pytest.mark.parametrize(
    "word, value", [(b"-0.500000", -0.5), (b"1e-05", 1e-5), (b"inf", math.inf), (b"-inf", -math.inf)]
)
def test_floats_as_printf_writes_them(word, value):
    assert real(word) == value


@pytest.mark.parametrize("word", [b"nan", b"-nan", b"NAN"])
def test_printf_has_more_than_one_nan(word):
    assert math.isnan(real(word))


@pytest.mark.parametrize("word", [b"", b"1_0", b"one", b"\xff", b"0x1p3", b"1,5"])
def test_other_words_are_no_floats(word):
    with pytest.raises(ValueError):
        real(word)


def test_ids_are_separated_by_any_white_space():
    assert parse_ids(b" 1\t2\n 2147483647 ") == (1, 2, 2147483647)
    assert parse_ids(b"") == ()


@pytest.mark.parametrize("payload", [b"1,2", b"-1", b"2147483648", b"00000000001", b"1 x", b"\xff"])
def test_other_payloads_are_no_ids(payload):
    with pytest.raises(ValueError):
        parse_ids(payload)


@pytest.mark.parametrize("payload", [b"", b"[]", b"1", b"{", b'{"a":Infinity}', b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused_by_one_error(payload):
    with pytest.raises(ValueError):
        parse_json(payload)


def test_text_for_people_is_one_line_of_bounded_length():
    assert prose(" a\r\n\tb\x85\u2028c ") == b"a b c"
    assert prose("\ud800") == b"?"
    assert prose("\u20ac" * 1000) == ("\u20ac" * 682).encode()
    assert read_prose([b"a", b"\xff"]) == "a \ufffd"


def test_a_word_in_a_message_is_short_and_printable():
    assert show(b"\x01" * 4096) == "'" + "\\x01" * 40 + "'"


@pytest.mark.parametrize(
    "text, verdict", [("NOT_FOUND", True), ("A2", True), ("", False), ("_A", False), ("Ab", False), ("A" * 33, False)]
)
def test_a_code_is_an_upper_case_word(text, verdict):
    assert is_code(text) is verdict
