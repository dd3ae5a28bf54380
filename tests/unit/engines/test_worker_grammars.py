"""Requests with a grammar, before a model whose logits are a hash, so each right answer is computed here; the masks are llguidance's own."""

from __future__ import annotations

import re
from queue import SimpleQueue

import numpy as np
import pytest

from dragoman.engines.backend import BadGrammar, Compiled
from dragoman.protocol.frames import Accept, Cancel, Data, Done, Error, Stop, Submit
from support.byte_grammars import byte_grammars
from support.hash_backend import END, PATIENCE, HashBackend, continuation, log_probabilities, logits_after
from support.worker_desk import WorkerDesk, submit

DIGITS = range(ord("0"), ord("9") + 1)


def ask(*commands: Submit, backend: HashBackend | None = None) -> list[list]:
    """One after the other, in one engine."""
    with WorkerDesk(backend or HashBackend(grammars=byte_grammars())) as desk:
        return [desk.ask(command) for command in commands]


def text(frames) -> bytes:
    return b"".join(frame.payload for frame in frames if isinstance(frame, Data) and frame.token != END)


def end_of(frames) -> tuple[int, bool]:
    """Tokens that were counted, and whether the budget ended them."""
    assert isinstance(frames[-1], Done), frames[-1]
    return frames[-1].emitted, frames[-1].length_limited


def likeliest(history, among) -> int:
    row = logits_after(history)
    return max(among, key=lambda token: row[token])


def computed(backend: HashBackend) -> list[list[int]]:
    """The tokens of each step's runs."""
    return [[len(run.tokens) for run in backend.entered.get()] for _ in range(backend.entered.qsize())]


# --- what may come ---------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S59", "S125")
def test_each_token_is_the_likeliest_of_those_that_the_grammar_allows():
    prompt, digits = b"a year", []
    for _ in range(4):
        digits.append(likeliest([*prompt, *digits], DIGITS))
    [frames] = ask(submit(1, prompt, 9, grammar="start: /[0-9]{4}/"))
    assert (text(frames), end_of(frames)) == (bytes(digits), (4, False))


def test_a_drawn_answer_is_a_sentence_whatever_the_seed():
    answers = ask(*(submit(1, "x", 40, grammar="start: /[a-f]{2,30};/", temperature=2.0, seed=n) for n in range(30)))
    assert all(re.fullmatch(rb"[a-f]{2,30};", text(frames)) for frames in answers)
    assert len({text(frames) for frames in answers}) > 20


def test_a_sentence_that_nothing_can_follow_ends_the_answer_even_with_the_last_token_of_the_budget():
    [frames] = ask(submit(1, "x", 3, grammar="start: /[0-9]{3}/"))
    assert end_of(frames) == (3, False)


def test_where_a_sentence_may_end_the_models_own_end_ends_it():
    [frames] = ask(submit(1, "x", 9, grammar='start: "." "."*'))
    assert [frame.token for frame in frames if isinstance(frame, Data)] == [
        ord("."),
        END,
    ]  # likeliest after a full stop
    assert end_of(frames) == (2, False)


def test_the_budget_cuts_a_sentence_in_what_is_drawn_and_in_what_is_forced():
    drawn, forced = ask(submit(1, "x", 2, grammar="start: /[0-9]{9}/"), submit(2, "x", 2, grammar='start: "abcdef"'))
    assert (end_of(drawn), end_of(forced), text(forced)) == ((2, True), (2, True), b"ab")


def test_the_end_token_is_a_word_of_a_grammar_that_goes_on_after_it():
    [frames] = ask(submit(1, "x", 9, grammar='start: "a" <[256]> "b"'))
    assert [frame.token for frame in frames if isinstance(frame, Data)] == [ord("a"), END, ord("b")]


# --- with other wishes -----------------------------------------------------------------------------------------------


@pytest.mark.seeds("S41")
def test_a_bias_decides_among_what_the_grammar_allows_and_nothing_else():
    biased = {"logit_bias": [[ord("7"), 100.0], [ord("a"), 100.0]]}
    [frames] = ask(submit(1, "x", 9, grammar="start: /[0-9]{3}/", **biased))
    assert text(frames) == b"777"


