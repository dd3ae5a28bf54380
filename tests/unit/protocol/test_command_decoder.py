"""What an engine reads, as literals of seeds.md 2.3, however it is cut; and what it refuses without losing its place."""

from __future__ import annotations

import pytest

from dragoman.protocol.frames import BadCommand, Cancel, DetokenizeCommand, Image, Stop, Submit, TokenizeCommand
from support.chunking import check_chunking
from support.protocol import commands, engine, engine_feed, submit


def test_the_commands_of_the_older_form():
    check_chunking(
        engine_feed,
        b"SUBMIT 7 3 6 64 0.7 0.9\nWhat?\n\nIMAGE 8 4 1 2\n\0\n\x80?\nSUBMIT 8 0 4 16 0 1 logprobs=5 ids=1 pin=1\n1 22\n"
        b"STOP 7\nCANCEL 8\n",
        [
            Submit(id=7, slot=3, payload=b"What?\n", max_tokens=64, temperature=0.7, top_p=0.9),
            Submit(
                id=8,
                slot=0,
                payload=b"1 22",
                max_tokens=16,
                temperature=0.0,
                top_p=1.0,
                logprobs=5,
                ids=True,
                pin=True,
                images=(Image(id=8, payload=b"\0\n\x80?", grid_h=1, grid_w=2),),
            ),
            Stop(7),
            Cancel(8),
        ],
    )


def test_the_commands_of_the_extensions():
    check_chunking(
        engine_feed,
        b'SUBMIT 7 0 5 0 0.7 0.9 ext=10\nhello{"seed":3}\nTOKENIZE 8 3\na\nb\nTOKENIZE 9 1 ext=2\na{}\n'
        b'TOKENIZE 10 0 ext=7\n{"a":1}\nDETOKENIZE 11 4 special=0\n5 66\nDETOKENIZE 12 0\n\n',
        [
            submit(7, max_tokens=0, extension={"seed": 3}),
            TokenizeCommand(id=8, payload=b"a\nb"),
            TokenizeCommand(id=9, payload=b"a"),
            TokenizeCommand(id=10, payload=b"", options={"a": 1}),
            DetokenizeCommand(id=11, ids=(5, 66), special=False),
            DetokenizeCommand(id=12, ids=(), special=True),
        ],
    )


@pytest.mark.parametrize("header", [b"0", b"0 3", b"0 3 logprobs=0"])
def test_an_empty_grammar_and_the_hint_of_a_prefix_are_read_past(header):
    session = engine()
    session.receive_data(b"SUBMIT 7 0 5 16 0.7 0.9 %b\nhello\n" % header)
    (command,) = commands(session)
    assert command == submit(7, logprobs=0 if b"logprobs" in header else None)


@pytest.mark.parametrize(
    "line, code",
    [
        (b"SUBMIT x 0 5 16 0.7 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 0 0 5 16 0.7 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 18446744073709551616 0 5 16 0.7 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT " + b"0" * 63 + b"7 0 5 16 0.7 0.9\nhello\n", "BAD_REQUEST"),
        (b"STOP\n", "BAD_REQUEST"),
        (b"CANCEL x\n", "BAD_REQUEST"),
    ],
)
def test_a_command_of_nobody_is_read_to_its_end(line, code):
    check_chunking(engine_feed, line + b"STOP 1\n", [BadCommandLike(0, code), Stop(1)])


@pytest.mark.parametrize(
    "line, code",
    [
        (b"SUBMIT 7 0 5\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 -1 5 16 0.7 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 x 0.7 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 0 0.7 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 hot 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 nan 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 2.5 0.9\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 1.5\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 0 0 0\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 0 x\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 new=1\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 logprobs=1 logprobs=1\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 logprobs=33\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 ids=2\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 pin=\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 pin=1 0\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 logprobs=" + b"0" * 128 + b"1\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9pin=1\nhello\n", "BAD_REQUEST"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 4\nhelloroot\n", "NOT_SUPPORTED"),
        (b"SUBMIT 7 0 5 16 0.7 0.9\nhel\0o\n", "BAD_FRAME"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 ext=2\nhello[]\n", "BAD_FRAME"),
        (b"SUBMIT 7 0 5 16 0.7 0.9 ext=0\nhello\n", "BAD_FRAME"),
        (b'SUBMIT 7 0 5 16 0.7 0.9 ext=9\nhello{"a":NaN}\n', "BAD_FRAME"),
        (b"TOKENIZE 7 3\na\0b\n", "BAD_FRAME"),
        (b"TOKENIZE 7 1 new=1\na\n", "BAD_REQUEST"),
        (b"TOKENIZE 7 1 ext=2\na[]\n", "BAD_FRAME"),
        (b"DETOKENIZE 7 3\n1,2\n", "BAD_FRAME"),
        (b"DETOKENIZE 7 1 special=x\n1\n", "BAD_REQUEST"),
        (b"DECIDE 7 0 2\n{}\n", "NOT_SUPPORTED"),
    ],
)
def test_a_command_that_can_not_be_obeyed_is_read_to_its_end_and_named(line, code):
    check_chunking(engine_feed, line + b"STOP 1\n", [BadCommandLike(7, code), Stop(1)])


def test_a_refused_command_opens_nothing():
    session = engine()
    session.receive_data(b"SUBMIT 7 0 5 0 0.7 0.9\nhello\n")
    assert isinstance(session.next_command(), BadCommand)
    assert session.live == frozenset()


def test_commands_inside_a_prompt_are_text():
    payload = b"SUBMIT 9 0 1 1 0 1\nx\nCANCEL 7\n"
    check_chunking(
        engine_feed,
        b"SUBMIT 7 0 %d 16 0.7 0.9 bad=1\n%b\nSTOP 1\n" % (len(payload), payload),
        [BadCommandLike(7, "BAD_REQUEST"), Stop(1)],
    )


class BadCommandLike:
    """A ``BadCommand`` with any words for people."""

    def __init__(self, number, code):
        self._expected = (number, code)

    def __eq__(self, other):
        return isinstance(other, BadCommand) and (other.id, other.code) == self._expected and other.detail != ""

    def __hash__(self):
        return hash(self._expected)

    def __repr__(self):
        return f"BadCommandLike{self._expected}"
