"""The child's loop with a model whose right answers a test computes by itself: logits are a hash of the history."""

from __future__ import annotations

import math

import pytest

from dragoman.core.request import SamplingParams
from dragoman.engines.sampling import draw, uniform
from dragoman.protocol import RemoteProtocolError
from dragoman.protocol.frames import (
    Accept,
    Cancel,
    Data,
    DetokenizeCommand,
    Done,
    Echo,
    Error,
    Progress,
    Stop,
    Submit,
    Text,
    TokenizeCommand,
    Tokens,
)
from support.hash_backend import END, PATIENCE, HashBackend, continuation, log_probabilities, logits_after
from support.worker_desk import WorkerDesk, submit

LONG = bytes(97 + index % 25 for index in range(200))
"""A prompt of four chunks."""


def generated(frames) -> list[int]:
    return [frame.token for frame in frames if isinstance(frame, Data)]


def done_of(frames) -> Done:
    assert isinstance(frames[-1], Done), frames[-1]
    return frames[-1]


def kinds(frames) -> list[str]:
    return [type(frame).__name__ for frame in frames]


def likeliest(history, count):
    """(id, log-probability) pairs, likeliest first."""
    row = log_probabilities(history)
    return sorted(enumerate(row), key=lambda pair: -pair[1])[:count]


# --- an answer -------------------------------------------------------------------------------------------------------


def test_an_answer_is_the_models_own_and_its_frames_come_in_order():
    with WorkerDesk(HashBackend()) as desk:
        frames = desk.ask(submit(7, "hello", 5))
    assert kinds(frames) == ["Accept", *["Data"] * 5, "Done"]
    assert frames[0] == Accept(7, 5, 0, "cold")
    assert generated(frames) == continuation(b"hello", 5)
    assert [frame.payload for frame in frames[1:6]] == [bytes([token]) for token in continuation(b"hello", 5)]
    done = done_of(frames)
    assert (done.emitted, done.prompt_tokens, done.computed_tokens, done.length_limited) == (5, 5, 5, True)


def test_the_end_token_ends_the_answer_and_an_extended_request_sees_it():
    with WorkerDesk(HashBackend()) as desk:
        frames = desk.ask(submit(1, "Stop.", 5))
    assert [(frame.token, frame.payload) for frame in frames if isinstance(frame, Data)] == [(END, b"<end>")]
    assert (done_of(frames).emitted, done_of(frames).length_limited) == (1, False)


def test_an_end_token_that_is_to_be_ignored_does_not_end_the_answer():
    with WorkerDesk(HashBackend()) as desk:
        frames = desk.ask(submit(1, "Stop.", 3, ignore_eos=True))
    history = [*b"Stop.", END]
    history.append(int(logits_after(history).argmax()))
    assert generated(frames)[:2] == history[-2:]
    assert done_of(frames).length_limited


@pytest.mark.seeds("S106")
def test_a_request_without_extensions_gets_no_ids_no_progress_and_no_control_token():
    command = Submit(id=1, slot=0, payload=LONG + b".", max_tokens=5, temperature=0.0, top_p=1.0)
    with WorkerDesk(HashBackend()) as desk:
        frames = desk.ask(command)
        plain = desk.ask(Submit(id=2, slot=0, payload=b"hello", max_tokens=2, temperature=0.0, top_p=1.0))
    assert kinds(frames) == ["Accept", "Done"]
    assert (done_of(frames).emitted, done_of(frames).computed_tokens) == (1, None)
    assert [(frame.token, frame.payload) for frame in plain[1:3]] == [
        (None, bytes([token])) for token in continuation(b"hello", 2)
    ]


