"""Pictures belong to the very next command of their id, and to no other (seeds.md 2.3 and 2.6; S107)."""

from __future__ import annotations

import pytest

from dragoman.protocol.frames import BadCommand, Cancel, Image, Stop, TokenizeCommand
from support.chunking import check_chunking
from support.protocol import commands, engine, engine_feed, submit

IMAGE = b"IMAGE 7 3 1 1 rgb=1\nRGB\n"
SUBMIT = b"SUBMIT 7 0 5 16 0.7 0.9\nhello\n"
PIXEL = Image(id=7, payload=b"RGB", grid_h=1, grid_w=1, rgb=True)


def read(data: bytes):
    session = engine()
    session.receive_data(data)
    return commands(session)


@pytest.mark.seeds("S107")
def test_a_command_comes_with_the_pictures_that_stood_before_it_however_the_bytes_are_cut():
    check_chunking(
        engine_feed,
        IMAGE + b"IMAGE 7 6 2 1 rgb=1\n\nRGB\n\n\n" + SUBMIT + b"IMAGE 8 3 1 1 rgb=1\nRGB\nTOKENIZE 8 1\nx\n",
        [
            submit(7, images=(PIXEL, Image(id=7, payload=b"\nRGB\n\n", grid_h=2, grid_w=1, rgb=True))),
            TokenizeCommand(id=8, payload=b"x", images=(Image(id=8, payload=b"RGB", grid_h=1, grid_w=1, rgb=True),)),
        ],
    )


@pytest.mark.parametrize(
    ("between", "command"),
    [(b"STOP 3\n", Stop(3)), (b"CANCEL 7\n", Cancel(7)), (b"SUBMIT 8 0 5 16 0.7 0.9\nhello\n", submit(8))],
)
def test_a_command_in_between_takes_the_pictures_from_the_one_that_comes_after_and_has_none_itself(between, command):
    assert read(IMAGE + between + SUBMIT) == [command, submit(7)]


def test_pictures_of_another_request_replace_those_that_nothing_followed():
    assert read(IMAGE + b"IMAGE 8 3 1 1 rgb=1\nRGB\n" + SUBMIT) == [submit(7)]


@pytest.mark.parametrize(
    ("image", "code"),
    [
        (b"IMAGE 7 3 1 2 rgb=1\nRGB\n", "BAD_FRAME"),
        (b"IMAGE 7 0 0 1 rgb=1\n\n", "BAD_FRAME"),
        (b"IMAGE 7 3 1 1 rgb=2\nRGB\n", "BAD_REQUEST"),
        (b"IMAGE 7 3 1 1 bgr=1\nRGB\n", "BAD_REQUEST"),
        (b"IMAGE 7 3 1\nRGB\n", "BAD_REQUEST"),
        (b"IMAGE 7 3 1 x\nRGB\n", "BAD_REQUEST"),
    ],
)
def test_a_picture_that_can_not_be_read_is_told_once_in_the_place_of_its_command(image, code):
    (refused, after) = read(IMAGE + image + SUBMIT + b"STOP 7\n")
    assert isinstance(refused, BadCommand)
    assert (refused.id, refused.code) == (7, code)
    assert after == Stop(7)


def test_more_pictures_than_any_request_may_have_are_refused_and_read_to_their_end():
    assert len(read(IMAGE * 16 + SUBMIT)[0].images) == 16
    (refused, after) = read(IMAGE * 17 + SUBMIT + b"STOP 1\n")
    assert (refused.id, refused.code) == (7, "BAD_REQUEST")
    assert after == Stop(1)


def test_a_picture_of_nobody_is_told_of_at_once():
    (refused,) = read(b"IMAGE 0 3 1 1 rgb=1\nRGB\n")
    assert (refused.id, refused.code) == (0, "BAD_REQUEST")
