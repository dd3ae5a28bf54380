"""Tokens to text. Expected texts are written by hand from the rows that the tests name."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from dragoman.core.events import ReasoningDelta, TextDelta
from dragoman.core.request import OutputLimits, Readout
from dragoman.protocol.frames import Data
from dragoman.serving.answer import NO_READOUT, AnswerReader, RawText
from support.markup_parser import MarkupParser

SPECIAL = 2
STOP_ID = 7


def reader(*stops: str, markers: tuple[str, ...] = (), readout: Readout = NO_READOUT, **limits: object) -> AnswerReader:
    return AnswerReader(
        parser=RawText(),
        special_tokens=frozenset({SPECIAL}),
        limits=OutputLimits(stop=stops, **limits),
        markers=markers,
        readout=readout,
    )


def token(payload: str | bytes, token_id: int | None = 100) -> Data:
    return Data(1, payload.encode() if isinstance(payload, str) else payload, None, token_id)


def text(deltas: Iterable[TextDelta | ReasoningDelta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def read(answer: AnswerReader, *tokens: str | Data) -> str:
    """All of the answer's text; the engine goes on until a stop has ended it."""
    shown = ""
    for each in tokens:
        shown += text(answer.feed(each if isinstance(each, Data) else token(each)))
        if answer.ended:
            return shown
    return shown + text(answer.finish())


def marked() -> AnswerReader:
    return AnswerReader(parser=MarkupParser(), special_tokens=frozenset({SPECIAL}), limits=OutputLimits(stop=("STOP",)))


class TestCharacters:
    def test_a_character_split_over_two_tokens_is_shown_once_it_is_whole(self) -> None:
        answer = reader()
        assert text(answer.feed(token(b"caf\xc3"))) == "caf"
        assert text(answer.feed(token(b"\xa9"))) == "é"
        assert not answer.finish()
        assert answer.tokens == 2

    def test_bytes_that_never_become_a_character_are_shown_as_one_replacement(self) -> None:
        answer = reader()
        assert text(answer.feed(token(b"a\xc3"))) == "a"
        assert text(answer.finish()) == "\ufffd"

    def test_nothing_is_sent_for_a_token_that_shows_nothing(self) -> None:
        assert not reader().feed(token(b"\xc3"))
        assert not reader().feed(token(b""))

    def test_a_delta_names_its_choice_and_how_many_tokens_were_read(self) -> None:
        answer = AnswerReader(parser=RawText(), special_tokens=frozenset(), limits=OutputLimits(), choice=3)
        answer.feed(token(b"\xc3"))
        assert list(answer.feed(token(b"\xa9"))) == [TextDelta(text="é", choice=3, generated=2)]


class TestChannels:
    def test_reasoning_is_a_delta_of_its_own(self) -> None:
        answer = marked()
        assert list(answer.feed(token("a<r>hm</r>b<t>c</t>d"))) == [
            TextDelta(text="a", generated=1),
            ReasoningDelta(text="hm", generated=1),
            TextDelta(text="bd", generated=1),
        ]

    @pytest.mark.seeds("S27")
    def test_a_stop_inside_reasoning_ends_nothing(self) -> None:
        answer = marked()
        assert list(answer.feed(token("<r>STOP</r>ok"))) == [
            ReasoningDelta(text="STOP", generated=1),
            TextDelta(text="ok", generated=1),
        ]
        assert not answer.ended

    def test_a_stop_is_found_in_the_text_that_the_client_would_read(self) -> None:
        answer = marked()
        assert read(answer, "one ST<t>hidden</t>OP two") == "one "
        assert answer.stop == "STOP"

    def test_the_parser_sees_a_control_token_as_such_after_what_came_before(self) -> None:
        answer = marked()
        assert not answer.feed(token(b"<r"))
        assert text(answer.feed(token(">", SPECIAL))) == "<r"  # a control token is no part of a tag of plain ones
        assert not answer.feed(token(b"\xc3"))
        assert text(answer.feed(token(">", SPECIAL))) == "\ufffd"

    def test_what_the_parser_held_back_is_shown_at_the_end(self) -> None:
        answer = marked()
        assert text(answer.feed(token("1 <"))) == "1 "
        assert text(answer.finish()) == "<"