def test_the_context_limits_the_answer_and_a_prompt_that_fills_it_is_refused_with_both_numbers():
    with WorkerDesk(HashBackend(context=10)) as desk:
        cut = desk.ask(submit(1, b"12345678", 100, ignore_eos=True))
        refused = desk.ask(submit(2, b"1234567890", 1))
        scored = desk.ask(submit(3, b"1234567890", 0))
        beyond = desk.ask(submit(4, b"12345678901", 0))
    assert (done_of(cut).emitted, done_of(cut).length_limited) == (2, True)
    assert refused == [Error(2, "CONTEXT_EXCEEDED", "10 10")]
    assert done_of(scored).emitted == 0
    assert beyond == [Error(4, "CONTEXT_EXCEEDED", "11 10")]


@pytest.mark.seeds("S23")
def test_a_budget_of_zero_computes_the_prompt_and_nothing_more():
    with WorkerDesk(HashBackend()) as desk:
        frames = desk.ask(submit(1, "hello", 0))
    assert kinds(frames) == ["Accept", "Done"]
    assert (done_of(frames).emitted, done_of(frames).computed_tokens, done_of(frames).length_limited) == (0, 5, True)


@pytest.mark.seeds("S93")
def test_a_prompt_of_ids_is_taken_as_it_stands_and_one_that_is_no_token_is_refused():
    with WorkerDesk(HashBackend()) as desk:
        taken = desk.ask(
            Submit(id=1, slot=0, payload=b"104 256 105", ids=True, max_tokens=3, temperature=0.0, top_p=1.0)
        )
        refused = desk.ask(Submit(id=2, slot=0, payload=b"257", ids=True, max_tokens=3, temperature=0.0, top_p=1.0))
    assert [frame.payload for frame in taken[1:-1]] == [bytes([token]) for token in continuation([104, 256, 105], 3)]
    assert refused == [Error(2, "BAD_REQUEST", "invalid token id")]


def test_an_empty_prompt_is_refused_by_name():
    with WorkerDesk(HashBackend()) as desk:
        assert desk.ask(submit(1, "")) == [Error(1, "EMPTY_PROMPT")]


def test_a_seed_draws_the_same_tokens_alone_and_beside_others():
    sampled = {"temperature": 1.0, "seed": 11, "ignore_eos": True}
    with WorkerDesk(HashBackend()) as desk:
        alone = desk.ask(submit(1, "hello", 12, **sampled))
        desk.send(
            submit(2, "hello", 12, slot=0, **sampled),
            submit(3, "other", 12, slot=1, **sampled),
            submit(4, LONG, 12, slot=2, **sampled),
        )
        beside = desk.until_ended(2, 3, 4)
    history = [*b"hello"]
    for _ in range(12):
        history.append(draw(logits_after(history), SamplingParams(temperature=1.0), uniform(11, len(history))))
    assert generated(alone) == generated(beside[2]) == history[5:]
    assert generated(beside[3]) != history[5:]


def test_logits_that_are_no_numbers_fail_their_request_alone_and_are_not_kept_for_others():
    with WorkerDesk(HashBackend(broken=ord("x"))) as desk:
        desk.send(submit(1, "abcx", slot=0), submit(2, "abc", 3, slot=1))
        frames = desk.until_ended(1, 2)
        again = desk.ask(submit(3, "abcx", slot=0))
    assert frames[1][-1] == Error(1, "NUMERIC", "the model's logits are not finite")
    assert generated(frames[2])[:1] == continuation(b"abc", 1)
    assert again[-1].code == "NUMERIC"


# --- log-probabilities and echo --------------------------------------------------------------------------------------


@pytest.mark.seeds("S74", "S84")
def test_log_probabilities_are_those_of_the_models_own_distribution():
    with WorkerDesk(HashBackend()) as desk:
        frames = desk.ask(submit(1, "hello", 3, logprobs=4))
    history = [*b"hello"]
    for frame in frames[1:4]:
        assert isinstance(frame, Data)
        assert frame.numeric.logprob == pytest.approx(log_probabilities(history)[frame.token], abs=1e-5)
        expected = likeliest(history, 4)
        assert [token for token, _ in frame.numeric.top] == [token for token, _ in expected]
        assert [value for _, value in frame.numeric.top] == pytest.approx([value for _, value in expected], abs=1e-5)
        history.append(frame.token)


