"""Cutting a text into pieces never changes what is made of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.text import StopScanner, Utf8Decoder, held_back

few_letters = st.text("ab<|", max_size=40)
stop_lists = st.lists(st.text("ab<|", min_size=1, max_size=5), max_size=4).map(tuple)


def cut(data, whole):
    """The pieces of ``whole`` between cuts that Hypothesis chooses."""
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]


def expected(text: str, stops: tuple[str, ...]) -> tuple[str, str | None]:
    """The rule S27 on the whole text: earliest offset, then list order."""
    for offset in range(len(text)):
        for stop in stops:
            if text.startswith(stop, offset):
                return text[:offset], stop
    return text, None


@given(few_letters, stop_lists, st.data())
def test_stops_are_cut_as_if_the_text_had_come_whole(text: str, stops: tuple[str, ...], data: st.DataObject):
    scanner = StopScanner(stops)
    shown = "".join(scanner.feed(piece).text for piece in cut(data, text)) + scanner.finish()
    assert (shown, scanner.matched) == expected(text, stops)


@given(few_letters, stop_lists)
def test_nothing_is_held_back_that_could_not_begin_a_stop(text: str, stops: tuple[str, ...]):
    ends = (n for n in range(1, len(text) + 1) if any(len(s) > n and s.startswith(text[-n:]) for s in stops))
    assert held_back(text, stops) == max(ends, default=0)
    if expected(text, stops)[1] is None:
        assert StopScanner(stops).feed(text).text == text[: len(text) - held_back(text, stops)]


@given(st.binary(max_size=30) | st.text(max_size=20).map(str.encode), st.data())
def test_bytes_become_the_same_characters_however_they_are_cut(payload: bytes, data: st.DataObject):
    decoder = Utf8Decoder()
    decoded = "".join(decoder.feed(piece) for piece in cut(data, payload)) + decoder.finish()
    assert decoded == payload.decode("utf-8", errors="replace")