@pytest.mark.parametrize("wish", [{"allowed_token_ids": [ord("x")]}, {"bad_words": ["5"]}, {"min_tokens": 4}])
def test_a_wish_that_leaves_nothing_of_what_the_grammar_allows_is_ignored_for_that_token(wish):
    [frames] = ask(submit(1, "x", 9, grammar='start: "5" /[5]/ ("5" | "5")', **wish))
    assert (text(frames), end_of(frames)) == (b"555", (3, False))


def test_min_tokens_hold_off_an_end_that_the_grammar_only_allows():
    [frames] = ask(submit(1, "x", 9, grammar='start: "."+', min_tokens=5))
    assert (text(frames), end_of(frames)) == (b".....", (6, False))


def test_an_answer_that_ignores_the_models_end_still_ends_with_its_sentence():
    [frames] = ask(submit(1, "x", 9, grammar='start: "." "."*', ignore_eos=True))
    assert end_of(frames) == (2, False)


def test_a_stop_token_ends_a_sentence_early_also_among_forced_ones():
    [frames] = ask(submit(1, "x", 9, grammar='start: "abcdef"', stop_token_ids=[ord("c")]))
    assert (text(frames), end_of(frames)) == (b"abc", (3, False))


@pytest.mark.seeds("S69")
def test_log_probabilities_are_the_models_own_and_the_tokens_the_same_as_without_them():
    grammar = 'start: "ab" /[0-9]{2}/ "cd" /[0-9]/'
    bare, told = ask(submit(1, "x", 20, grammar=grammar), submit(2, "x", 20, grammar=grammar, logprobs=3))
    assert text(bare) == text(told)
    history = list(b"x")
    for frame in (frame for frame in told if isinstance(frame, Data)):
        model = log_probabilities(history)
        assert frame.numeric.logprob == pytest.approx(model[frame.token], abs=1e-5)
        assert [token for token, _ in frame.numeric.top] == np.argsort(-model)[:3].tolist()
        history.append(frame.token)
    assert bytes(history[1:]) == text(told)


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_what_is_forced_is_computed_together_and_written_token_by_token():
    backend = HashBackend(grammars=byte_grammars())
    [frames] = ask(submit(1, "x", 40, grammar='start: "the year " /[0-9]/ " and the day " /[0-9]/'), backend=backend)
    assert re.fullmatch(rb"the year \d and the day \d", text(frames))
    assert [len(frame.payload) for frame in frames if isinstance(frame, Data)] == [1] * 24
    assert computed(backend) == [[1], [9], [14]]  # the prompt; the first words; a digit with what must follow it


# --- neighbours ------------------------------------------------------------------------------------------------------


def test_each_of_several_has_its_own_grammar_and_one_without_is_untouched():
    grammars = ["start: /[0-9]{6}/", "start: /[a-z]{6}/", 'start: ("no" | "yes")']
    with WorkerDesk(HashBackend(grammars=byte_grammars())) as desk:
        constrained = [submit(n, "hello", 8, slot=n, grammar=grammar) for n, grammar in enumerate(grammars, 1)]
        desk.send(submit(9, "hello", 8, slot=0), *constrained)
        frames = desk.until_ended(9, 1, 2, 3)
    assert [frame.token for frame in frames[9] if isinstance(frame, Data)] == continuation(b"hello", 8)
    for number, pattern in ((1, rb"\d{6}"), (2, rb"[a-z]{6}"), (3, rb"no|yes")):
        assert re.fullmatch(pattern, text(frames[number]))


def test_one_text_for_several_is_one_grammar_and_each_stands_somewhere_else_in_it():
    with WorkerDesk(HashBackend(grammars=byte_grammars())) as desk:
        wishes = {"grammar": "start: /[a-z]{20}/", "temperature": 2.0}
        desk.send(*(submit(n, "hello", 30, slot=n, seed=n, **wishes) for n in range(1, 4)))
        frames = desk.until_ended(1, 2, 3)
    answers = {text(frames[number]) for number in (1, 2, 3)}
    assert len(answers) == 3
    assert all(re.fullmatch(rb"[a-z]{20}", answer) for answer in answers)


