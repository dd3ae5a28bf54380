"""The framing: what can not be read as frames ends the session, whatever the cut, and memory is bounded."""

from __future__ import annotations

import pytest

from dragoman.protocol import GatewaySession, LocalProtocolError, RemoteProtocolError
from dragoman.protocol.frames import Accept, Data, Error, Telemetry
from support.chunking import check_chunking
from support.protocol import BROKEN, PLAIN_START, READY, engine, engine_feed, frames, gateway, gateway_feed, submit


@pytest.mark.seeds("S109")
@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b" \n",
        b"data 7 1\nx\n",
        b"Warning: low memory\n",
        b"\x00\n",
        b"\xff\xfe\n",
        b"\x01\x01END\x01\x01\n",
        b"\x02RESET\n",
        b"DATA\n",
        b"DATA 7\n",
        b"DATA 7 x\n",
        b"DATA 7 -1\n",
        b"DATA 7 +1\n",
        b"DATA 7 1_0\n",
        b"DATA 7 1\nxy\n",
        b"DATA 7 65537\n",
        b"DATA 7 99999999999999999999999999\n",
        b"DATA 0 1\nx\n",
        b"DATA -7 1\nx\n",
        b"DATA 18446744073709551616 1\nx\n",
        b"DATA %d 1\nx\n" % (10**70),
        b"DONE\n",
        b"DONE x STAT 1 2 3 4 5 0\n",
        b"ACCEPT seven 5\n",
        b"TOOL 7 65537\n",
        b"ECHO 7 65537 0 nan 0\n",
        b"TOKENS 7 33554433\n",
        b"TEXT 7 33554433\n",
    ],
)
def test_broken_framing_ends_the_session(data):
    check_chunking(gateway_feed(submit(7)), data, [BROKEN])


def test_the_legacy_dialect_is_refused_by_name():
    session = gateway()
    session.receive_data(b"\x01\x01END\x01\x01\n")
    with pytest.raises(RemoteProtocolError, match="legacy terminal dialect"):
        session.next_frame()


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536])
def test_a_payload_of_up_to_65536_bytes_is_whole(size):
    payload = bytes(range(256)) * 256
    session = gateway(submit(7))
    session.receive_data(b"ACCEPT 7 1\nDATA 7 %d\n%b\nDATA 7 1\nx\n" % (size, payload[:size]))
    assert frames(session) == [Accept(7, 1), Data(7, payload[:size]), Data(7, b"x")]


def test_an_oversize_payload_is_refused_before_any_of_it_is_awaited():
    session = gateway(submit(7))
    session.receive_data(b"DATA 7 65537\n")
    assert frames(session) == [BROKEN]


@pytest.mark.parametrize("start", [b"DATA 7 ", b"ACCEPT 7 ", b"ERROR 7 ", b"lower case ", b" ", b"CAPS "])
def test_a_header_line_above_4096_bytes_ends_the_session(start):
    session = gateway(submit(7))
    session.receive_data(start + b"1" * (4097 - len(start)))
    assert frames(session) == [BROKEN]


def test_a_header_line_of_4096_bytes_is_read():
    session = gateway(submit(7))
    session.receive_data(b"ACCEPT 7 5".ljust(4096) + b"\n")
    assert frames(session) == [Accept(7, 5)]


def test_a_long_line_of_telemetry_is_dropped_as_it_comes():
    """An expert map is longer than any header (seeds.md 2.5)."""
    line = b"EMAP " + b"7f" * 3000 + b"\n"
    check_chunking(gateway_feed(submit(7)), line + b"ACCEPT 7 5\n", [Telemetry("EMAP", True, ""), Accept(7, 5)])
    session = gateway()
    for _ in range(1000):
        session.receive_data(b"EMAP" + b" 7f" * 20_000)
        assert frames(session) in ([], [Telemetry("EMAP", True, "")])
        assert len(session._reader._buffer) < 65_536


def test_an_engine_that_ends_before_ready_says_so():
    session = GatewaySession()
    session.receive_data(b"HWINFO x\n")
    session.receive_eof()
    assert session.next_frame() == Telemetry("HWINFO", True, "x")
    with pytest.raises(RemoteProtocolError, match="before it was ready"):
        session.next_frame()


def test_an_engine_that_ends_after_ready_with_nothing_to_do_ends_cleanly():
    session = gateway()
    session.receive_eof()
    assert session.next_frame() is None
    assert session.next_frame() is None


def test_an_engine_that_could_not_load_ends_cleanly():
    session = GatewaySession()
    session.receive_data(b"LOAD_FAIL kind=io no such file\n")
    session.receive_eof()
    assert session.next_frame() is not None
    assert session.next_frame() is None


