"""Order, containment and the rules of sending: what a session makes of frames that are well-formed by themselves."""

from __future__ import annotations

import pytest

from dragoman.protocol import EngineSession, GatewaySession, LocalProtocolError, RemoteProtocolError
from dragoman.protocol.frames import (
    Accept,
    BadCommand,
    Cancel,
    Caps,
    Data,
    DetokenizeCommand,
    Done,
    Echo,
    Error,
    Fault,
    Image,
    LoadFail,
    LoadProgress,
    Model,
    Numeric,
    Progress,
    Ready,
    Stop,
    Telemetry,
    Text,
    TokenizeCommand,
    Tokens,
    Tool,
)
from support.chunking import check_chunking
from support.protocol import BROKEN, EXTENDED_START, PLAIN_START, READY, engine, frames, gateway, gateway_feed, submit

DONE = b"DONE %d STAT 1 1.000 0.0 0.00 2 0\n"


def done(number, *, computed=None):
    return Done(
        id=number,
        emitted=1,
        tokens_per_second=1.0,
        hit_percent=0.0,
        rss_gb=0.0,
        prompt_tokens=2,
        length_limited=False,
        computed_tokens=computed,
    )


def fault_of(data, *commands, start=EXTENDED_START):
    """The code of the one fault in ``data``, which is checked at each cut to leave a neighbour alone."""
    session = gateway(*commands, start=start)
    session.receive_data(data)
    seen = frames(session)
    faults = [frame for frame in seen if isinstance(frame, Fault)]
    assert len(faults) == 1, seen
    assert BROKEN not in seen
    check_chunking(gateway_feed(*commands, start=start), data, seen)
    return faults[0].code


# --- faults of one request -------------------------------------------------------------------------------------------


@pytest.mark.seeds("S84")
@pytest.mark.parametrize(
    "tail, code",
    [
        (b"x", "engine_logprob_tail_malformed"),
        (b"-0.5", "engine_logprob_tail_malformed"),
        (b"-0.5 x", "engine_logprob_tail_malformed"),
        (b"-0.5 -1", "engine_logprob_tail_malformed"),
        (b"-0.5 1", "engine_logprob_tail_malformed"),
        (b"-0.5 2 1 -0.5", "engine_logprob_tail_malformed"),
        (b"-0.5 2 1 -0.5 2", "engine_logprob_tail_malformed"),
        (b"-0.5 1 -1 -0.5", "engine_logprob_tail_malformed"),
        (b"-0.5 1 2147483648 -0.5", "engine_logprob_tail_malformed"),
        (b"-0.5 1 1 low", "engine_logprob_tail_malformed"),
        (b"1_0 0", "engine_logprob_tail_malformed"),
        (b"-0.5 33" + b"".join(b" %d -1.0" % token for token in range(33)), "engine_logprob_tail_malformed"),
        (b"-0.5 0 id=-1", "engine_logprob_tail_malformed"),
        (b"id=x", "engine_logprob_tail_malformed"),
        (b"-0.5 2 9 -0.5 9 -0.5", "engine_duplicate_logprob_candidate"),
    ],
)
def test_a_bad_numeric_tail_ends_its_request_and_no_other(tail, code):
    data = (
        b"ACCEPT 7 1\nACCEPT 8 1\nDATA 8 1\na\nDATA 7 1 %b\nx\nDATA 7 1 -0.5 0\ny\nDATA 8 1\nb\n" % tail
        + DONE % 7
        + DONE % 8
    )
    commands = (submit(7, logprobs=2), submit(8, slot=1))
    assert fault_of(data, *commands, start=PLAIN_START) == code
    session = gateway(*commands, start=PLAIN_START)
    session.receive_data(data)
    assert [frame for frame in frames(session) if frame.id == 8] == [
        Accept(8, 1),
        Data(8, b"a"),
        Data(8, b"b"),
        done(8),
    ]


@pytest.mark.seeds("S69")
def test_a_tail_of_32_pairs_is_read():
    session = gateway(submit(7, logprobs=32), start=PLAIN_START)
    pairs = b"".join(b" %d -1.250000" % token for token in range(32))
    session.receive_data(b"ACCEPT 7 1\nDATA 7 1 -1.250000 32%b\nx\n" % pairs)
    expected = Data(7, b"x", Numeric(-1.25, tuple((token, -1.25) for token in range(32))))
    assert frames(session) == [Accept(7, 1), expected]


