"""However an answer is cut into tokens, its text and the records of its tokens say the same.

The model below reads an answer as a whole: bytes to characters, each with its token and its channel, then the rules of the rows. It
shares nothing with the reader but the way in which the test's markup is written.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.events import ReasoningDelta, TextDelta, Visibility
from dragoman.core.request import OutputLimits, Readout
from dragoman.protocol.frames import Data
from dragoman.serving.answer import AnswerReader
from dragoman.serving.deltas import Delta
from support.markup_parser import MarkupParser

CONTROL = 2
CONTROL_TEXT = "<|c|>"

snippets = st.sampled_from(
    ["<r>", "</r>", "<t>", "</t>", "<", "a", "b", "ab", "abc", " ", "\n", "é", "😀", ">b", "é<", "ba<r>é</r>b"]
)
texts = st.lists(snippets, max_size=12).map(lambda parts: "".join(parts).encode())
broken = st.sampled_from([b"\xc3", b"\xf0\x9f", b"\xff", b"\xa9"])
runs = st.lists(texts | texts | broken, max_size=3).map(b"".join)
stop_lists = st.lists(
    st.sampled_from(["ab", "b", "abc", "bb", "é", "\n", "<", "b<", "é😀", "a b", "c|", "\ufffd"]),
    max_size=3,
    unique=True,
).map(tuple)


@dataclass(frozen=True)
class Case:
    """Tokens, and how the client wants them read."""

    tokens: tuple[Data, ...]
    limits: OutputLimits
    markers: tuple[str, ...]
    shows_special: bool

    def reader(self, *, recorded: bool) -> AnswerReader:
        return AnswerReader(
            parser=MarkupParser(),
            special_tokens=frozenset({CONTROL}),
            limits=self.limits,
            markers=self.markers,
            readout=Readout(token_ids=recorded, special_tokens=self.shows_special),
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Runs of bytes cut anywhere into plain tokens, with a control token between two runs."""
    tokens: list[Data] = []
    for number, run in enumerate(draw(st.lists(runs, min_size=1, max_size=3))):
        if number:
            tokens.append(Data(1, CONTROL_TEXT.encode(), None, CONTROL))
        places = sorted(draw(st.lists(st.integers(0, len(run)), max_size=10)))
        tokens += [
            Data(1, run[start:end], None, 100 + len(tokens) + index)
            for index, (start, end) in enumerate(zip([0, *places], [*places, len(run)], strict=True))
        ]
    if draw(st.booleans()):
        tokens.append(Data(1, CONTROL_TEXT.encode(), None, CONTROL))
    stops = draw(stop_lists)
    return Case(
        tokens=tuple(tokens),
        limits=OutputLimits(
            stop=stops,
            min_tokens=draw(st.sampled_from([0, 0, 1, 3, 6])),
            include_stop=draw(st.booleans()),
            ignore_leading_stop=draw(st.booleans()),
        ),
        markers=draw(st.sampled_from([(), ("b",), ("ba", "ab")])),
        shows_special=draw(st.booleans()),
    )


# --- the model -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Character:
    value: str
    token: int
    channel: str


def characters(case: Case) -> list[Character]:
    """Every character of the output, with the number of the token that completed it."""
    found: list[Character] = []
    channel, run = "text", []
    for number, token in enumerate((*case.tokens, None), 1):
        if token is not None and token.token != CONTROL:
            run.append((number, token.payload))
            continue
        whole, channel = sorted_run(decoded(run), channel)
        found += whole
        run = []
        if token is not None:
            shown = case.shows_special and number < len(case.tokens)
            found += [Character(value, number, "text" if shown else "hidden") for value in CONTROL_TEXT]
    return found


def decoded(run: list[tuple[int, bytes]]) -> list[tuple[str, int]]:
    """The characters of plain tokens, each with its token's number; what never becomes one belongs to the last."""
    whole = b"".join(payload for _, payload in run).decode(errors="replace")
    pairs: list[tuple[str, int]] = []
    length = 0
    for number, payload in run:
        length += len(payload)
        so_far = codecs.getincrementaldecoder("utf-8")("replace").decode(b"".join(p for _, p in run)[:length])
        pairs += [(value, number) for value in so_far[len(pairs) :]]
    return pairs + [(value, run[-1][0]) for value in whole[len(pairs) :]]


def sorted_run(pairs: list[tuple[str, int]], channel: str) -> tuple[list[Character], str]:
    """The channel of each character, and the channel in which the next run begins."""
    tags = {"text": ("<r>", "<t>"), "reasoning": ("</r>",), "hidden": ("</t>",)}
    opens = {"<r>": "reasoning", "<t>": "hidden", "</r>": "text", "</t>": "text"}
    result: list[Character] = []
    position = 0
    for part in re.split("(</?[rt]>)", "".join(value for value, _ in pairs)):
        is_tag = part in tags[channel]
        own = pairs[position : position + len(part)]
        result += [Character(value, number, "hidden" if is_tag else channel) for value, number in own]
        position += len(part)
        channel = opens[part] if is_tag else channel
    return result, channel