@pytest.mark.seeds("S78", "S84")
def test_echo_describes_every_prompt_position_by_the_row_before_it():
    with WorkerDesk(HashBackend()) as desk:
        frames = desk.ask(submit(1, LONG, 2, logprobs=2, echo=2))
    check_echo(frames, LONG, 2)
    assert generated(frames) == continuation(LONG, 2)


def check_echo(frames, prompt: bytes, alternatives: int) -> None:
    echoes = [frame for frame in frames if isinstance(frame, Echo)]
    assert [frame.position for frame in echoes] == list(range(len(prompt)))
    assert [frame.token for frame in echoes] == list(prompt)
    assert b"".join(frame.payload for frame in echoes) == prompt
    assert math.isnan(echoes[0].numeric.logprob)
    assert echoes[0].numeric.top == ()
    for echo in echoes[1:]:
        row = log_probabilities(prompt[: echo.position])
        assert echo.numeric.logprob == pytest.approx(row[prompt[echo.position]], abs=1e-5)
        assert [token for token, _ in echo.numeric.top] == [
            token for token, _ in likeliest(prompt[: echo.position], alternatives)
        ]


def test_an_echo_is_whole_although_others_have_the_prompt_in_their_cache():
    with WorkerDesk(HashBackend()) as desk:
        desk.ask(submit(1, LONG, 1))
        frames = desk.ask(submit(2, LONG, 0, logprobs=0, echo=0))
    check_echo(frames, LONG, 0)
    assert frames[0] == Accept(2, 200, 0, "echo")


def test_an_echo_that_was_interrupted_says_each_position_once():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, LONG, 1, logprobs=1, echo=1, slot=0), submit(2, LONG[::-1], 1, slot=1))
        backend.permit(3)
        frames = [desk.next()]
        while Progress(1, 192, 200) not in frames:
            frames.append(desk.next())
        while {run.sequence.id for run in backend.entered.get(timeout=PATIENCE)} != {1, 2}:
            pass  # the fourth step has the last of one prompt and the first of the other
        desk.send(Cancel(2))
        ended = desk.until_ended(2)  # there is no permit: only an interrupt ends the step
        backend.permit(100)
        frames += [*ended.get(1, []), *desk.until_ended(1)[1]]
    check_echo([frame for frame in frames if frame.id == 1], LONG, 1)
    assert ended[2][-1] == Error(2, "CANCELLED")


# --- chunks and prefixes ---------------------------------------------------------------------------------------------


def test_progress_is_told_after_each_chunk_but_the_last():
    with WorkerDesk(HashBackend(), prefill_chunk=64) as desk:
        frames = desk.ask(submit(1, LONG, 1))
    assert [frame for frame in frames if isinstance(frame, Progress)] == [
        Progress(1, 64, 200),
        Progress(1, 128, 200),
        Progress(1, 192, 200),
    ]
    assert generated(frames) == continuation(LONG, 1)


def test_accept_is_told_before_the_first_chunk_is_computed():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, LONG, 1))
        assert desk.next() == Accept(1, 200, 0, "cold")
        backend.permit(100)
        desk.until_ended(1)


@pytest.mark.seeds("S134", "S52")
def test_a_known_prefix_is_told_and_not_computed_again():
    with WorkerDesk(HashBackend()) as desk:
        desk.ask(submit(1, LONG + b"one", 4))
        frames = desk.ask(submit(2, LONG + b"two", 4))
        other = desk.ask(submit(3, LONG + b"two", 4, isolation="somebody"))
    assert frames[0] == Accept(2, 203, 200, "diverged")
    assert done_of(frames).computed_tokens == 3
    assert other[0] == Accept(3, 203, 0, "cold")
    assert generated(frames) == generated(other) == continuation(LONG + b"two", 4)


