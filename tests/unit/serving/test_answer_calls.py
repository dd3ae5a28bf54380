"""Calls in an answer: where they stand among text, records and stops."""

from __future__ import annotations

import itertools

import pytest

from dragoman.core.events import (
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Visibility,
)
from dragoman.core.request import OutputLimits, Readout
from dragoman.protocol.frames import Data
from dragoman.serving.answer import AnswerReader
from support.call_parser import CallParser

CONTROL = 2


PLAIN = Readout()


def reader(*stops: str, readout: Readout = PLAIN, **limits) -> AnswerReader:
    return AnswerReader(
        parser=CallParser(),
        special_tokens=frozenset({CONTROL}),
        limits=OutputLimits(stop=stops, **limits),
        readout=readout,
        choice=3,
    )


def tokens(*texts: str) -> list[Data]:
    return [Data(1, text.encode(), None, 100 + index) for index, text in enumerate(texts)]


def read(answer: AnswerReader, *texts: str) -> list:
    events = [event for token in tokens(*texts) if not answer.ended for event in answer.feed(token)]
    return events if answer.ended else [*events, *answer.finish()]


def spelled(events) -> str:
    """The events as text, so that they can be compared however they were cut."""
    text = ""
    for event in events:
        assert event.choice == 3
        match event:
            case TextDelta():
                text += event.text
            case ToolCallBegun():
                text += f"<{event.index}:{event.name}>"
            case ToolCallArguments():
                text += event.text
            case ToolCallEnded():
                text += f"</{event.index}>"
    return text


ANSWER = 'Well. [get|{"a":1}] [put|{}]Done'
SPELLED = 'Well. <0:get>{"a":1}</0> <1:put>{}</1>Done'


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_calls_stand_where_they_were_made_however_the_tokens_are_cut(size) -> None:
    answer = reader()
    pieces = ["".join(part) for part in itertools.zip_longest(*[iter(ANSWER)] * size, fillvalue="")]
    assert spelled(read(answer, *pieces)) == SPELLED
    assert (answer.calls, answer.call_open, answer.stop) == (2, False, None)


def test_with_records_no_token_is_torn_so_its_text_comes_before_its_calls() -> None:
    recorded = Readout(token_ids=True)
    assert spelled(read(reader(readout=recorded), *ANSWER)) == SPELLED
    assert spelled(read(reader(readout=recorded), "a[f|{}]b", "c")) == "ab<0:f>{}</0>c"


def test_what_a_stop_held_back_comes_before_the_call_and_no_stop_spans_it() -> None:
    answer = reader("a b", "x y")
    assert spelled(read(answer, "a ", "[f|{}]", "b")) == "a <0:f>{}</0>b"
    assert answer.stop is None


def test_a_stop_in_the_arguments_is_no_stop() -> None:
    answer = reader("stop")
    assert spelled(read(answer, '[f|{"a":"stop"}]')) == '<0:f>{"a":"stop"}</0>'
    assert not answer.ended


def test_a_stop_before_a_call_ends_the_answer_without_it() -> None:
    answer = reader("b")
    assert spelled(read(answer, "ab", "[f|{}]")) == "a"
    assert (answer.calls, answer.stop) == (0, "b")


def test_a_call_is_content_so_a_stop_behind_it_is_not_leading() -> None:
    answer = reader("b", ignore_leading_stop=True)
    assert spelled(read(answer, "b", "[f|{}]", "b", "c")) == "<0:f>{}</0>"
    assert answer.stop == "b"


def test_a_call_that_was_cut_stays_open() -> None:
    answer = reader()
    assert spelled(read(answer, '[f|{"a":')) == '<0:f>{"a":'
    assert (answer.calls, answer.call_open) == (1, True)


def test_the_markup_of_a_call_has_hidden_records_and_each_token_one() -> None:
    events = read(reader(readout=Readout(logprobs=0)), "Hi ", "[f|", "{}", "]", "!")
    records = [record for event in events if isinstance(event, TextDelta) for record in event.tokens]
    assert [(record.text, record.visibility) for record in records] == [
        ("Hi ", Visibility.SHOWN),
        ("", Visibility.HIDDEN),
        ("", Visibility.HIDDEN),
        ("", Visibility.HIDDEN),
        ("!", Visibility.SHOWN),
    ]


def test_a_call_knows_how_many_tokens_there_were() -> None:
    events = read(reader(), "Hi ", "[f|", "{}", "]")
    assert [(type(event).__name__, event.generated) for event in events] == [
        ("TextDelta", 1),
        ("ToolCallBegun", 2),
        ("ToolCallArguments", 3),
        ("ToolCallArguments", 3),
        ("ToolCallEnded", 4),
    ]