def test_an_engine_that_ends_with_requests_unanswered_says_how_many():
    session = gateway(submit(7), submit(8, slot=1))
    session.receive_eof()
    with pytest.raises(RemoteProtocolError, match="2 requests"):
        session.next_frame()


@pytest.mark.parametrize(
    "tail", [b"DATA 7 5\nhel", b"DATA 7 5\nhello", b"DATA 7 5\n", b"DATA 7 5", b"D", b"EMAP " + b"x" * 5000]
)
def test_an_engine_that_ends_inside_a_frame_says_so(tail):
    session = gateway(submit(7))
    session.receive_data(b"ACCEPT 7 1\nDATA 7 1\nx\n" + tail)
    session.receive_eof()
    seen = frames(session)
    assert seen[:2] == [Accept(7, 1), Data(7, b"x")]
    assert seen[-1] == BROKEN
    with pytest.raises(RemoteProtocolError, match="ended"):
        session.next_frame()


def test_a_broken_session_says_so_at_each_call():
    session = gateway(submit(7))
    session.receive_data(b"DATA 7 x\nDATA 7 1\nx\n")
    assert frames(session) == [BROKEN]
    for _ in range(2):
        with pytest.raises(RemoteProtocolError, match=r"the session is over: .*DATA"):
            session.next_frame()
        with pytest.raises(LocalProtocolError, match=r"the session is over: .*DATA"):
            session.send(submit(8))
        with pytest.raises(LocalProtocolError, match=r"the session is over: .*DATA"):
            session.receive_data(b"DATA 7 1\nx\n")


def test_data_after_the_end_is_our_mistake():
    session = gateway()
    session.receive_eof()
    with pytest.raises(LocalProtocolError):
        session.receive_data(b"x")


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"submit 1 0 0 1 0 1\n\n",
        b"HELLO 1\n",
        b"\x02PROMPT 5 16 0.7 0.9\nhello",
        b"SUBMIT\n",
        b"SUBMIT 1 0 x 16 0.7 0.9\nhello\n",
        b"SUBMIT 1 0 16777217 16 0.7 0.9\n",
        b"SUBMIT 1 0 5 16 0.7 0.9 1048577\nhello\n",
        b"SUBMIT 1 0 5 16 0.7 0.9 ext=x\nhello\n",
        b"SUBMIT 1 0 5 16 0.7 0.9 ext=1048577\nhello\n",
        b"SUBMIT 1 0 5 16 0.7 0.9 ext=2 ext=2\nhello{}{}\n",
        b"SUBMIT 1 0 4 16 0.7 0.9\nhello\n",
        b"SUBMIT 1 0 5 16 0.7 0.9 new=2\nhello{}\n",
        b"TOKENIZE 1 16777217\n",
        b"IMAGE 1 16777217 1 1\n",
        b"DECIDE 1 0 many\n",
        b"X" * 4097,
    ],
)
def test_a_command_whose_end_can_not_be_told_ends_the_session(data):
    """What follows may be a client's text, which must never be read as commands."""
    check_chunking(engine_feed, data, [BROKEN])


def test_a_broken_engine_session_says_so_at_each_call():
    session = engine()
    session.receive_data(b"HELLO\n")
    for _ in range(2):
        with pytest.raises(RemoteProtocolError, match="HELLO"):
            session.next_command()
        with pytest.raises(LocalProtocolError, match="HELLO"):
            session.receive_data(b"STOP 1\n")


def test_the_end_of_the_commands_is_clean_between_two_and_not_inside_one():
    session = engine()
    session.receive_data(b"STOP 1\n")
    session.receive_eof()
    assert session.next_command() is not None
    assert session.next_command() is None
    session = engine()
    session.receive_data(b"SUBMIT 1 0 5 16 0.7 0.9\nhel")
    session.receive_eof()
    with pytest.raises(RemoteProtocolError, match="3 of the 5 bytes"):
        session.next_command()


@pytest.mark.seeds("S109")
def test_two_requests_cut_at_each_byte():
    check_chunking(
        gateway_feed(submit(7), submit(8, slot=1), start=PLAIN_START),
        b"ACCEPT 7 1\nACCEPT 8 2\nDATA 8 4\nDATA\nDATA 7 2\n\n\n\nERROR 8 CANCELLED\nDATA 7 1\nx\n",
        [
            Accept(7, 1),
            Accept(8, 2),
            Data(8, b"DATA"),
            Data(7, b"\n\n"),
            Error(8, "CANCELLED"),
            Data(7, b"x"),
        ],
    )


def test_nothing_is_read_before_it_is_whole():
    session = GatewaySession()
    session.receive_data(READY[:-1])
    assert session.next_frame() is None
    assert not session.ready
    session.receive_data(b"\n")
    assert session.next_frame() is not None
    assert session.ready