def test_a_long_prompt_does_not_keep_others_from_decoding():
    backend = HashBackend()
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, "hello", 6, slot=0, ignore_eos=True), submit(2, LONG, 1, slot=1))
        desk.until_ended(1, 2)
    steps = []
    while not backend.entered.empty():
        steps.append({run.sequence.id: len(run.tokens) for run in backend.entered.get()})
    shared = [step for step in steps if len(step) == 2]
    assert shared
    assert all(step == {1: 1, 2: step[2]} and step[2] <= 64 for step in shared if step[1] == 1)


# --- stopping and cancelling -----------------------------------------------------------------------------------------


def fence(desk: WorkerDesk, backend: HashBackend, *commands) -> None:
    """Get ``commands`` read before the next step: request 99's chunk is under way, and its cancel comes last."""
    desk.send(submit(99, b"#" * 60, 1, slot=3))
    assert desk.next() == Accept(99, 60, 0, "cold")
    desk.send(*commands, Cancel(99))


def test_a_stop_before_the_first_step_ends_an_answer_of_nothing():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        fence(desk, backend, submit(1, "hello"), Stop(1))
        frames = desk.until_ended(1, 99)
    assert kinds(frames[1]) == ["Accept", "Done"]
    assert (done_of(frames[1]).emitted, done_of(frames[1]).length_limited) == (0, False)
    assert done_of(frames[1]).computed_tokens == 0
    assert frames[99] == [Error(99, "CANCELLED")]


def decode_with(desk: WorkerDesk, backend: HashBackend, id: int) -> list:
    """Let one step after another be computed until the request has ended: a command is read between two of them."""
    frames = []
    while not frames or not isinstance(frames[-1], Done | Error):
        backend.permit()
        frames.append(desk.next())
    return [frame for frame in frames if frame.id == id]


def test_a_stop_while_decoding_keeps_what_was_generated():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, "hello", 400, ignore_eos=True))
        frames = [desk.next()]
        backend.permit(3)
        frames += [desk.next() for _ in range(3)]
        desk.send(Stop(1))
        frames += decode_with(desk, backend, 1)
    done = done_of(frames)
    assert 3 <= done.emitted < 400
    assert done.emitted == len(generated(frames))
    assert not done.length_limited


def test_a_request_that_waits_can_be_cancelled_and_was_never_accepted():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend, sequences=1) as desk:
        fence(desk, backend, submit(1, "hello"), Cancel(1))
        frames = desk.until_ended(1, 99)
        assert frames[1] == [Error(1, "CANCELLED")]
        backend.permit(100)
        assert generated(desk.ask(submit(2, "hello", 3))) == continuation(b"hello", 3)


def test_a_cancel_interrupts_a_chunk_and_leaves_the_chunks_before_it_for_others():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, LONG, 5))
        assert desk.next() == Accept(1, 200, 0, "cold")
        backend.permit()
        assert desk.next() == Progress(1, 64, 200)
        backend.entered.get()
        assert [run.start for run in backend.entered.get()] == [64]
        desk.send(Cancel(1))  # no permit: only an interrupt ends the chunk
        assert desk.until_ended(1)[1] == [Error(1, "CANCELLED")]
        backend.permit(100)
        frames = desk.ask(submit(2, LONG, 5))
    assert frames[0] == Accept(2, 200, 64, "diverged")
    assert generated(frames) == continuation(LONG, 5)
    assert done_of(frames).computed_tokens == 136


def test_an_interrupt_does_not_change_the_answers_of_the_others_in_the_step():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, "hello", 60, slot=0, ignore_eos=True))
        frames = [desk.next()]
        desk.send(submit(2, LONG, 5, slot=1))
        permits = 0
        while Progress(2, 64, 200) not in frames:
            if permits == len(generated(frames)):  # each step has one for the first request
                backend.permit()
                permits += 1
            frames.append(desk.next())
        for _ in range(permits + 1):
            backend.entered.get(timeout=20)  # the second chunk is under way, and only an interrupt ends it
        desk.send(Cancel(2))
        ended = desk.until_ended(2)
        backend.permit(100)
        frames += [*ended.get(1, []), *desk.until_ended(1)[1]]
    assert ended[2][-1] == Error(2, "CANCELLED")
    history = [*b"hello"]
    for _ in range(60):
        history.append(int(logits_after(history).argmax()))
    assert generated([frame for frame in frames if frame.id == 1]) == history[5:]


