"""What a request may ask of the child beyond a plain answer. The model's logits are a hash, so each right answer is computed here."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.protocol.frames import Accept, Data, Done, Echo, Error, Submit
from support.hash_backend import END, HashBackend, continuation, log_probabilities, logits_after
from support.worker_desk import WorkerDesk, submit

LONG = bytes(97 + index % 25 for index in range(200))


def ask(*commands: Submit) -> list[list]:
    """One after the other, in one engine."""
    with WorkerDesk(HashBackend()) as desk:
        return [desk.ask(command) for command in commands]


def generated(frames) -> list[int]:
    return [frame.token for frame in frames if isinstance(frame, Data)]


def done_of(frames) -> Done:
    assert isinstance(frames[-1], Done), frames[-1]
    return frames[-1]


def likeliest(history, *, but: set[int]) -> int:
    """The greedy choice among the tokens that are not forbidden."""
    row = logits_after(history).copy()
    row[list(but)] = -np.inf
    return int(row.argmax())


def answer(prompt: bytes, count: int, *, unended: int, ends: set[int]) -> list[int]:
    """A greedy answer in which nothing that ends it may come before ``unended`` tokens."""
    tokens: list[int] = []
    while len(tokens) < count and not (tokens and tokens[-1] in ends and len(tokens) > unended):
        tokens.append(likeliest([*prompt, *tokens], but=ends if len(tokens) < unended else set()))
    return tokens


# --- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S37")
@pytest.mark.parametrize("budget", [3, 8])
def test_a_stop_token_ends_the_answer_is_written_and_counted_and_is_no_lack_of_budget(budget):
    expected = continuation(b"hello", 3)
    assert expected[2] not in expected[:2]
    (frames,) = ask(submit(1, "hello", budget, stop_token_ids=[expected[2]]))
    assert generated(frames) == expected
    assert frames[-2].payload == bytes([expected[2]])
    assert (done_of(frames).emitted, done_of(frames).length_limited) == (3, False)


@pytest.mark.seeds("S37")
def test_a_stop_token_ends_an_answer_that_ignores_the_models_own_end():
    on, stopped = ask(
        submit(1, "Stop.", 4, ignore_eos=True), submit(2, "Stop.", 4, ignore_eos=True, stop_token_ids=[END])
    )
    assert (done_of(on).emitted, done_of(on).length_limited) == (4, True)
    assert (generated(stopped), done_of(stopped).length_limited) == ([END], False)


@pytest.mark.seeds("S36")
@pytest.mark.parametrize("count", [1, 2, 5])
def test_before_min_tokens_the_next_best_token_comes_where_the_end_would(count):
    (frames,) = ask(submit(1, "Stop.", 12, min_tokens=count))
    expected = answer(b"Stop.", 12, unended=count, ends={END})
    assert generated(frames) == expected
    assert len(expected) > count or expected[-1] != END
    assert END not in expected[:count]


@pytest.mark.seeds("S36")
def test_before_min_tokens_a_stop_token_does_not_come_either():
    first = continuation(b"hello", 1)[0]
    (frames,) = ask(submit(1, "hello", 6, min_tokens=1, stop_token_ids=[first]))
    assert generated(frames) == answer(b"hello", 6, unended=1, ends={first, END})


@pytest.mark.seeds("S36")
def test_an_answer_that_may_be_nothing_but_its_end_is_as_long_as_was_asked():
    (frames,) = ask(submit(1, "hello", 6, min_tokens=3, allowed_token_ids=[END]))
    assert generated(frames) == [END] * 4
    assert not done_of(frames).length_limited


# --- the draw --------------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S35")
def test_a_bias_of_a_hundred_produces_its_token_and_leaves_the_log_probabilities_the_models_own():
    (frames,) = ask(submit(1, "hello", 3, logit_bias=[[65, 100.0]], logprobs=0))
    assert generated(frames) == [65, 65, 65]
    for index, frame in enumerate(frames[1:4]):
        expected = log_probabilities([*b"hello", *b"A" * index])[65]
        assert frame.numeric.logprob == pytest.approx(expected, abs=1e-5)
        assert expected < -1


def test_forbidden_texts_and_allowed_tokens_reach_the_draw():
    assert continuation(b"hey", 1) == [ord("i")]
    bad, allowed = ask(
        submit(1, "hey", 1, bad_words=["i"]),
        submit(2, "hey", 4, allowed_token_ids=[66, 67], temperature=1.0, seed=3),
    )
    assert generated(bad) == [likeliest(b"hey", but={ord("i")})]
    assert set(generated(allowed)) <= {66, 67}


def test_what_was_said_counts_for_the_request_that_said_it_alone():
    plain, penalised, again = ask(
        submit(1, "hello", 12),
        submit(2, "hello", 12, presence_penalty=1000.0),
        submit(3, "hello", 12),
    )
    assert len(set(generated(penalised))) == len(generated(penalised))
    assert generated(again) == generated(plain) == continuation(b"hello", 12)


@pytest.mark.parametrize(
    ("key", "value"), [("logit_bias", [[257, 1.0]]), ("stop_token_ids", [257]), ("min_tokens", -1)]
)
def test_a_value_that_is_none_is_refused_by_its_key_and_the_slot_stays_free(key, value):
    refused, taken = ask(submit(1, "hello", 3, **{key: value}), submit(2, "hello", 3))
    assert refused[0].code == "BAD_REQUEST"
    assert isinstance(refused[0], Error)
    assert refused[0].detail.split()[0] == key
    assert generated(taken) == continuation(b"hello", 3)


# --- what is read out ------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S78")
def test_prompt_and_answer_have_numbers_of_alternatives_of_their_own():
    (frames,) = ask(submit(1, "hello", 2, logprobs=1, echo=3))
    echoes = [frame for frame in frames if isinstance(frame, Echo)]
    assert [len(echo.numeric.top) for echo in echoes] == [0, 3, 3, 3, 3]
    assert [len(frame.numeric.top) for frame in frames if isinstance(frame, Data)] == [1, 1]


def test_an_echo_alone_describes_the_prompt_and_leaves_the_answer_bare():
    (frames,) = ask(submit(1, "hello", 2, echo=0))
    echoes = [frame for frame in frames if isinstance(frame, Echo)]
    for position, echo in enumerate(echoes[1:], 1):
        expected = log_probabilities(b"hello"[:position])[b"hello"[position]]
        assert echo.numeric.logprob == pytest.approx(expected, abs=1e-5)
    assert len(echoes) == 5
    assert [frame.numeric for frame in frames if isinstance(frame, Data)] == [None, None]


@pytest.mark.seeds("S134")
def test_log_probabilities_of_the_answer_alone_keep_the_prefix():
    _, known, echoed = ask(submit(1, LONG, 1), submit(2, LONG, 2, logprobs=2), submit(3, LONG, 2, logprobs=2, echo=2))
    assert known[0] == Accept(2, 200, 199, "")
    assert echoed[0] == Accept(3, 200, 0, "echo")
    assert [frame.numeric for frame in known if isinstance(frame, Data)] == [
        frame.numeric for frame in echoed if isinstance(frame, Data)
    ]


@pytest.mark.seeds("S23")
@pytest.mark.parametrize("options", [{}, {"echo": 0}], ids=["read", "echoed"])
def test_a_budget_of_nothing_warms_the_cache(options):
    warming, warm = ask(submit(1, LONG, 0, **options), submit(2, LONG, 3))
    assert (done_of(warming).emitted, done_of(warming).computed_tokens) == (0, 200)
    assert warm[0] == Accept(2, 200, 199, "")
    assert done_of(warm).computed_tokens == 1
    assert generated(warm) == continuation(LONG, 3)
