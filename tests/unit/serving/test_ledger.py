"""The records of an answer's tokens. Expectations are written by hand from S82, S83 and the law of records."""

from __future__ import annotations

import math

import pytest

from dragoman.core.events import Alternative, ReasoningDelta, TextDelta, Visibility
from dragoman.core.request import OutputLimits, Readout
from dragoman.protocol.frames import Data, Numeric
from dragoman.serving.answer import AnswerReader
from dragoman.serving.deltas import Delta
from support.markup_parser import MarkupParser

SPECIAL = 2
STOP_ID = 7
SHOWN, CONTROL, CUT, HIDDEN = Visibility.SHOWN, Visibility.CONTROL, Visibility.CUT, Visibility.HIDDEN


def reader(*stops: str, special_tokens: bool = False, **limits: object) -> AnswerReader:
    return AnswerReader(
        parser=MarkupParser(),
        special_tokens=frozenset({SPECIAL}),
        limits=OutputLimits(stop=stops, **limits),
        readout=Readout(token_ids=True, special_tokens=special_tokens),
    )


def token(payload: str | bytes, token_id: int | None = 100) -> Data:
    return Data(1, payload.encode() if isinstance(payload, str) else payload, None, token_id)


def read(answer: AnswerReader, *tokens: str | bytes | Data) -> list[Delta]:
    """All deltas; the engine goes on until a stop has ended the answer."""
    deltas: list[Delta] = []
    for each in tokens:
        deltas += answer.feed(each if isinstance(each, Data) else token(each))
        if answer.ended:
            return deltas
    return deltas + list(answer.finish())


def seen(deltas: list[Delta]) -> list[tuple[str, Visibility]]:
    """Text and visibility of every record, whatever delta carried it."""
    return [(record.text, record.visibility) for delta in deltas for record in delta.tokens]


def test_a_record_says_what_the_engine_said_of_its_token() -> None:
    answer = AnswerReader(
        parser=MarkupParser(), special_tokens=frozenset(), limits=OutputLimits(), readout=Readout(logprobs=1), choice=2
    )
    alternatives = (Alternative(5, b"a", -0.25), Alternative(6, b"b", -1.5))
    (delta,) = answer.feed(Data(1, b"a", Numeric(-0.25), 5), alternatives)
    assert (delta.choice, delta.generated, delta.text) == (2, 1, "a")
    (record,) = delta.tokens
    assert (record.id, record.text, record.data, record.logprob) == (5, "a", b"a", -0.25)
    assert record.alternatives == alternatives


def test_a_logprob_that_is_no_number_is_passed_on() -> None:
    answer = AnswerReader(
        parser=MarkupParser(), special_tokens=frozenset(), limits=OutputLimits(), readout=Readout(logprobs=0)
    )
    (delta,) = answer.feed(Data(1, b"a", Numeric(-math.inf), None))
    assert delta.tokens[0].logprob == -math.inf
    assert delta.tokens[0].id is None


def test_without_a_wish_for_records_there_are_none() -> None:
    answer = AnswerReader(parser=MarkupParser(), special_tokens=frozenset(), limits=OutputLimits())
    assert list(answer.feed(Data(1, b"a", Numeric(-1.0), 5))) == [TextDelta(text="a", generated=1)]


@pytest.mark.seeds("S82")
class TestCharacters:
    def test_a_token_with_part_of_a_character_has_no_text_and_its_own_bytes(self) -> None:
        (delta,) = read(reader(), b"\xf0\x9f", b"\x98", b"\x80!")
        assert delta.text == "😀!"
        assert [(r.text, r.data) for r in delta.tokens] == [("", b"\xf0\x9f"), ("", b"\x98"), ("😀!", b"\x80!")]
        assert {r.visibility for r in delta.tokens} == {SHOWN}

    def test_an_answer_that_ends_inside_a_character_has_its_bytes(self) -> None:
        deltas = read(reader(), "a", b"b\xc3")
        assert [d.text for d in deltas] == ["a", "b\ufffd"]
        assert deltas[-1].tokens[0].text == "b\ufffd"
        assert deltas[-1].tokens[0].data == b"b\xc3"

    def test_a_character_that_a_control_token_broke_off_is_the_earlier_tokens(self) -> None:
        assert seen(read(reader(), b"\xc3", token("<s>", SPECIAL), "x")) == [
            ("\ufffd", SHOWN),
            ("", CONTROL),
            ("x", SHOWN),
        ]

    def test_part_of_a_character_that_turns_out_hidden_is_hidden_too(self) -> None:
        assert seen(read(reader(), "<t>", b"\xc3", b"\xa9", "</t>", "x"))[1:3] == [("", HIDDEN), ("", HIDDEN)]

    def test_an_empty_token_is_shown_as_nothing(self) -> None:
        assert seen(read(reader(), "", "a")) == [("", SHOWN), ("a", SHOWN)]