@pytest.mark.seeds("S78", "S84")
@pytest.mark.parametrize("position", [b"-1", b"2", b"1.0", b"x", b"99999999999999999999"])
def test_an_echo_outside_the_prompt_is_a_fault(position):
    data = b"ACCEPT 7 2\nECHO 7 1 %b -0.5 0\nx\n" % position + DONE % 7
    assert fault_of(data, submit(7, logprobs=1)) == "engine_echo_position_malformed"


@pytest.mark.seeds("S78", "S84")
def test_an_echo_of_one_position_twice_is_a_fault():
    data = b"ACCEPT 7 2\nECHO 7 1 1 -0.5 0\nb\nECHO 7 1 1 -0.5 0\nb\n" + DONE % 7
    assert fault_of(data, submit(7, logprobs=1)) == "engine_echo_position_malformed"


def test_an_echo_without_its_fields_is_a_fault():
    assert fault_of(b"ACCEPT 7 2\nECHO 7 1\nx\n", submit(7, logprobs=1)) == "engine_echo_position_malformed"
    assert fault_of(b"ACCEPT 7 2\nECHO 7 1 0\nx\n", submit(7, logprobs=1)) == "engine_logprob_tail_malformed"


@pytest.mark.seeds("S78")
def test_echoes_may_come_in_any_order():
    session = gateway(submit(7, extension={"echo": 1}))
    session.receive_data(b"ACCEPT 7 2\nECHO 7 1 1 -0.5 0\nb\nECHO 7 1 0 -0.25 0\na\n" + DONE % 7)
    assert frames(session) == [Accept(7, 2), Echo(7, 1, b"b", Numeric(-0.5)), Echo(7, 0, b"a", Numeric(-0.25)), done(7)]


@pytest.mark.seeds("S84")
def test_a_prompt_that_is_echoed_in_part_is_a_fault():
    data = b"ACCEPT 7 2\nECHO 7 1 1 -0.5 0\nb\n" + DONE % 7
    assert fault_of(data, submit(7, extension={"echo": 1})) == "engine_logprob_records_incomplete"


def test_a_prompt_whose_reading_was_stopped_may_be_echoed_in_part():
    session = gateway(submit(7, extension={"echo": 1}), Stop(7))
    session.receive_data(b"ACCEPT 7 2\nECHO 7 1 1 -0.5 0\nb\n" + DONE % 7)
    assert frames(session)[-1] == done(7)


@pytest.mark.seeds("S84")
@pytest.mark.parametrize("wish", [{"logprobs": 1}, {"extension": {"logprobs": 0}}])
def test_text_without_the_logprob_that_was_asked_for_is_a_fault(wish):
    data = b"ACCEPT 7 2\nDATA 7 0\n\nDATA 7 1\nx\n" + DONE % 7
    assert fault_of(data, submit(7, **wish)) == "engine_logprob_records_incomplete"


@pytest.mark.parametrize(
    "line",
    [
        b"ACCEPT 7",
        b"ACCEPT 7 -5",
        b"ACCEPT 7 5 cached=6",
        b"ACCEPT 7 5 cached=x",
        b"DONE 7",
        b"DONE 7 STAT 1 1.0 0.0 0.00 2",
        b"DONE 7 STATS 1 1.0 0.0 0.00 2 0",
        b"DONE 7 STAT one 1.0 0.0 0.00 2 0",
        b"DONE 7 STAT 1 fast 0.0 0.00 2 0",
        b"DONE 7 STAT 1 1.0 0.0 0.00 2 2",
        b"DONE 7 STAT 1 1.0 0.0 0.00 2 0 computed=x",
        b"PROGRESS 7 1",
        b"PROGRESS 7 1 x",
    ],
)
def test_a_line_with_bad_fields_is_a_fault_of_the_request_that_it_names(line):
    accepted = b"" if line.startswith(b"ACCEPT") else b"ACCEPT 7 2\n"
    assert fault_of(accepted + line + b"\n", submit(7, extension={})) == "engine_frame_malformed"


