"""Requests with pictures in the engine's loop: what is waited for, what is found again, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dragoman.protocol.frames import (
    Accept,
    Cancel,
    Data,
    Done,
    Error,
    Image,
    RequestFrame,
    Submit,
    Telemetry,
    TokenizeCommand,
    Tokens,
)
from support.hash_backend import SIZE, HashBackend, continuation
from support.hash_eyes import HashEyes
from support.worker_desk import WorkerDesk, submit


def frame(number: int, *pixels: int) -> Image:
    """A row of pixels, each of one grey."""
    rgb = b"".join(bytes([pixel] * 3) for pixel in pixels)
    return Image(id=number, payload=rgb, grid_h=1, grid_w=len(pixels), rgb=True)


def seeing(number: int, text: str, *pictures: tuple[int, ...], max_tokens: int = 3, **more: Any) -> Submit:
    """Each ``*`` of the text is the place of a picture."""
    parts = text.split("*")
    places = [len("".join(parts[: index + 1])) for index in range(len(parts) - 1)]
    slot = more.pop("slot", 0)
    command = submit(number, "".join(parts), max_tokens, slot=slot, images=places, **more)
    images = tuple(frame(number, *pixels) for pixels in pictures)
    return Submit(**{name: getattr(command, name) for name in Submit.__slots__} | {"images": images})


def accept_of(frames: list[RequestFrame]) -> Accept:
    return next(each for each in frames if isinstance(each, Accept))


def done_of(frames: list[RequestFrame]) -> Done:
    return next(each for each in frames if isinstance(each, Done))


def error_of(frames: list[RequestFrame]) -> tuple[str, str]:
    (error,) = (each for each in frames if isinstance(each, Error))
    return error.code, error.detail


def ids_of(frames: list[RequestFrame]) -> list[int | None]:
    return [each.token for each in frames if isinstance(each, Data)]


@pytest.fixture
def desk():
    with WorkerDesk(HashBackend(eyes=HashEyes()), sees=True) as desk:
        yield desk


@pytest.mark.seeds("S153")
def test_a_picture_is_counted_and_computed_with_what_stands_around_it(desk: WorkerDesk) -> None:
    frames = desk.ask(seeing(1, "ab*cd", (7, 8, 9)))
    assert accept_of(frames).prompt_tokens == 2 + 1 + 3 + 1 + 2
    assert done_of(frames).computed_tokens == 9
    assert len(ids_of(frames)) == 3


def test_counting_shows_each_position_as_the_number_after_the_last_token(desk: WorkerDesk) -> None:
    image = frame(1, 7, 8)
    desk.send(TokenizeCommand(id=1, payload="é!".encode(), options={"images": [2]}, images=(image,)))
    (tokens,) = desk.until_ended(1)[1]
    assert tokens == Tokens(1, (*"é".encode(), ord("["), SIZE, SIZE, ord("]"), ord("!")))


@pytest.mark.seeds("S134")
def test_an_equal_picture_is_found_again_and_another_is_not(desk: WorkerDesk) -> None:
    first, again, other = (
        desk.ask(seeing(number, "ab*cd", (7, 8, pixel))) for number, pixel in ((1, 9), (2, 9), (3, 10))
    )
    assert [accept_of(each).cached_tokens for each in (first, again, other)] == [0, 8, 3]
    assert ids_of(first) == ids_of(again) != ids_of(other)


def test_a_request_waits_for_its_pictures_and_others_go_on_meanwhile() -> None:
    eyes = HashEyes(held=True)
    with WorkerDesk(HashBackend(eyes=eyes), sees=True) as desk:
        desk.send(seeing(1, "*b", (7,)))
        eyes.asked.get(timeout=20)
        assert ids_of(desk.ask(submit(2, "hello", 4, slot=1))) == continuation(b"hello", 4)
        eyes.let_go()
        assert isinstance(desk.next(), Telemetry)  # so that nobody takes the silence for a hang
        assert done_of(desk.until_ended(1)[1]).emitted == 3


def test_a_request_that_is_cancelled_meanwhile_is_not_looked_at_any_more() -> None:
    eyes = HashEyes(held=True)
    with WorkerDesk(HashBackend(eyes=eyes), sees=True) as desk:
        desk.send(seeing(1, "*b", (7,)))
        eyes.asked.get(timeout=20)
        desk.send(Cancel(1))
        assert desk.until_ended(1)[1] == [Error(1, "CANCELLED")]
        assert [patch.positions for patch in eyes.forgotten] == [
            1
        ]  # its pixels need not wait for what is encoded before it
        eyes.let_go()
        assert ids_of(desk.ask(submit(2, "hello", 4))) == continuation(b"hello", 4)
        assert eyes.encoded == []


def test_an_engine_says_that_it_lives_for_as_long_as_one_picture_takes() -> None:
    """A gateway takes 120 s of silence for a hang, and a large picture takes longer on a slow machine."""
    eyes = HashEyes(held=True)
    with WorkerDesk(HashBackend(eyes=eyes), sees=True, sign_seconds=0.01) as desk:
        desk.send(seeing(1, "*b", (7,)))
        assert [type(desk.next()) for _ in range(3)] == [Telemetry] * 3
        eyes.let_go()
        assert done_of(desk.until_ended(1)[1]).emitted == 3


def test_an_engine_says_that_it_lives_while_it_computes_a_picture(desk: WorkerDesk) -> None:
    desk.send(seeing(1, "*b", (7,)))
    kinds = [type(desk.next()) for _ in range(4)]
    assert kinds.count(Telemetry) == 2  # it is encoded; then, between parts of it, before anything of the answer
    assert Data not in kinds
    assert done_of(desk.until_ended(1)[1]).emitted == 3


def test_several_pictures_are_all_waited_for() -> None:
    eyes = HashEyes()
    with WorkerDesk(HashBackend(eyes=eyes), sees=True) as desk:
        frames = desk.ask(seeing(1, "*a*b", (7,), (8, 9)))
        assert accept_of(frames).prompt_tokens == 3 + 1 + 4 + 1
        assert [patch.positions for patch in eyes.encoded] == [1, 2]


def test_penalties_look_at_words_and_not_at_pictures(desk: WorkerDesk) -> None:
    """A number of a picture is no row of the logits."""
    frames = desk.ask(seeing(1, "ab*cd", (7, 8), repetition_penalty=1.5, dry={"multiplier": 1.0}))
    assert done_of(frames).emitted == 3


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (seeing(1, "a*b", tuple(range(101))), "BAD_IMAGE", "it has 101 pixels"),
        (seeing(1, "a*b"), "BAD_REQUEST", "images "),
        (seeing(1, "ab", (7,)), "BAD_REQUEST", "images "),
        (seeing(1, "a*b", (7,), echo=0), "BAD_REQUEST", "echo "),
        (replace(seeing(1, "5* 6", (7,)), ids=True), "BAD_REQUEST", "images "),
    ],
    ids=["too large", "no picture", "no place", "echo", "ids"],
)
def test_what_can_not_be_done_with_a_picture_is_refused_by_name(desk: WorkerDesk, command, code, words) -> None:
    refused, detail = error_of(desk.ask(command))
    assert (refused, detail[: len(words)]) == (code, words)


def test_a_picture_that_fails_to_encode_ends_its_request_alone() -> None:
    with WorkerDesk(HashBackend(eyes=HashEyes(blind=True)), sees=True) as desk:
        assert error_of(desk.ask(seeing(1, "a*b", (7,)))) == ("BAD_IMAGE", "it is too dark")
        assert ids_of(desk.ask(submit(2, "hello", 4))) == continuation(b"hello", 4)


def test_an_engine_without_eyes_refuses_pictures_and_their_places() -> None:
    with WorkerDesk(HashBackend(), sees=True) as desk:
        assert error_of(desk.ask(seeing(1, "a*b", (7,)))) == ("NOT_SUPPORTED", "images")
        assert error_of(desk.ask(seeing(2, "ab", (7,)))) == ("NOT_SUPPORTED", "images")


def test_a_pinned_prompt_is_kept_while_the_clock_of_the_engine_says_so() -> None:
    now = [0.0]
    with WorkerDesk(HashBackend(), sequences=4, clock=lambda: now[0]) as desk:

        def cached(number: int, text: str, *, pin: bool = False) -> int:
            command = submit(number, text, 1)
            fields = {name: getattr(command, name) for name in Submit.__slots__}
            return accept_of(desk.ask(Submit(**fields | {"pin": pin}))).cached_tokens

        def crowd(first: int) -> None:
            for number in range(first, first + 6):
                cached(number, f"{number} is another")

        cached(1, "the same beginning", pin=True)
        crowd(10)
        assert cached(2, "the same beginning") == 17
        now[0] = 300.0
        crowd(20)
        assert cached(3, "the same beginning") == 0


def test_a_preempted_request_computes_its_picture_again_and_answers_the_same() -> None:
    def commands() -> list[Submit]:
        return [
            seeing(number, "ab*cd", (7, 8, number), max_tokens=20, slot=number, ignore_eos=True) for number in (1, 2)
        ]

    with WorkerDesk(HashBackend(eyes=HashEyes()), sees=True) as desk:
        alone = [ids_of(desk.ask(command)) for command in commands()]
    backend = HashBackend(eyes=HashEyes(), context=100, cells=40)
    with WorkerDesk(backend, sees=True) as desk:
        desk.send(*commands())
        frames = desk.until_ended(1, 2)
    assert backend.full
    assert [ids_of(frames[number]) for number in (1, 2)] == alone