def test_a_decoding_request_can_be_cancelled_and_its_slot_is_free_again():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, "hello", 400, slot=2, ignore_eos=True))
        assert desk.next() == Accept(1, 5, 0, "cold")
        backend.permit(2)
        assert kinds([desk.next(), desk.next()]) == ["Data", "Data"]
        desk.send(Cancel(1))
        assert decode_with(desk, backend, 1)[-1] == Error(1, "CANCELLED")
        backend.permit(100)
        assert generated(desk.ask(submit(2, "hello", 3, slot=2))) == continuation(b"hello", 3)


def test_a_stop_or_cancel_of_a_request_that_is_gone_hurts_nobody():
    with WorkerDesk(HashBackend()) as desk:
        desk.ask(submit(1, "hello", 1))
        desk.send(Stop(1), Cancel(1), submit(2, "hello", 2))
        assert [desk.next(), desk.next()] == [Error(1, "NOT_FOUND"), Error(1, "NOT_FOUND")]
        assert generated(desk.until_ended(2)[2]) == continuation(b"hello", 2)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S133")
def test_a_busy_slot_and_one_that_does_not_exist_are_refused_by_name():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        fence(desk, backend, submit(1, "a", 1, slot=1), submit(2, "b", 1, slot=1), submit(3, "c", 1, slot=4))
        assert desk.until_ended(2, 3, 99)[2] == [Error(2, "SLOT_BUSY")]
        backend.permit(100)
        desk.until_ended(1)
        assert desk.ask(submit(4, "c", 1, slot=4)) == [Error(4, "BAD_REQUEST", "invalid cache slot")]


def test_an_id_that_is_live_is_refused_and_its_request_goes_on():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        fence(desk, backend, submit(1, "hello", 3), b"SUBMIT 1 1 1 1 0 1\nx\n")
        assert desk.next() == Error(1, "DUPLICATE_ID", "the id is live")
        assert desk.next() == Error(99, "CANCELLED")
        backend.permit(100)
        # A gateway takes the ERROR for the end of its request, and calls what still comes of it a fault.
        rest = [desk.next_or_fault() for _ in range(5)]
    assert [frame.detail.split()[0] for frame in rest] == ["ACCEPT", "DATA", "DATA", "DATA", "DONE"]


@pytest.mark.seeds("S109")
def test_a_command_that_can_not_be_obeyed_is_answered_and_the_session_goes_on():
    with WorkerDesk(HashBackend()) as desk:
        desk.send(b"SUBMIT 5 0 2 1 0 1 colour=red\nhi\n")
        refused = desk.next()
        desk.send(b"SUBMIT 6 0 2 1 9 1\nhi\nSUBMIT 7 0 2 1 0 1\n\xffi\n")
        hot, junk = desk.next(), desk.next()
        assert generated(desk.ask(submit(8, "hello", 2))) == continuation(b"hello", 2)
    assert (refused.id, refused.code, refused.detail) == (5, "BAD_REQUEST", "unknown option 'colour=red'")
    assert (hot.id, hot.code) == (6, "BAD_REQUEST")
    assert junk == Error(7, "BAD_REQUEST", "invalid text or plain span")


def test_a_bad_command_with_the_id_of_a_request_ends_that_request_alone():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, "hello", 400, slot=0, ignore_eos=True))
        assert desk.next() == Accept(1, 5, 0, "cold")
        desk.send(b"SUBMIT 1 1 1 1 9 1\nx\n")
        assert decode_with(desk, backend, 1)[-1].code == "BAD_REQUEST"
        backend.permit(100)
        assert generated(desk.ask(submit(2, "hello", 3, slot=0))) == continuation(b"hello", 3)