@pytest.mark.parametrize(
    "answer", [b"TOKENS 1 1\nx\n", b"TOKENS 1 3\n1,2\n", b"TOKENS 1 10\n2147483648\n", b"TOKENS 1 11\n00000000001\n"]
)
def test_tokens_that_are_no_ids_are_a_fault(answer):
    assert fault_of(answer, TokenizeCommand(id=1, payload=b"x")) == "engine_frame_malformed"


@pytest.mark.parametrize("payload", [b"", b"1", b"1\n", b"1\nab", b"2 1\nab", b"x\na", b"-1 2\na"])
def test_pieces_that_do_not_add_up_are_a_fault(payload):
    data = b"TEXT 1 %d\n%b\n" % (len(payload), payload)
    assert fault_of(data, DetokenizeCommand(id=1, ids=(1,))) == "engine_frame_malformed"


@pytest.mark.seeds("S109")
@pytest.mark.parametrize(
    "data",
    [
        b"ACCEPT 7 2\nACCEPT 7 2\n",
        b"DATA 7 1\nx\n",
        b"TOOL 7 0\n\n",
        b"ECHO 7 1 0 nan 0\nx\n",
        b"PROGRESS 7 1 2\n",
        DONE % 7,
        b"ACCEPT 7 2\nDATA 7 1\nx\nECHO 7 1 0 nan 0\nx\n",
        b"ACCEPT 7 2\nTOKENS 7 1\n1\n",
        b"ACCEPT 7 2\nTEXT 7 3\n1\na\n",
    ],
)
def test_a_frame_out_of_order_is_a_fault(data):
    assert fault_of(data, submit(7, extension={})) == "engine_order_violation"


@pytest.mark.parametrize("data", [b"ACCEPT 1 2\n", DONE % 1, b"TEXT 1 3\n1\na\n", b"DATA 1 1\nx\n"])
def test_a_question_has_its_own_answer_only(data):
    assert fault_of(data, TokenizeCommand(id=1, payload=b"x")) == "engine_order_violation"


@pytest.mark.seeds("S109")
@pytest.mark.parametrize("line", [b"DATA 7 1\nx\n", DONE % 7, b"ACCEPT 7 2\n", b"TOKENS 7 1\n1\n"])
def test_a_frame_after_the_end_is_a_fault_of_nobody_alive(line):
    session = gateway(submit(7, extension={}), submit(8, slot=1))
    session.receive_data(b"ACCEPT 7 2\n" + DONE % 7 + line + b"ACCEPT 8 2\n")
    seen = frames(session)
    assert seen[:2] == [Accept(7, 2), done(7)]
    assert isinstance(seen[2], Fault)
    assert (seen[2].id, seen[2].code) == (7, "engine_order_violation")
    assert seen[3:] == [Accept(8, 2)]
    assert session.live == {8}


def test_done_for_an_id_that_never_was_touches_nobody():
    session = gateway(submit(8))
    session.receive_data(DONE % 9 + b"ACCEPT 8 2\n")
    fault, accept = frames(session)
    assert (fault.id, fault.code) == (9, "engine_order_violation")
    assert accept == Accept(8, 2)


@pytest.mark.parametrize("end", [DONE % 7, b"ERROR 7 CANCELLED\n", b"DONE 7 nonsense\n"])
def test_after_a_fault_nothing_more_is_heard_and_the_id_is_free_at_the_terminal_frame(end):
    session = gateway(submit(7, extension={}))
    session.receive_data(
        b"ACCEPT 7 2\nACCEPT 7 2\nDATA 7 1\nx\nDATA 7 1 nonsense\nx\nPROGRESS 7\nTOKENS 7 1\n?\nECHO 7 0\n\n"
    )
    assert [type(frame) for frame in frames(session)] == [Accept, Fault]
    assert session.live == {7}
    with pytest.raises(LocalProtocolError, match="live"):
        session.send(submit(7))
    assert session.send(Cancel(7)) == b"CANCEL 7\n"
    session.receive_data(end)
    assert frames(session) == []
    assert session.live == frozenset()
    assert session.send(submit(7))


def test_a_fault_in_the_terminal_frame_frees_the_id_at_once():
    session = gateway(submit(7, extension={}), TokenizeCommand(id=8, payload=b"x"))
    session.receive_data(b"ACCEPT 7 2\nDONE 7\nTOKENS 8 1\nx\n")
    assert [type(frame) for frame in frames(session)] == [Accept, Fault, Fault]
    assert session.live == frozenset()