@dataclass(frozen=True)
class Ending:
    """Text and reasoning that the client gets, and what ended them."""

    text: str
    reasoning: str
    stop: str | int | None
    ended: bool


def ending(case: Case) -> Ending:
    """The rules S27 to S29, S36 and S38 on the whole output."""
    output = characters(case)
    text = [character for character in output if character.channel == "text"]
    stops = tuple(dict.fromkeys((*case.limits.stop, *case.markers)))
    places = [at for at, character in enumerate(output) if character.channel == "text"]
    early = sum(character.token <= case.limits.min_tokens for character in text)
    whole = "".join(character.value for character in text)
    shown, start = "", 0
    while True:
        found = first_stop(whole, start, early, stops)
        if found is None:
            return Ending(shown + whole[start:], thought(output), None, ended=False)
        at, stop = found
        known = decided(whole, start, at, stop, stops)
        until = output if known is None else output[: places[known - 1]]  # a stop that waits does not hold up reasoning
        shown += whole[start:at]
        leads = case.limits.ignore_leading_stop or stop not in case.limits.stop
        if not (leads and not shown.strip() and not thought(until).strip()):
            asked = stop in case.limits.stop
            kept = stop if asked and case.limits.include_stop else ""
            return Ending(shown + kept, thought(until), stop if asked else None, ended=True)
        start = at + len(stop)


def first_stop(text: str, start: int, early: int, stops: tuple[str, ...]) -> tuple[int, str] | None:
    for at in range(start, len(text)):
        for stop in stops:
            if text.startswith(stop, at) and at + len(stop) > early:
                return at, stop
    return None


def decided(text: str, start: int, at: int, stop: str, stops: tuple[str, ...]) -> int | None:
    """How much of the text there must be before no other stop can still win; None if only the end tells."""
    better = [(other, o) for o in range(start, at + 1) for other in (stops if o < at else stops[: stops.index(stop)])]
    for length in range(at + len(stop), len(text) + 1):
        if not any(len(other) > length - o and other.startswith(text[o:length]) for other, o in better):
            return length
    return None


def thought(output: list[Character]) -> str:
    return "".join(character.value for character in output if character.channel == "reasoning")


# --- what must hold ------------------------------------------------------------------------------------------------------


def read(case: Case, *, recorded: bool) -> tuple[AnswerReader, list[Delta]]:
    """Feed until a stop ends the answer, or the tokens do."""
    reader = case.reader(recorded=recorded)
    deltas: list[Delta] = []
    for token in case.tokens:
        deltas += reader.feed(token)
        if reader.ended:
            return reader, deltas
    return reader, deltas + list(reader.finish())


def texts_of(deltas: list[Delta]) -> tuple[str, str]:
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    return text, "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))


@pytest.mark.seeds("S27", "S28", "S29", "S36", "S38", "S39")
@given(cases(), st.booleans())
def test_an_answer_is_read_as_if_it_had_come_whole(case: Case, recorded: bool) -> None:
    reader, deltas = read(case, recorded=recorded)
    text, reasoning = texts_of(deltas)
    assert Ending(text, reasoning, reader.stop, ended=reader.ended) == ending(case)


@pytest.mark.seeds("S82", "S83", "S89")
@given(cases())
def test_records_describe_exactly_the_text(case: Case) -> None:
    reader, deltas = read(case, recorded=True)
    records = [record for delta in deltas for record in delta.tokens]
    fed = case.tokens[: reader.tokens]
    assert [record.id for record in records] == [token.token for token in fed]
    for delta in deltas:
        if delta.tokens:
            assert "".join(record.text for record in delta.tokens) == delta.text
    text = "".join(record.text for delta in deltas if isinstance(delta, TextDelta) for record in delta.tokens)
    assert text == texts_of(deltas)[0]
    for record, token in zip(records, fed, strict=True):
        assert not record.text or record.visibility is Visibility.SHOWN
        assert record.data in {token.payload, record.text.encode()}


@given(cases())
def test_only_text_that_a_stop_cut_lacks_bytes(case: Case) -> None:
    reader, deltas = read(case, recorded=True)
    if not reader.ended:
        records = [record for delta in deltas for record in delta.tokens]
        assert b"".join(record.data for record in records) == b"".join(token.payload for token in case.tokens)
        assert all(record.visibility is not Visibility.CUT for record in records)


@pytest.mark.seeds("S52")
@given(cases())
def test_records_change_nothing_else(case: Case) -> None:
    plain, _ = read(case, recorded=False)
    recorded, _ = read(case, recorded=True)
    assert (plain.tokens, plain.reasoning_tokens) == (recorded.tokens, recorded.reasoning_tokens)
    assert 0 <= plain.reasoning_tokens <= plain.tokens


@given(cases())
def test_only_deltas_with_records_may_be_empty(case: Case) -> None:
    for recorded in (False, True):
        assert all(delta.text or delta.tokens for delta in read(case, recorded=recorded)[1])
