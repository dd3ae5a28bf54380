"""What each model family's answers come to: tapes of their syntax, under every split, and cut at every position."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from dragoman.core.request import ToolChoice, ToolMode
from dragoman.dialects.base import CallArguments, OutputParser, Piece
from dragoman.dialects.registry import FAMILIES
from support.dialect_tapes import SPLIT, Tape, all_tapes, answer, families, model, parse, speak, tapes, tokens

CASES = {"plain_text": "", "reasoning": "reasoning", **dict.fromkeys(
    ("one_call", "two_calls", "call_after_text", "hard_strings"), "calls"
)}  # fmt: skip
"""Every family has these, but for what it lacks."""


def starts(tape: Tape) -> Callable[[], OutputParser]:
    """Makes parsers of answers to the tape's question."""
    dialect = speak(tape.family)
    prompt = dialect.render(tape.conversation)
    return lambda: dialect.parser(tape.conversation, prompt)


def plain_tokens(tape: Tape) -> list[tuple[str, bool]]:
    return tokens(tape.output, model(tape.family).specials)


def each(names: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("family", names)


def each_of(some: list[Tape]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("tape", some, ids=lambda tape: f"{tape.family}-{tape.case}")


tape_of = each_of(all_tapes())


@each([family.name for family in FAMILIES if family.marks or family.words or family.architectures])
def test_a_family_that_is_recognised_has_tapes(family: str):
    assert family in families()


@each(families())
def test_a_family_has_a_tape_for_each_case(family: str):
    lacks = model(family).lacks
    assert {case for case, needs in CASES.items() if needs not in lacks} <= {tape.case for tape in tapes(family)}


@each(families())
def test_a_family_is_recognised_by_its_own_template(family: str):
    assert speak(family).name == family


@each(families())
def test_a_family_answers_to_its_name(family: str):
    assert speak(family, name=family).name == family


@tape_of
def test_an_answer_comes_to_what_it_says(tape: Tape):
    assert answer(parse(starts(tape)(), plain_tokens(tape))) == tape.expected


@tape_of
def test_calls_are_json_objects(tape: Tape):
    for _, arguments, ended in tape.expected.calls:
        assert not ended or isinstance(json.loads(arguments), dict)


@tape_of
def test_every_character_is_in_one_piece_whatever_the_split(tape: Tape):
    start, whole = starts(tape), plain_tokens(tape)
    output = tape.output.replace(SPLIT, "")
    for cut in (list(split_at(whole, place)) for place in range(len(output) + 1)):
        parsed = parse(start(), cut)
        assert "".join(part.text for part in parsed if isinstance(part, Piece)) == output
        assert answer(parsed) == tape.expected
    letters = [(part, special) for text, special in whole for part in ([text] if special else text)]
    assert answer(parse(start(), letters)) == tape.expected


@tape_of
def test_an_answer_that_is_cut_anywhere_shows_no_more_than_the_whole(tape: Tape):
    start, whole = starts(tape), plain_tokens(tape)
    for place in range(sum(len(text) for text, _ in whole)):
        cut = answer(parse(start(), beginning(whole, place)))
        assert len(cut.calls) <= len(tape.expected.calls)
        for (name, arguments, ended), (true_name, all_arguments, _) in zip(
            cut.calls, tape.expected.calls, strict=False
        ):
            assert name == true_name
            assert all_arguments.startswith(arguments)
            assert not ended or arguments == all_arguments
        # What may have been the beginning of syntax is text when nothing more comes; of what is syntax, nothing is.
        assert len(common(cut.text, tape.expected.text)) >= len(cut.text) - LONGEST_HELD
        assert len(common(cut.reasoning, tape.expected.reasoning)) >= len(cut.reasoning) - LONGEST_HELD


@pytest.mark.seeds("S57")
@each_of([tape for tape in all_tapes() if tape.expected.calls and not tape.expected.text])
def test_where_calls_alone_may_come_a_cut_shows_nothing_of_their_syntax(tape: Tape):
    """vllm#53269: half an opener, or half a closing tag, was told as the answer."""
    whole = plain_tokens(tape)
    conversation = replace(tape.conversation, tool_choice=ToolChoice(mode=ToolMode.REQUIRED))
    dialect = speak(tape.family)
    prompt = dialect.render(conversation)
    for place in range(sum(len(text) for text, _ in whole)):
        assert answer(parse(dialect.parser(conversation, prompt), beginning(whole, place))).text == ""


@tape_of
def test_arguments_come_as_they_are_written(tape: Tape):
    """No more than a word is held back: a client sees a long argument grow."""
    longest = max((len(arguments) for _, arguments, _ in tape.expected.calls), default=0)
    letters = [(part, special) for text, special in plain_tokens(tape) for part in ([text] if special else text)]
    pieces = [part.text for part in parse(starts(tape)(), letters) if isinstance(part, CallArguments)]
    assert longest < 40 or max(map(len, pieces)) < longest


LONGEST_HELD = 64


def beginning(whole: list[tuple[str, bool]], size: int) -> list[tuple[str, bool]]:
    """The first ``size`` characters; a control token is whole or not there."""
    out: list[tuple[str, bool]] = []
    for text, special in whole:
        if size <= 0 or (special and size < len(text)):
            break
        out.append((text[:size], special))
        size -= len(text)
    return out


def split_at(whole: list[tuple[str, bool]], place: int) -> list[tuple[str, bool]]:
    """The same with one plain text cut in two."""
    out: list[tuple[str, bool]] = []
    for text, special in whole:
        if not special and 0 < place < len(text):
            out += [(text[:place], False), (text[place:], False)]
        else:
            out.append((text, special))
        place -= len(text)
    return out


def common(left: str, right: str) -> str:
    return "".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