def test_a_stop_that_came_too_late_is_answered_and_hurts_nobody():
    session = gateway(submit(7, extension={}), submit(8, slot=1))
    session.receive_data(b"ACCEPT 7 2\n" + DONE % 7)
    frames(session)
    session.send(Stop(7))
    session.receive_data(b"ERROR 7 NOT_FOUND\n")
    assert frames(session) == [Error(7, "NOT_FOUND")]
    assert session.live == {8}


@pytest.mark.seeds("S113")
@pytest.mark.parametrize(
    "line, frame", [(b"DATA 7 1\nx\n", Data(7, b"x")), (b"TOOL 7 0\n\n", Tool(7, b"")), (DONE % 7, done(7))]
)
def test_the_first_frame_of_an_engine_without_accept_stands_for_it(line, frame):
    check_chunking(gateway_feed(submit(7), start=PLAIN_START), line, [Accept(7, 0), frame])


def test_an_accept_that_was_implied_can_not_come_again():
    assert fault_of(b"DATA 7 1\nx\nACCEPT 7 2\n", submit(7), start=PLAIN_START) == "engine_order_violation"


# --- start-up --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        READY + READY,
        b"CAPS vision=0\n",
        b"MODEL 2\n{}\n",
        b"STAT 0 0 0 0\n",
        READY + b"MODEL 2\n{}\n",
        READY + b"CAPS vision=0\nMODEL 2\n{}\n",
        READY + b"CAPS ext=1\nSTAT 0 0 0 0\n",
        READY + b"CAPS ext=1\nCAPS ext=1\n",
        READY + b"STAT 0 0 0 0\nCAPS ext=1\n",
        READY + b"LOADING 0.5 late\n",
        READY + b"LOAD_FAIL kind=io late\n",
        EXTENDED_START + b"MODEL 2\n{}\n",
        b"LOAD_FAIL kind=io gone\n" + READY,
    ],
)
def test_a_start_out_of_order_ends_the_session(data):
    session = GatewaySession()
    session.receive_data(data)
    assert frames(session)[-1] == BROKEN


def test_caps_are_kept_with_their_unknown_words():
    session = gateway(start=READY + b"CAPS vision=1 decide=0 flag new=a=b\n")
    assert session.ready
    assert session.caps == {"vision": "1", "decide": "0", "flag": "", "new": "a=b"}


# --- sending ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [submit(1), Stop(1), Cancel(1), TokenizeCommand(id=1, payload=b"x")])
def test_nothing_is_sent_before_ready(command):
    session = GatewaySession()
    with pytest.raises(LocalProtocolError, match="READY"):
        session.send(command)
    assert session.live == frozenset()


@pytest.mark.parametrize(
    "command", [submit(1, extension={}), TokenizeCommand(id=1, payload=b"x"), DetokenizeCommand(id=1, ids=(1,))]
)
def test_extensions_are_sent_only_to_an_engine_that_announced_them(command):
    session = gateway(start=PLAIN_START)
    with pytest.raises(LocalProtocolError, match="ext=1"):
        session.send(command)
    assert gateway().send(command)


def test_an_image_goes_only_to_an_engine_that_sees():
    seen = submit(1, images=(Image(id=1, payload=b"\0\0\0\0", grid_h=1, grid_w=1),))
    with pytest.raises(LocalProtocolError, match="vision=1"):
        gateway().send(seen)
    assert gateway(start=READY + b"CAPS vision=1\nSTAT 0 0 0 0\n").send(seen)


def test_pixels_go_only_to_an_engine_with_extensions():
    seen = submit(1, images=(Image(id=1, payload=b"RGB", grid_h=1, grid_w=1, rgb=True),))
    with pytest.raises(LocalProtocolError, match="ext=1"):
        gateway(start=READY + b"CAPS vision=1\nSTAT 0 0 0 0\n").send(seen)
    assert gateway(start=READY + b"CAPS vision=1 ext=1\nMODEL 2\n{}\nSTAT 0 0 0 0\n").send(seen)


def test_a_command_that_can_not_be_sent_changes_nothing():
    session = gateway()
    for bad in (
        submit(1, payload=b"a\0b"),
        submit(1, temperature=float("nan")),
        submit(1, extension={"a": float("nan")}),
    ):
        with pytest.raises(LocalProtocolError):
            session.send(bad)
    assert session.live == frozenset()
    assert session.send(submit(1))
    assert session.live == {1}