def test_a_picture_is_refused_with_its_prompt_by_an_engine_that_sees_none():
    with WorkerDesk(HashBackend()) as desk:
        desk.send(b"IMAGE 3 4 1 1\n....\nSUBMIT 3 0 2 1 0 1\nhi\n")
        assert desk.next() == Error(3, "NOT_SUPPORTED", "images")
        assert generated(desk.ask(submit(4, "hello", 2))) == continuation(b"hello", 2)


def test_text_is_tokenised_while_a_request_runs():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        tokenize = [
            TokenizeCommand(id=1, payload=b"a<end>"),
            TokenizeCommand(id=2, payload=b"a<e", options={"plain": [[1, 3]]}),
        ]
        fence(desk, backend, *tokenize, DetokenizeCommand(id=3, ids=(97, END)), DetokenizeCommand(id=4, ids=(300,)))
        frames = desk.until_ended(1, 2, 3, 4, 99)
    assert frames[1] == [Tokens(1, (97, END))]
    assert frames[2] == [Tokens(2, (97, 60, 101))]
    assert frames[3] == [Text(3, (b"a", b"<end>"))]
    assert frames[4] == [Error(4, "BAD_REQUEST", "invalid token id")]


# --- when cells run out ----------------------------------------------------------------------------------------------


@pytest.mark.seeds("S142")
def test_when_cells_run_out_the_youngest_makes_room_and_no_answer_changes():
    backend = HashBackend(context=35, cells=40)
    open_ended = {"ignore_eos": True, "logprobs": 0, "echo": 0}
    with WorkerDesk(backend, cells=40, prefill_chunk=8) as desk:
        desk.send(*(submit(number, b"%d" % number * 10, 100, slot=number, **open_ended) for number in (1, 2)))
        frames = desk.until_ended(1, 2)
    assert backend.full > 0
    for number in (1, 2):
        check_echo(frames[number], b"%d" % number * 10, 0)
        assert kinds(frames[number]).count("Accept") == 1
        history = [*(b"%d" % number * 10)]
        while len(history) < 35:
            history.append(int(logits_after(history).argmax()))
        assert generated(frames[number]) == history[10:]
    assert done_of(frames[2]).computed_tokens > 10  # its prompt was computed twice
    assert done_of(frames[1]).computed_tokens == 10


def test_a_request_that_does_not_fit_alone_fails_by_name_and_the_next_one_is_served():
    backend = HashBackend(cells=40)
    with WorkerDesk(backend, cells=40) as desk:
        frames = desk.ask(submit(1, b"1" * 60, 5))
        assert frames[-1] == Error(1, "NOMEM", "the cache is full")
        assert generated(desk.ask(submit(2, "hello", 3))) == continuation(b"hello", 3)


# --- the end ---------------------------------------------------------------------------------------------------------


def test_the_end_of_the_input_lets_running_requests_end_and_then_the_worker_returns():
    backend = HashBackend(paced=True)
    with WorkerDesk(backend) as desk:
        desk.send(submit(1, "hello", 6, slot=0, ignore_eos=True), submit(2, LONG, 2, slot=1))
        assert desk.next().id == 1
        desk.hang_up()
        backend.permit(100)
        frames = desk.until_ended(1, 2)
        desk.join()
    assert (done_of(frames[1]).emitted, done_of(frames[2]).emitted) == (6, 2)


@pytest.mark.seeds("S109")
def test_broken_framing_ends_the_worker():
    with WorkerDesk(HashBackend()) as desk:
        desk.send(b"SUBMIT 1 0 nobody-knows 1 0 1\n")
        desk._thread.join(20)
        assert isinstance(desk.failure, RemoteProtocolError)
        desk.failure = None


def test_an_image_alone_runs_nothing():
    backend = HashBackend()
    with WorkerDesk(backend) as desk:
        desk.send(b"IMAGE 3 4 1 1\n....\n")
        assert generated(desk.ask(submit(4, "hello", 1))) == continuation(b"hello", 1)
        assert backend.entered.qsize() == 1
