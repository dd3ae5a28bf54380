"""Compiling beside the model: once for each text, each constraint by itself, never longer than the patience, never deeper than the stack."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from dragoman.core.grammar import json_value
from dragoman.engines.backend import BadGrammar
from dragoman.engines.llama.grammar_compiler import KEPT, GrammarCompiler
from support.byte_grammars import byte_grammars, byte_tokenizer
from support.hash_backend import PATIENCE, SIZE


def test_constraints_of_one_text_do_not_move_one_another():
    compiler, answers = byte_grammars(), SimpleQueue()
    for _ in range(3):
        compiler.compile('start: "ab" | "cd"', answers.put)
    first, second, third = (answers.get(timeout=PATIENCE) for _ in range(3))
    first.take(ord("a"))
    second.take(ord("c"))
    assert (first.force(), second.force()) == ([ord("b")], [ord("d")])
    assert not third.complete
    third.take(ord("a"))


def test_a_text_that_is_kept_is_answered_at_once_and_the_least_used_gives_way():
    compiler, answers = byte_grammars(), SimpleQueue()
    texts = [f'start: "{number}"' for number in range(KEPT + 1)]
    for text in texts[:-1]:
        compiler.compile(text, answers.put)
        answers.get(timeout=PATIENCE)
    compiler.compile(texts[0], answers.put)
    assert answers.qsize() == 1  # and no thread was asked
    answers.get()
    compiler.compile(texts[-1], answers.put)
    answers.get(timeout=PATIENCE)
    with compiler._lock:
        assert set(compiler._kept) == {texts[0], *texts[2:]}


def test_who_waits_too_long_is_told_so_once_and_who_asks_again_later_is_served():
    free, answers = threading.Event(), SimpleQueue()

    def slow():
        assert free.wait(PATIENCE)
        return byte_tokenizer()

    compiler = GrammarCompiler(slow, SIZE, patience=0.05)
    compiler.compile('start: "x"', answers.put)
    late = answers.get(timeout=PATIENCE)
    assert isinstance(late, BadGrammar)
    assert "0.05 s" in str(late)
    free.set()
    patient: SimpleQueue = SimpleQueue()
    while True:  # the patience of each is as short, so it may take a few
        compiler.compile('start: "x"', patient.put)
        if not isinstance(constraint := patient.get(timeout=PATIENCE), BadGrammar):
            break
    assert constraint.force() == [ord("x")]
    assert answers.empty()


def test_a_bad_text_right_after_a_good_one_fails_alone():
    """Peers' bug list, 84."""
    compiler, answers = byte_grammars(), SimpleQueue()
    for text, good in (('start: "x"', True), ("root ::= (", False), ('start: "x"', True), ('start: "y"', True)):
        compiler.compile(text, answers.put)
        assert isinstance(answers.get(timeout=PATIENCE), BadGrammar) is not good


def test_the_tools_of_a_large_agent_are_a_grammar():
    """OpenAI's 128, each with twenty arguments, in 250 KiB."""
    arguments = {
        f"argument_{number}": {"type": ("string", "integer", "boolean", "number")[number % 4]} for number in range(20)
    }
    inner = {
        "type": "object",
        "properties": {f"x{number}": {"type": "string"} for number in range(6)},
        "required": ["x0"],
    }
    schema = {
        "type": "object",
        "properties": {
            **arguments,
            "list": {"type": "array", "items": {"$ref": "#/$defs/inner"}},
            "one": {"anyOf": [{"$ref": "#/$defs/inner"}, {"type": "null"}]},
        },
        "required": ["argument_0"],
        "$defs": {"inner": inner},
    }
    rules = [f'tool_{number}: "tool_{number}" {json_value(schema)}' for number in range(128)]
    text = "\n".join([f"start: {' | '.join(f'tool_{number}' for number in range(128))}", *rules])
    compiler, answers = byte_grammars(), SimpleQueue()
    compiler.compile(text, answers.put)
    assert not isinstance(answers.get(timeout=PATIENCE), BadGrammar)


def chain(length: int, link: str, last: str) -> str:
    links = (link.format(here=number, there=number + 1) for number in range(length))
    return "\n".join([*links, last.format(here=length)])


def references(length: int) -> str:
    links = (f'"d{n}":{{"type":"array","items":{{"$ref":"#/$defs/d{n + 1}"}}}}' for n in range(length))
    return f'start: %json {{"$ref":"#/$defs/d0","$defs":{{{",".join(links)},"d{length}":{{"type":"null"}}}}}}'


@pytest.mark.parametrize(
    "grammar",
    [
        "start: " + "(" * 60_000 + '"a"' + ")" * 60_000,
        "start: /" + "(" * 60_000 + "a" + ")" * 60_000 + "/",
        "start: %json " + '{"items":' * 40_000 + "{}" + "}" * 40_000,
        "start: r0\n" + chain(28_000, 'r{here}: r{there} "a"', 'r{here}: "x"'),
        "start: R0\n" + chain(28_000, 'R{here}: "a" R{there}', 'R{here}: "x"'),
        references(9_000),
    ],
    ids=["brackets", "groups", "schemas", "rules", "terminals", "references"],
)
def test_however_deep_a_text_nests_it_is_compiled_or_refused_and_the_engine_lives(grammar):
    """Peers' bug list, E: sixty thousand groups crash llama.cpp. Without a deep stack the last three kill this process."""
    compiler, answers = byte_grammars(), SimpleQueue()
    compiler.compile(grammar, answers.put)
    answers.get(timeout=PATIENCE)
    compiler.compile('start: "x"', answers.put)
    assert answers.get(timeout=PATIENCE).force() == [ord("x")]