def test_stop_and_cancel_may_name_an_id_that_is_gone():
    session = gateway()
    assert session.send(Stop(9)) == b"STOP 9\n"
    assert session.send(Cancel(18446744073709551615)) == b"CANCEL 18446744073709551615\n"
    assert session.live == frozenset()


# --- the engine's end ------------------------------------------------------------------------------------------------


def served(*commands, start=EXTENDED_START):
    """An engine's session that has read ``commands``."""
    session, other = engine(), gateway(start=start)
    for command in commands:
        session.receive_data(other.send(command))
        assert session.next_command() == command
    return session


@pytest.mark.parametrize(
    "before, frame",
    [
        ((), Data(7, b"x")),
        ((), done(7)),
        ((Accept(7, 2),), Accept(7, 2)),
        ((Accept(7, 2), Data(7, b"x")), Echo(7, 0, b"x", Numeric(0.0))),
        ((Accept(7, 2), Echo(7, 0, b"x", Numeric(0.0))), Echo(7, 0, b"x", Numeric(0.0))),
        ((Accept(7, 2),), Echo(7, 2, b"x", Numeric(0.0))),
        ((Accept(7, 2), done(7)), Data(7, b"x")),
        ((Accept(7, 2), done(7)), done(7)),
        ((Accept(7, 2), done(7)), Error(7, "CANCELLED")),
        ((Accept(7, 2),), Tokens(7, ())),
        ((), Accept(8, 2)),
        ((), Accept(7, -1)),
        ((), Accept(7, 2, 3)),
        ((), Accept(7, 2, 0, "two words")),
        ((), Accept(7, 2, 0, "Cold")),
        ((Accept(7, 2),), Data(7, b"x" * 65_537)),
        ((Accept(7, 2),), Data(7, b"x", None, -1)),
        ((Accept(7, 2),), Data(7, b"x", Numeric(0.0, ((1, 0.0), (1, 0.0))))),
        ((Accept(7, 2),), Data(7, b"x", Numeric(0.0, ((-1, 0.0),)))),
        ((Accept(7, 2),), Data(7, b"x", Numeric(0.0, tuple((token, 0.0) for token in range(33))))),
        ((Accept(7, 2),), Error(7, "no code")),
        ((), Fault(7, "engine_order_violation")),
    ],
)
def test_an_engine_can_not_write_what_a_gateway_would_call_a_fault(before, frame):
    session = served(submit(7, extension={}))
    for earlier in before:
        session.encode(earlier)
    live = session.live
    with pytest.raises(LocalProtocolError):
        session.encode(frame)
    assert session.live == live


def test_an_engine_can_not_leave_out_what_was_asked_for():
    session = served(submit(7, extension={"logprobs": 0, "echo": 1}))
    session.encode(Accept(7, 2))
    with pytest.raises(LocalProtocolError, match="log-probability"):
        session.encode(Data(7, b"x"))
    session.encode(Data(7, b"x", Numeric(-0.5)))
    with pytest.raises(LocalProtocolError, match="0 of 2"):
        session.encode(done(7))


@pytest.mark.parametrize(
    "frame",
    [
        Model({}),
        Telemetry("STAT", True),
        Caps({"vision": "0"}),
        Caps({"ext": "1", "a b": "c"}),
        Ready(),
        LoadProgress(1.5, ""),
        Telemetry("DATA", True),
        Telemetry("lower", True),
    ],
)
def test_an_engine_can_not_start_out_of_order(frame):
    session = engine(Ready(), Caps({"ext": "1"})) if isinstance(frame, Telemetry) else EngineSession()
    if isinstance(frame, Ready):
        session.encode(Ready())
    with pytest.raises(LocalProtocolError):
        session.encode(frame)


def test_an_engine_that_can_not_load_says_nothing_after_that():
    session = EngineSession()
    assert session.encode(LoadProgress(0.5, "reading")) == b"LOADING 0.500 reading\n"
    assert session.encode(LoadFail("format", "not a\nGGUF")) == b"LOAD_FAIL kind=format not a GGUF\n"
    with pytest.raises(LocalProtocolError):
        session.encode(Ready())