@pytest.mark.seeds("S52")
class TestReasoningTokens:
    def test_they_are_counted_up_to_and_including_the_end_tag(self) -> None:
        answer = marked()
        read(answer, "<r>", "one", " two", "</r>", "text", ".")
        assert (answer.reasoning_tokens, answer.tokens) == (4, 6)

    def test_tokens_of_a_tag_in_pieces_count(self) -> None:
        answer = marked()
        read(answer, "<", "r", ">", "hm", "<", "/r", ">text", ".")
        assert answer.reasoning_tokens == 7

    def test_an_answer_without_reasoning_has_none(self) -> None:
        answer = marked()
        read(answer, "a", "<t>", "x", "</t>", "b")
        assert answer.reasoning_tokens == 0

    def test_text_before_reasoning_does_not_count(self) -> None:
        answer = marked()
        read(answer, "a", "b", "<r>", "hm", "</r>", "c", "<t>x</t>", token("", SPECIAL))
        assert answer.reasoning_tokens == 3

    def test_a_token_with_the_start_tag_and_text_counts(self) -> None:
        answer = marked()
        read(answer, "a<r>", "hm", "</r>", "b")
        assert answer.reasoning_tokens == 3

    def test_syntax_that_text_follows_does_not_count(self) -> None:
        answer = marked()
        read(answer, "<t>x</t>", "a", "<r>hm</r>")
        assert answer.reasoning_tokens == 1

    def test_an_end_tag_that_is_a_control_token_counts(self) -> None:
        answer = marked()
        read(answer, "<r>", "hm", token("</think>", SPECIAL))
        assert answer.reasoning_tokens == 3

    def test_what_follows_the_end_tag_does_not_count(self) -> None:
        answer = marked()
        read(answer, "<r>hm", "</r>", "<t>x</t>", "<t>y</t>")
        assert answer.reasoning_tokens == 2


class TestControlTokens:
    @pytest.mark.seeds("S39")
    def test_they_are_no_text_of_a_raw_prompt(self) -> None:
        answer = reader()
        assert not answer.feed(token("<|sign|>", SPECIAL))
        assert text(answer.feed(token("<|sign|>"))) == "<|sign|>"

    @pytest.mark.seeds("S39")
    def test_they_are_text_where_the_client_wants_to_see_them(self) -> None:
        assert read(reader(readout=Readout(special_tokens=True)), "a", token("<|sign|>", SPECIAL), "b") == "a<|sign|>b"

    @pytest.mark.seeds("S39")
    def test_the_one_that_ends_the_answer_is_no_text_even_then(self) -> None:
        answer = reader(readout=Readout(special_tokens=True))
        assert read(answer, token("<|a|>", SPECIAL), token("<|end|>", SPECIAL)) == "<|a|>"
        assert answer.tokens == 2

    def test_shown_they_can_complete_a_stop(self) -> None:
        answer = reader("a<|", readout=Readout(special_tokens=True))
        assert read(answer, "1a", token("<|sign|>", SPECIAL), "b", "c") == "1"
        assert answer.stop == "a<|"

    def test_one_that_the_client_named_as_a_stop_ends_the_answer(self) -> None:
        answer = reader("<|end|>")
        assert not answer.feed(token("<|e"))
        assert text(answer.feed(token("<|end|>", SPECIAL))) == "<|e"
        assert answer.stop == "<|end|>"

    def test_it_ends_it_at_once_where_control_tokens_are_shown(self) -> None:
        answer = reader("<|end|>", readout=Readout(special_tokens=True))
        answer.feed(token("a"))
        assert not answer.feed(token("<|end|>", SPECIAL))
        assert answer.ended

    def test_one_that_the_client_named_stays_where_stops_are_to_stay(self) -> None:
        assert read(reader("<|end|>", include_stop=True), "a", token("<|end|>", SPECIAL)) == "a<|end|>"

    @pytest.mark.seeds("S28")
    def test_a_familys_marker_that_is_one_ends_the_turn_unseen(self) -> None:
        answer = reader("x", markers=("<|user|>",), include_stop=True)
        assert read(answer, "a", token("<|user|>", SPECIAL)) == "a"
        assert answer.ended
        assert answer.stop is None

    def test_an_engine_without_token_ids_is_read_as_text(self) -> None:
        assert text(reader().feed(token("<|end|>", None))) == "<|end|>"

    def test_a_stop_that_waited_wins_over_the_one_that_is_a_control_token(self) -> None:
        answer = reader("abc", "b", "<|end|>")
        assert read(answer, "ab", token("<|end|>", SPECIAL)) == "a"
        assert answer.stop == "b"


