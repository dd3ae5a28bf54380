"""The bytes that go to an engine, as literals: an older engine must find nothing in them that is new to it (S106)."""

from __future__ import annotations

import pytest

from dragoman.protocol import LocalProtocolError
from dragoman.protocol.frames import Cancel, DetokenizeCommand, Image, Stop, TokenizeCommand
from support.protocol import READY, gateway, submit

SEES = READY + b"CAPS vision=1 ext=1\nMODEL 2\n{}\nSTAT 0 0 0 0\n"


@pytest.mark.seeds("S30", "S106", "S107")
def test_a_whole_transcript_of_the_older_form():
    session = gateway(start=READY + b"CAPS vision=1\nSTAT 0 0 0 0\n")
    transcript = [
        session.send(submit(7, slot=3, payload=b"What?\n", max_tokens=64, temperature=0.7, top_p=0.9)),
        session.send(submit(8, payload=b"See:", images=(Image(id=8, payload=b"\0\0\x80?", grid_h=1, grid_w=2),))),
        session.send(Stop(7)),
        session.send(Cancel(8)),
    ]
    assert transcript == [
        b"SUBMIT 7 3 6 64 0.7 0.9\nWhat?\n\n",
        b"IMAGE 8 4 1 2\n\0\0\x80?\nSUBMIT 8 0 4 16 0.7 0.9\nSee:\n",
        b"STOP 7\n",
        b"CANCEL 8\n",
    ]


@pytest.mark.seeds("S106")
@pytest.mark.parametrize(
    "temperature, top_p, words",
    [
        (0.0, 1.0, b"0 1"),
        (1, 1, b"1 1"),
        (0.1 + 0.2, 0.95, b"0.3 0.95"),
        (2.0, 1e-05, b"2 1e-05"),
        (1 / 3, 2 / 3, b"0.33333333 0.66666667"),
        (1e-10, 0.123456789, b"1e-10 0.12345679"),
    ],
)
def test_temperature_and_top_p_are_printed_as_c_prints_eight_digits(temperature, top_p, words):
    sent = gateway().send(submit(1, temperature=temperature, top_p=top_p))
    assert sent == b"SUBMIT 1 0 5 16 %b\nhello\n" % words


def test_options_follow_in_one_order_and_the_extension_follows_the_payload():
    full = submit(
        1, payload=b"1 2", max_tokens=0, logprobs=5, ids=True, pin=True, extension={"seed": 3, "t": "\u20ac\0"}
    )
    assert gateway().send(full) == (
        b'SUBMIT 1 0 3 0 0.7 0.9 logprobs=5 ids=1 pin=1 ext=29\n1 2{"seed":3,"t":"\\u20ac\\u0000"}\n'
    )
    assert gateway().send(submit(1, extension={})) == b"SUBMIT 1 0 5 16 0.7 0.9 ext=2\nhello{}\n"
    assert gateway().send(submit(1, logprobs=0)) == b"SUBMIT 1 0 5 16 0.7 0.9 logprobs=0\nhello\n"


def test_questions_for_the_tokenizer():
    session = gateway()
    assert session.send(TokenizeCommand(id=1, payload=b"a\nb")) == b"TOKENIZE 1 3\na\nb\n"
    plain = TokenizeCommand(id=2, payload=b"a", options={"plain": [[0, 1]]})
    assert session.send(plain) == b'TOKENIZE 2 1 ext=17\na{"plain":[[0,1]]}\n'
    assert session.send(DetokenizeCommand(id=3, ids=(5, 66))) == b"DETOKENIZE 3 4 special=1\n5 66\n"
    assert session.send(DetokenizeCommand(id=4, ids=(), special=False)) == b"DETOKENIZE 4 0 special=0\n\n"


@pytest.mark.parametrize(
    "changes",
    [
        {"payload": b"a\0b"},
        {"payload": b"a" * (16 * 1024 * 1024 + 1)},
        {"slot": -1},
        {"max_tokens": -1},
        {"max_tokens": 0},
        {"max_tokens": 0, "logprobs": 0},
        {"max_tokens": 2**63},
        {"temperature": -0.1},
        {"temperature": 2.1},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_p": float("nan")},
        {"logprobs": 33},
        {"logprobs": -1},
        {"extension": {"seed": float("inf")}},
        {"extension": {"text": "x" * 1024 * 1024}},
        {"extension": {"set": {1, 2}}},
    ],
)
def test_a_request_that_an_engine_would_refuse_is_not_sent(changes):
    with pytest.raises(LocalProtocolError):
        gateway().send(submit(1, **changes))


@pytest.mark.parametrize(
    "command",
    [
        submit(0),
        submit(-1),
        Stop(0),
        Cancel(2**64),
        TokenizeCommand(id=1, payload=b"\0"),
        TokenizeCommand(id=1, payload=b"", options={"x": float("nan")}),
        DetokenizeCommand(id=1, ids=(-1,)),
        DetokenizeCommand(id=1, ids=(2**31,)),
        submit(1, images=(Image(id=1, payload=b"", grid_h=-1, grid_w=1),)),
        submit(1, images=(Image(id=2, payload=b"", grid_h=1, grid_w=1),)),
        submit(1, images=(Image(id=1, payload=b"RGB", grid_h=1, grid_w=2, rgb=True),)),
        submit(1, images=(Image(id=1, payload=b"", grid_h=0, grid_w=2, rgb=True),)),
        submit(1, images=(Image(id=1, payload=b"RGB", grid_h=1, grid_w=1, rgb=True),) * 17),
    ],
)
def test_a_command_that_the_grammar_can_not_say_is_not_sent(command):
    with pytest.raises(LocalProtocolError):
        gateway(start=SEES).send(command)


def test_a_payload_of_16_mib_is_sent():
    payload = b"a" * (16 * 1024 * 1024)
    assert gateway().send(submit(1, payload=payload)) == b"SUBMIT 1 0 16777216 16 0.7 0.9\n%b\n" % payload


@pytest.mark.seeds("S107")
def test_pictures_of_pixels_stand_before_their_command_in_one_piece():
    pixel = Image(id=5, payload=b"RGB", grid_h=1, grid_w=1, rgb=True)
    row = Image(id=5, payload=b"RGBRGB", grid_h=1, grid_w=2, rgb=True)
    session = gateway(start=SEES)
    places = {"images": [0, 1]}
    assert session.send(submit(5, payload=b"ab", extension=places, images=(pixel, row))) == (
        b'IMAGE 5 3 1 1 rgb=1\nRGB\nIMAGE 5 6 1 2 rgb=1\nRGBRGB\nSUBMIT 5 0 2 16 0.7 0.9 ext=16\nab{"images":[0,1]}\n'
    )
    six = Image(id=6, payload=b"RGB", grid_h=1, grid_w=1, rgb=True)
    assert session.send(TokenizeCommand(id=6, payload=b"a", options={"images": [1]}, images=(six,))) == (
        b'IMAGE 6 3 1 1 rgb=1\nRGB\nTOKENIZE 6 1 ext=14\na{"images":[1]}\n'
    )
