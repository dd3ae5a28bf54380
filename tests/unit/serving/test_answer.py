"""Tokens to text. Expected texts are written by hand from S27 and S28."""

from __future__ import annotations

import pytest

from dragoman.protocol.frames import Data
from dragoman.serving.answer import AnswerReader, RawText
from support.tag_dialect import TagParser

SPECIAL = 2


def reader(*stops: str, markers: tuple[str, ...] = ()) -> AnswerReader:
    return AnswerReader(parser=RawText(), special_tokens=frozenset({SPECIAL}), stops=stops, markers=markers)


def token(payload: str | bytes, token_id: int | None = 100) -> Data:
    return Data(1, payload.encode() if isinstance(payload, str) else payload, None, token_id)


class ShoutingParser(TagParser):
    """Shows control tokens in capitals, and says good-bye."""

    def feed(self, text: str, *, special: bool) -> str:
        return text.upper() if special else text

    def finish(self) -> str:
        return "!"


def test_a_character_split_over_two_tokens_is_shown_once_it_is_whole() -> None:
    answer = reader()
    assert answer.feed(token(b"caf\xc3")) == "caf"
    assert answer.feed(token(b"\xa9")) == "é"
    assert answer.finish() == ""
    assert answer.tokens == 2


def test_bytes_that_never_become_a_character_are_shown_as_one_replacement() -> None:
    answer = reader()
    assert answer.feed(token(b"a\xc3")) == "a"
    assert answer.finish() == "\ufffd"


@pytest.mark.seeds("S27")
def test_a_stop_split_over_two_deltas_is_held_back() -> None:
    answer = reader("STOP")
    assert answer.feed(token("one ST")) == "one "
    assert not answer.ended
    assert answer.feed(token("OP two")) == ""
    assert answer.ended
    assert answer.stop_sequence == "STOP"
    assert answer.tokens == 2


@pytest.mark.seeds("S27")
def test_what_only_looked_like_a_stop_is_shown_at_the_end() -> None:
    answer = reader("STOP")
    assert answer.feed(token("ST")) == ""
    assert answer.finish() == "ST"
    assert not answer.ended


@pytest.mark.seeds("S27")
def test_a_stop_that_had_to_wait_matches_at_the_end() -> None:
    answer = reader("abc", "b")
    assert answer.feed(token("ab")) == ""
    assert answer.finish() == "a"
    assert answer.stop_sequence == "b"


@pytest.mark.seeds("S28")
def test_a_dialects_marker_ends_the_turn_but_is_nobodys_stop() -> None:
    answer = reader("x", markers=("[end]",))
    assert answer.feed(token("bye[end]more")) == "bye"
    assert answer.ended
    assert answer.stop_sequence is None


def test_a_control_token_is_no_text_of_a_raw_prompt() -> None:
    answer = reader()
    assert answer.feed(token("<|end|>", SPECIAL)) == ""
    assert answer.feed(token("<|end|>", 100)) == "<|end|>"


def test_a_control_token_that_the_client_named_as_a_stop_ends_the_answer() -> None:
    answer = reader("<|end|>")
    assert answer.feed(token("<|e")) == ""
    assert answer.feed(token("<|end|>", SPECIAL)) == "<|e"
    assert answer.stop_sequence == "<|end|>"


def test_a_dialect_sees_control_tokens_as_such_after_what_came_before() -> None:
    answer = AnswerReader(parser=ShoutingParser(), special_tokens=frozenset({SPECIAL}))
    assert answer.feed(token(b"a\xc3")) == "a"
    assert answer.feed(token("<s>", SPECIAL)) == "\ufffd<S>"
    assert answer.finish() == "!"


def test_a_stop_may_lie_in_what_the_parser_held_back() -> None:
    answer = AnswerReader(parser=ShoutingParser(), special_tokens=frozenset(), stops=("!",))
    assert answer.feed(token("hey")) == "hey"
    assert answer.finish() == ""
    assert answer.stop_sequence == "!"


def test_an_engine_without_token_ids_is_read_as_text() -> None:
    assert reader().feed(token("<|end|>", None)) == "<|end|>"