@pytest.mark.seeds("S27")
class TestStops:
    def test_a_stop_split_over_two_tokens_is_held_back(self) -> None:
        answer = reader("STOP")
        assert text(answer.feed(token("one ST"))) == "one "
        assert not answer.ended
        assert not answer.feed(token("OP two"))
        assert answer.ended
        assert answer.stop == "STOP"
        assert answer.tokens == 2
        assert not answer.finish()

    def test_a_stop_that_comes_letter_by_letter_is_never_seen(self) -> None:
        answer = reader("DEFGHIJ")
        sent = []
        for letter in "ABCDEFGHIJK":
            sent += [delta.text for delta in answer.feed(token(letter))]
            if answer.ended:
                break
        assert sent == ["A", "B", "C"]
        assert answer.tokens == 10  # K is not asked for any more

    def test_what_can_not_become_a_stop_is_not_held_for_ever(self) -> None:
        answer = reader("DEFGHIJ")
        assert [text(answer.feed(token(letter))) for letter in "ABCDEFXYZ"] == [
            "A",
            "B",
            "C",
            "",
            "",
            "",
            "DEFX",
            "Y",
            "Z",
        ]

    def test_what_only_looked_like_a_stop_is_shown_at_the_end(self) -> None:
        answer = reader("STOP")
        assert not answer.feed(token("ST"))
        assert text(answer.finish()) == "ST"
        assert not answer.ended

    def test_a_stop_that_had_to_wait_matches_at_the_end(self) -> None:
        answer = reader("abc", "b")
        assert not answer.feed(token("ab"))
        assert text(answer.finish()) == "a"
        assert answer.ended
        assert answer.stop == "b"

    def test_a_stop_at_the_very_start_leaves_nothing(self) -> None:
        assert not read(reader("\n"), "\nhello")

    @pytest.mark.seeds("S28")
    def test_a_familys_marker_ends_the_turn_but_is_nobodys_stop(self) -> None:
        answer = reader("x", markers=("[end]",), include_stop=True)
        assert read(answer, "bye[end]more") == "bye"
        assert answer.ended
        assert answer.stop is None

    @pytest.mark.seeds("S28")
    def test_the_clients_stops_and_the_familys_are_active_together(self) -> None:
        assert read(reader("X", markers=("[end]",)), "aXb") == "a"
        assert read(reader("X", markers=("[end]",)), "a[end]b") == "a"

    @pytest.mark.seeds("S38")
    def test_the_stop_stays_in_the_text_where_asked_for_and_what_follows_goes(self) -> None:
        answer = reader("lo", "!", include_stop=True)
        assert read(answer, "Hel", "lo world!") == "Hello"
        assert answer.stop == "lo"


@pytest.mark.seeds("S29")
class TestLeadingStops:
    def test_they_are_thrown_away_until_there_is_something_to_see(self) -> None:
        answer = reader("User:", ignore_leading_stop=True)
        assert read(answer, "Us", "er: ", "User:", "\nHi", " User:", "x") == " \nHi "
        assert answer.stop == "User:"

    def test_without_the_flag_the_first_one_ends_the_answer(self) -> None:
        answer = reader("User:")
        assert not read(answer, "User:", "Hi")
        assert answer.stop == "User:"

    def test_one_that_waited_for_the_end_is_thrown_away_there(self) -> None:
        answer = reader("<>x", "<>", ignore_leading_stop=True)
        assert not read(answer, "<><>")
        assert not answer.ended

    def test_behind_reasoning_they_end_the_answer(self) -> None:
        answer = AnswerReader(
            parser=MarkupParser(),
            special_tokens=frozenset(),
            limits=OutputLimits(stop=("#",), ignore_leading_stop=True),
        )
        assert not read(answer, "#<r>", "hm", "</r>#", "more")
        assert answer.stop == "#"

    @pytest.mark.seeds("S28")
    @pytest.mark.parametrize("token_id", [SPECIAL, 100])
    def test_a_familys_marker_is_thrown_away_in_front_of_all_and_ends_the_turn_later(self, token_id: int) -> None:
        answer = reader(markers=("<|user|>",))
        marker = token("<|user|>", token_id)
        assert read(answer, marker, "\n", marker, "Hi", marker, "Me: ") == "\nHi"
        assert answer.ended

    def test_behind_text_that_is_held_back_a_marker_is_not_in_front(self) -> None:
        answer = reader("STOP", markers=("<|user|>",))
        assert read(answer, "ST", token("<|user|>", SPECIAL), "Hi") == "ST"
        assert answer.ended

    def test_a_marker_that_the_client_named_too_is_the_clients(self) -> None:
        answer = reader("<|user|>", markers=("<|user|>",))
        assert not read(answer, token("<|user|>", SPECIAL), "Hi")
        assert answer.stop == "<|user|>"