@pytest.mark.seeds("S106")
def test_a_request_without_an_extension_is_answered_in_the_older_form():
    session = served(submit(7), start=PLAIN_START)
    assert session.encode(Accept(7, 5, 3, "diverged")) == b"ACCEPT 7 5\n"
    assert session.encode(Progress(7, 1, 5)) == b""
    assert session.encode(Data(7, b"hi", None, 42)) == b"DATA 7 2\nhi\n"
    assert session.encode(done(7, computed=2)) == DONE % 7


def test_an_extended_request_is_told_more():
    session = served(submit(7, extension={}))
    assert session.encode(Accept(7, 5, 3, "diverged")) == b"ACCEPT 7 5 cached=3 miss=diverged\n"
    assert session.encode(Progress(7, 1, 5)) == b"PROGRESS 7 1 5\n"
    assert session.encode(Data(7, b"hi", None, 42)) == b"DATA 7 2 id=42\nhi\n"
    assert session.encode(done(7, computed=2)) == b"DONE 7 STAT 1 1.000 0.0 0.00 2 0 computed=2\n"
    assert session.live == frozenset()


def test_a_second_submit_of_a_live_id_is_refused_and_the_first_goes_on():
    session = served(submit(7, extension={}))
    session.encode(Accept(7, 2))
    session.receive_data(b"SUBMIT 7 1 5 16 0.7 0.9\nhello\n")
    assert session.next_command() == BadCommand(7, "DUPLICATE_ID", "the id is live")
    assert session.encode(Error(7, "DUPLICATE_ID")) == b"ERROR 7 DUPLICATE_ID\n"
    assert session.live == {7}
    assert session.encode(Data(7, b"x"))


@pytest.mark.parametrize("code", ["BAD_REQUEST", "BAD_FRAME", "NOT_FOUND", "NOT_SUPPORTED", "DUPLICATE_ID"])
def test_an_engine_may_refuse_what_it_never_opened(code):
    assert engine().encode(Error(9, code, "why")) == b"ERROR 9 %b why\n" % code.encode()
    assert engine().encode(Error(0, code)) == b"ERROR 0 %b\n" % code.encode()
    with pytest.raises(LocalProtocolError):
        engine().encode(Error(-1, code))


def test_the_answers_of_a_tokenizer():
    session = served(TokenizeCommand(id=1, payload=b"x"), DetokenizeCommand(id=2, ids=(1, 2)))
    assert session.encode(Text(2, (b"a", b"\nb"))) == b"TEXT 2 7\n1 2\na\nb\n"
    assert session.encode(Tokens(1, (5, 6))) == b"TOKENS 1 3\n5 6\n"
    assert session.live == frozenset()


def test_both_ends_agree_on_a_whole_conversation():
    """Two sessions back to back, as in h11's own tests: neither finds a fault in the other."""
    there, here = EngineSession(), GatewaySession()

    def say(*said):
        here.receive_data(b"".join(there.encode(frame) for frame in said))
        assert frames(here) == list(said)

    def ask(*asked):
        there.receive_data(b"".join(here.send(command) for command in asked))
        assert [there.next_command() for _ in asked] == list(asked)
        assert there.next_command() is None

    say(LoadProgress(0.5, "reading weights"), Ready(), Caps({"ext": "1"}), Model({"name": "m"}))
    say(Telemetry("STAT", True, "0 0.00 0.0 0.00"))
    ask(submit(1, extension={"echo": 1, "logprobs": 1}), submit(2, slot=1), TokenizeCommand(id=3, payload=b"x"))
    say(Accept(2, 9), Tokens(3, (1,)), Accept(1, 1, 0), Echo(1, 0, b"a", Numeric(-0.5), 4), Data(2, b"x"))
    ask(Stop(1), Cancel(2))
    say(Data(1, b"b", Numeric(-0.25, ((5, -0.25),)), 5), Error(2, "CANCELLED"), done(1, computed=1))
    assert there.live == here.live == frozenset()
    here.receive_eof()
    assert here.next_frame() is None


def test_next_frame_raises_nothing_of_its_own_after_a_clean_end():
    session = gateway()
    session.receive_data(b"DATA")
    session.receive_eof()
    with pytest.raises(RemoteProtocolError, match="inside a line"):
        session.next_frame()
