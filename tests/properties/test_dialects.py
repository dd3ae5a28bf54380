"""Whatever a model writes, and however it is cut: each character comes out once, and calls that ended are JSON objects.

Answers are made of pieces of each family's own tapes, in any order, so that every tag stands where it should not.
"""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.json import Json
from dragoman.dialects.base import CallArguments, CallBegun, CallEnded, Parsed, Piece
from support.dialect_tapes import SPLIT, Answer, answer, ask, families, model, parse, speak, tapes, tokens
from support.tools import TOOLS

Output = list[tuple[str, bool]]

_WORDS = re.compile(r"\s+|\w+|[^\w\s]+")

HOSTILE = ["1e999", "NaN", "0123", "-", "{", "\\", '"\\ud800"', "\\udc00", '"name": "x"', ",", " ,", "\x00"]
"""What Python's JSON takes and others do not, halves of characters, and signs where models seldom write them."""


@cache
def fragments(family: str) -> list[tuple[str, bool]]:
    """The words, signs and control tokens of all tapes, and whole stretches between tokens."""
    found: dict[tuple[str, bool], None] = {}
    for tape in tapes(family):
        for text, special in tokens(tape.output.replace(SPLIT, ""), model(family).specials):
            words = [text] if special else [*_WORDS.findall(text), text]
            found.update(dict.fromkeys((word, special) for word in words))
    return list(found)


dialect_of = cache(speak)


def outputs(family: str) -> st.SearchStrategy[Output]:
    return st.lists(st.sampled_from(fragments(family)), max_size=15)


@cache
def calling(family: str) -> list[Output]:
    """The tapes' answers, word by word."""
    answers = [tokens(tape.output.replace(SPLIT, ""), model(family).specials) for tape in tapes(family)]
    return [
        [(word, special) for text, special in answer for word in ([text] if special else _WORDS.findall(text))]
        for answer in answers
    ]


@st.composite
def spoilt(draw: st.DrawFn, family: str) -> Output:
    """An answer with what does not belong there in a few places, most of them within a call."""
    output = list(draw(st.sampled_from(calling(family))))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(output)))
        output[place : place + draw(st.integers(0, 1))] = [(draw(st.sampled_from(HOSTILE)), False)]
    return output


def read(family: str, output: Output) -> list[Parsed]:
    dialect = dialect_of(family)
    asked = ask(TOOLS.values() if "calls" not in model(family).lacks else ())
    return parse(dialect.parser(asked, dialect.render(asked)), output)


def recut(output: Output, size: int) -> Output:
    """The same with plain text in stretches of ``size``, over the seams of what was put together."""
    cut: Output = []
    plain = ""
    for text, special in [*output, ("", True)]:
        if not special:
            plain += text
            continue
        cut += [(plain[at : at + size], False) for at in range(0, len(plain), size)]
        plain = ""
        cut += [(text, True)] if text else []
    return cut


def is_object(text: str) -> bool:
    value: Json = json.loads(text, parse_constant=pytest.fail)
    return isinstance(value, dict)


def told(parsed: list[Parsed]) -> tuple[Answer, list[str]]:
    """What the client gets, and the order of calls."""
    return answer(parsed), [type(part).__name__ for part in parsed if isinstance(part, CallBegun | CallEnded)]


@pytest.mark.parametrize("family", families())
class TestAnyOutput:
    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_each_character_is_in_one_piece_and_the_split_does_not_show(self, family, data):
        output = data.draw(outputs(family) | spoilt(family))
        whole = read(family, recut(output, 10**6))
        assert "".join(part.text for part in whole if isinstance(part, Piece)) == "".join(text for text, _ in output)
        for size in (1, 3, 7):
            assert told(read(family, recut(output, size))) == told(whole)

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_calls_follow_one_another_and_have_objects_for_arguments(self, family, data):
        open_call = False
        arguments = ""
        for part in read(family, data.draw(outputs(family) | spoilt(family))):
            match part:
                case CallBegun(name):
                    assert name.encode()
                    open_call, arguments = True, ""
                case CallArguments(text):
                    assert open_call
                    assert text.encode()
                    arguments += text
                case CallEnded():
                    assert open_call
                    assert is_object(arguments)
                    open_call = False
                case Piece():
                    pass