@pytest.mark.seeds("S36")
class TestEarlyStops:
    def test_a_stop_within_the_first_tokens_does_not_count_and_is_shown(self) -> None:
        answer = reader("#", min_tokens=2)
        assert read(answer, "a#", "b#", "c#", "d") == "a#b#c"
        assert answer.tokens == 3

    def test_a_stop_that_begins_there_and_ends_later_counts(self) -> None:
        answer = reader("STOP", min_tokens=1)
        assert read(answer, "STOP ST", "OP!") == "STOP "
        assert answer.stop == "STOP"

    def test_text_that_the_parser_held_back_belongs_to_the_token_that_brought_it(self) -> None:
        answer = AnswerReader(
            parser=MarkupParser(), special_tokens=frozenset(), limits=OutputLimits(stop=("<",), min_tokens=1)
        )
        assert read(answer, "a<", "b", "<", "c") == "a<b"

    def test_a_broken_character_belongs_to_the_token_that_began_it(self) -> None:
        answer = reader("\ufffd", min_tokens=1)
        assert read(answer, token(b"\xc3"), token("<s>", SPECIAL)) == "\ufffd"
        assert not answer.ended

    def test_a_control_token_that_is_a_stop_does_not_count_either(self) -> None:
        answer = reader("<|end|>", min_tokens=1)
        assert read(answer, token("<|end|>", SPECIAL), "a", token("<|end|>", SPECIAL), "b") == "a"


class TestStopTokens:
    def test_the_token_is_not_shown_and_is_named(self) -> None:
        answer = reader(stop_token_ids=(STOP_ID,))
        assert read(answer, "a", token("<eot>", STOP_ID)) == "a"
        assert answer.ended
        assert answer.stop == STOP_ID
        assert answer.tokens == 2

    @pytest.mark.seeds("S38")
    def test_its_text_is_shown_where_stops_are_to_stay(self) -> None:
        assert read(reader(stop_token_ids=(STOP_ID,), include_stop=True), "a", token("<eot>", STOP_ID)) == "a<eot>"

    @pytest.mark.seeds("S38", "S39")
    @pytest.mark.parametrize(("special_tokens", "shown"), [(False, "a"), (True, "a<eot>")])
    def test_a_control_token_stays_only_where_control_tokens_are_shown(self, special_tokens: bool, shown: str) -> None:
        answer = reader(stop_token_ids=(SPECIAL,), include_stop=True, readout=Readout(special_tokens=special_tokens))
        assert read(answer, "a", token("<eot>", SPECIAL)) == shown
        assert answer.stop == SPECIAL

    def test_what_was_held_back_is_before_it(self) -> None:
        assert read(reader("STOP", stop_token_ids=(STOP_ID,)), "aST", token("", STOP_ID)) == "aST"
        assert read(reader(stop_token_ids=(STOP_ID,)), token(b"a\xc3"), token("", STOP_ID)) == "a\ufffd"

    def test_a_stop_string_that_waited_for_it_is_the_one_that_ended_the_answer(self) -> None:
        answer = reader("abc", "b", stop_token_ids=(STOP_ID,))
        assert read(answer, "ab", token("x", STOP_ID)) == "a"
        assert answer.stop == "b"