@pytest.mark.seeds("S82")
class TestStops:
    def test_the_token_in_which_a_stop_begins_keeps_what_is_before_it(self) -> None:
        answer = AnswerReader(
            parser=MarkupParser(),
            special_tokens=frozenset(),
            limits=OutputLimits(stop=("lo",)),
            readout=Readout(logprobs=2),
        )
        alternatives = (Alternative(5, b"Hello", -0.5), Alternative(6, b"Hey", -1.0))
        (delta,) = answer.feed(Data(1, b"Hello", Numeric(-0.5), 5), alternatives)
        assert delta.text == "Hel"
        (record,) = delta.tokens
        assert (record.text, record.data, record.visibility) == ("Hel", b"Hel", SHOWN)
        assert record.alternatives == (Alternative(5, b"Hel", -0.5), Alternative(6, b"Hey", -1.0))

    def test_the_bytes_of_a_cut_token_are_those_of_the_characters_that_were_sent(self) -> None:
        (delta,) = read(reader("lo"), "Héélo")
        assert delta.tokens[0].data == b"H\xc3\xa9\xc3\xa9"

    def test_the_tokens_of_the_stop_were_generated_and_are_not_shown(self) -> None:
        deltas = read(reader("STOP"), "a", "b S", "TO", "P!")
        assert [d.text for d in deltas if d.text] == ["a", "b "]
        assert seen(deltas) == [("a", SHOWN), ("b ", SHOWN), ("", CUT), ("", CUT)]
        assert deltas[-1].tokens[-1].data == b"P!"

    def test_text_goes_out_by_whole_tokens(self) -> None:
        answer = reader("STOP")
        assert not answer.feed(token("one S"))
        (delta,) = answer.feed(token("un"))
        assert delta.text == "one Sun"
        assert [r.text for r in delta.tokens] == ["one S", "un"]

    @pytest.mark.seeds("S38")
    def test_a_stop_that_stays_is_in_its_tokens(self) -> None:
        assert seen(read(reader("STOP", include_stop=True), "a S", "TO", "P!")) == [
            ("a S", SHOWN),
            ("TO", SHOWN),
            ("P", SHOWN),
        ]

    @pytest.mark.seeds("S29")
    def test_a_leading_stop_is_hidden(self) -> None:
        answer = reader("User:", ignore_leading_stop=True)
        assert seen(read(answer, "Us", "er:", "Hi")) == [("", HIDDEN), ("", HIDDEN), ("Hi", SHOWN)]

    @pytest.mark.parametrize(("token_id", "visibility"), [(STOP_ID, CUT), (SPECIAL, CONTROL)])
    def test_a_stop_token_id_is_a_record_without_text(self, token_id: int, visibility: Visibility) -> None:
        answer = reader(stop_token_ids=(token_id,))
        deltas = read(answer, "a", token("<eot>", token_id))
        assert deltas[-1].text == ""
        assert seen(deltas) == [("a", SHOWN), ("", visibility)]
        assert answer.stop == token_id

    def test_one_that_stays_is_shown(self) -> None:
        deltas = read(reader(stop_token_ids=(STOP_ID,), include_stop=True), "a", token("<eot>", STOP_ID))
        assert seen(deltas) == [("a", SHOWN), ("<eot>", SHOWN)]


@pytest.mark.seeds("S83")
class TestChannels:
    def test_records_of_reasoning_and_of_text_are_in_deltas_of_their_own(self) -> None:
        deltas = read(reader(), "<r>", "hm", "</r>", "ok")
        assert [(type(d), d.text, [r.text for r in d.tokens]) for d in deltas] == [
            (ReasoningDelta, "hm", ["", "hm"]),
            (TextDelta, "ok", ["", "ok"]),
        ]
        assert seen(deltas) == [("", HIDDEN), ("hm", SHOWN), ("", HIDDEN), ("ok", SHOWN)]

    def test_a_token_of_both_is_a_record_of_the_text_and_its_reasoning_goes_without(self) -> None:
        deltas = read(reader(), "<r>", "a", "b</r>c", "d")
        assert [(type(d), d.text, [r.text for r in d.tokens]) for d in deltas] == [
            (ReasoningDelta, "a", ["", "a"]),
            (ReasoningDelta, "b", []),
            (TextDelta, "c", ["c"]),
            (TextDelta, "d", ["d"]),
        ]

    def test_a_token_that_is_hidden_in_part_shows_the_rest_and_has_all_its_bytes(self) -> None:
        (delta,) = read(reader(), "a<t>x</t>b")
        (record,) = delta.tokens
        assert (record.text, record.data, record.visibility) == ("ab", b"a<t>x</t>b", SHOWN)

    def test_records_stay_in_order_behind_text_that_waits_for_a_stop(self) -> None:
        answer = reader("STOP")
        assert not answer.feed(token("ST"))
        assert not answer.feed(token("<r>hm</r>"))
        deltas = list(answer.feed(token("ART")))
        assert [(type(d), d.text) for d in deltas] == [(TextDelta, "ST"), (ReasoningDelta, "hm"), (TextDelta, "ART")]


@pytest.mark.seeds("S39")
class TestControlTokens:
    def test_the_end_token_is_in_a_last_delta_without_text(self) -> None:
        deltas = read(reader(), "a", token("<|end|>", SPECIAL))
        assert [d.text for d in deltas] == ["a", ""]
        assert seen(deltas) == [("a", SHOWN), ("", CONTROL)]
        assert deltas[-1].tokens[0].data == b"<|end|>"

    def test_where_they_are_shown_their_text_is_theirs_but_not_that_of_the_last(self) -> None:
        answer = reader(special_tokens=True)
        assert seen(read(answer, token("<|a|>", SPECIAL), "b", token("<|end|>", SPECIAL))) == [
            ("<|a|>", SHOWN),
            ("b", SHOWN),
            ("", CONTROL),
        ]

    def test_a_stop_that_one_completed_cuts_the_token_by_which_that_was_known(self) -> None:
        answer = reader("b<|", special_tokens=True)
        assert seen(read(answer, "ab", token("<|a|>", SPECIAL), "c")) == [("a", SHOWN), ("", CONTROL), ("", CUT)]

    def test_one_that_broke_off_a_character_which_is_a_stop_is_there_too(self) -> None:
        answer = reader("\ufffd", special_tokens=True)
        assert seen(read(answer, b"a\xc3", token("<|a|>", SPECIAL))) == [("a", SHOWN), ("", CONTROL)]