def test_a_sequence_that_lost_its_cells_goes_on_where_it_stood_in_its_grammar():
    backend = HashBackend(cells=60, grammars=byte_grammars())
    with WorkerDesk(backend) as desk:  # budgets that are not the client's own are admitted on the prompt alone
        desk.send(*(submit(n, f"prompt {n}", 600, slot=n, grammar="start: /[a-z]{40}/") for n in (1, 2)))
        frames = desk.until_ended(1, 2)
    assert backend.full, "nobody was preempted"
    for number in (1, 2):
        history = [*b"prompt %d" % number]
        for _ in range(40):
            history.append(likeliest(history, range(ord("a"), ord("z") + 1)))
        assert text(frames[number]) == bytes(history[8:])


# --- what can not be compiled, and what is not yet --------------------------------------------------------------------


class Later:
    """Compiles when the test says so."""

    def __init__(self) -> None:
        self.asked: SimpleQueue = SimpleQueue()

    def compile(self, grammar, done) -> None:
        self.asked.put(done)

    def answer(self, compiled: Compiled) -> None:
        self.asked.get(timeout=PATIENCE)(compiled)


@pytest.mark.parametrize("grammar", ["start: (", "start: foo", "start: /(/", 'start: %json {"type": "nothing"}', "x"])
def test_what_is_no_grammar_is_refused_before_the_request_is_accepted_and_the_next_is_served(grammar):
    refused, served = ask(submit(1, "x", 8, grammar=grammar), submit(2, "x", 8, grammar='start: "ok"'))
    [error] = refused
    assert isinstance(error, Error)
    assert (error.code, bool(error.detail)) == ("BAD_GRAMMAR", True)
    assert text(served) == b"ok"


def test_others_are_served_while_a_grammar_is_compiled():
    grammars = Later()
    with WorkerDesk(HashBackend(grammars=grammars)) as desk:
        desk.send(submit(1, "hello", 8, slot=0, grammar="slow"))
        frames = desk.ask(submit(2, "hello", 8, slot=1))
        assert [frame.token for frame in frames if isinstance(frame, Data)] == continuation(b"hello", 8)
        grammars.answer(BadGrammar("as slow as can be"))
        assert desk.until_ended(1)[1] == [Error(1, "BAD_GRAMMAR", "as slow as can be")]


def test_a_request_can_be_cancelled_or_stopped_while_its_grammar_is_compiled_and_its_slot_is_free_at_once():
    grammars = Later()
    with WorkerDesk(HashBackend(grammars=grammars)) as desk:
        desk.send(submit(1, "hello", 8, grammar="slow"), Cancel(1))
        assert desk.until_ended(1)[1] == [Error(1, "CANCELLED")]
        desk.send(submit(1, "hello", 8, grammar="slow"), Stop(1))
        accept, done = desk.until_ended(1)[1]
        assert isinstance(accept, Accept)
        assert (done.emitted, done.length_limited) == (0, False)
        desk.send(submit(1, "hello", 8, grammar="slow"))
        grammars.answer(BadGrammar("of the cancelled one"))
        grammars.answer(BadGrammar("of the stopped one"))
        grammars.answer(BadGrammar("of the living one"))
        assert desk.until_ended(1)[1] == [Error(1, "BAD_GRAMMAR", "of the living one")]


def test_an_engine_whose_input_ends_serves_what_is_still_being_compiled():
    real = byte_grammars()
    with WorkerDesk(HashBackend(grammars=real)) as desk:
        desk.send(submit(1, "x", 8, grammar='start: "last words"'))
        desk.hang_up()
        assert text(desk.until_ended(1)[1]) == b"last wor"


def test_a_grammar_that_grows_too_complex_ends_its_answer_by_name_and_no_other():
    ways = " | ".join("x " * count for count in range(2, 24))  # soon there are more ways to read it than are followed
    failed, served = ask(submit(1, "x", 400, grammar=f"start: x\nx: /[a-z]/ | {ways}"), submit(2, "x", 4))
    assert (failed[-1].code, sum(isinstance(frame, Data) for frame in failed) > 3) == ("BAD_GRAMMAR", True)
    assert [frame.token for frame in served if isinstance(frame, Data)] == continuation(b"x", 4)
