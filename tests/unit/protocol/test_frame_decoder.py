"""Lines that an engine can write, as literals of seeds.md 2.2 and 2.4, and what each must mean, however it is cut."""

from __future__ import annotations

import math

import pytest

from dragoman.protocol import GatewaySession
from dragoman.protocol.frames import (
    Accept,
    Caps,
    Data,
    DetokenizeCommand,
    Done,
    Echo,
    Error,
    LoadFail,
    LoadProgress,
    Model,
    Numeric,
    Progress,
    Ready,
    Telemetry,
    Text,
    TokenizeCommand,
    Tokens,
    Tool,
)
from support.chunking import check_chunking
from support.protocol import BROKEN, PLAIN_START, READY, frames, gateway, gateway_feed, submit

EXTENDED = {"logprobs": 2, "echo": 2}


def fresh():
    """The feed of a session whose engine has not said anything yet."""
    session = GatewaySession()

    def feed(data):
        session.receive_data(data)
        return frames(session)

    return feed


def test_the_start_of_an_engine_with_extensions():
    data = (
        b"HWINFO 2 cores\nLOADING 0.250 reading weights\nLOADING 1.000\n"
        + READY
        + b'CAPS ext=1 vision=0 later=x\nMODEL 24\n{"name":"m","slots":16 }\nSTAT 0 0.00 0.0 1.25\n'
    )
    check_chunking(
        fresh,
        data,
        [
            Telemetry("HWINFO", True, "2 cores"),
            LoadProgress(0.25, "reading weights"),
            LoadProgress(1.0, ""),
            Ready(),
            Caps({"ext": "1", "vision": "0", "later": "x"}),
            Model({"name": "m", "slots": 16}),
            Telemetry("STAT", True, "0 0.00 0.0 1.25"),
        ],
    )


def test_an_engine_that_can_not_load_says_why():
    check_chunking(fresh, b"LOAD_FAIL kind=nomem 12 GB needed\n", [LoadFail("nomem", "12 GB needed")])


@pytest.mark.parametrize(
    "data",
    [
        b"LOAD_FAIL\n",
        b"LOAD_FAIL kind=sadness\n",
        b"LOADING\n",
        b"LOADING 1.5 past the end\n",
        b"LOADING nan\n",
        READY + b"CAPS ext=1\nMODEL 3\n[1]\n",
        READY + b"CAPS ext=1\nMODEL 3\n{ ]\n",
        READY + b'CAPS ext=1\nMODEL 9\n{"a":NaN}\n',
        READY + b"CAPS ext=1\nMODEL 1048577\n",
        READY + b"CAPS ext=1\nMODEL many\n",
    ],
)
def test_a_start_that_does_not_follow_the_grammar_ends_the_session(data):
    assert fresh()(data)[-1] == BROKEN


def test_json_that_is_nested_past_all_reason_ends_the_session_by_name():
    nested = b'{"a":' * 100_000
    assert fresh()(READY + b"CAPS ext=1\nMODEL %d\n%b\n" % (len(nested), nested))[-1] == BROKEN


def test_the_frames_of_an_older_engine():
    check_chunking(
        gateway_feed(submit(7), start=PLAIN_START),
        b"ACCEPT 7 5\nDATA 7 3\n\xe2\x82\xac\nDATA 7 0\n\nTOOL 7 2\n{}\nDONE 7 STAT 2 12.346 50.0 1.25 5 1 99 98\n",
        [
            Accept(7, 5),
            Data(7, b"\xe2\x82\xac"),
            Data(7, b""),
            Tool(7, b"{}"),
            Done(
                id=7,
                emitted=2,
                tokens_per_second=12.346,
                hit_percent=50.0,
                rss_gb=1.25,
                prompt_tokens=5,
                length_limited=True,
            ),
        ],
    )


def test_the_frames_of_an_extended_request():
    check_chunking(
        gateway_feed(submit(7, extension=EXTENDED)),
        b"ACCEPT 7 2 cached=1 miss=diverged\nECHO 7 1 0 nan 0 id=3\na\nPROGRESS 7 1 2\nECHO 7 1 1 -0.123457 1 4 -0.123457 id=4\nb\n"
        b"DATA 7 2 -1.500001 2 11 -1.500001 12 -inf id=11\n\n\n\nDATA 7 0 id=2\n\n"
        b"DONE 7 STAT 2 0.000 0.0 0.00 2 0 7 computed=1\n",
        [
            Accept(7, 2, 1, "diverged"),
            Echo(7, 0, b"a", NAN, 3),
            Progress(7, 1, 2),
            Echo(7, 1, b"b", Numeric(-0.123457, ((4, -0.123457),)), 4),
            Data(7, b"\n\n", Numeric(-1.500001, ((11, -1.500001), (12, -math.inf))), 11),
            Data(7, b"", None, 2),
            Done(
                id=7,
                emitted=2,
                tokens_per_second=0.0,
                hit_percent=0.0,
                rss_gb=0.0,
                prompt_tokens=2,
                length_limited=False,
                computed_tokens=1,
            ),
        ],
    )


class _Nan(float):
    """A nan that equals nan."""

    def __eq__(self, other):
        return isinstance(other, float) and math.isnan(other)

    __hash__ = float.__hash__


NAN = Numeric(_Nan("nan"))


def test_words_after_the_tail_are_ignored_and_white_space_does_not_matter():
    check_chunking(
        gateway_feed(submit(7, logprobs=1), start=PLAIN_START),
        b"ACCEPT  7 \t5 later=1\nDATA 7 1 -0.5 1 3 -0.5 more words\r\nx\n",
        [Accept(7, 5), Data(7, b"x", Numeric(-0.5, ((3, -0.5),)))],
    )


@pytest.mark.parametrize(
    "line, error",
    [
        (b"ERROR 7 CANCELLED", Error(7, "CANCELLED")),
        (b"ERROR 7 CONTEXT_EXCEEDED 9000 8192", Error(7, "CONTEXT_EXCEEDED", "9000 8192")),
        (b"ERROR 7 invalid cache slot", Error(7, "UNSPECIFIED", "invalid cache slot")),
        (b"ERROR 7", Error(7, "UNSPECIFIED")),
        (b"ERROR 0 BAD_REQUEST", Error(0, "BAD_REQUEST")),
        (b"ERROR 7 NOMEM caf\xc3\xa9 \xff", Error(7, "NOMEM", "caf\u00e9 \ufffd")),
    ],
)
def test_errors_with_and_without_a_code(line, error):
    check_chunking(gateway_feed(submit(7)), line + b"\n", [error])


def test_answers_of_the_tokenizer():
    check_chunking(
        gateway_feed(
            TokenizeCommand(id=1, payload=b"x"), DetokenizeCommand(id=2, ids=(1, 2, 3)), DetokenizeCommand(id=3, ids=())
        ),
        b"TOKENS 1 7\n1 22 49\nTEXT 2 10\n1 0 3\na\nbc\nTEXT 3 1\n\n\n",
        [Tokens(1, (1, 22, 49)), Text(2, (b"a", b"", b"\nbc")), Text(3, ())],
    )


def test_no_tokens_are_an_answer_too():
    check_chunking(gateway_feed(TokenizeCommand(id=1, payload=b"x")), b"TOKENS 1 0\n\n", [Tokens(1, ())])


@pytest.mark.seeds("S110")
def test_group_frames_between_two_data_frames_leave_the_second_intact():
    check_chunking(
        gateway_feed(submit(7), start=PLAIN_START),
        b"ACCEPT 7 1\nDATA 7 1\na\nGRPP 7 9 5\nDATA 7 1\n\nGRPG 7 0\n\nGRPS 7 1\nGRPE 7\nDATA 7 1\nb\n",
        [
            Accept(7, 1),
            Data(7, b"a"),
            Telemetry("GRPP", True, "7 9 5"),
            Telemetry("GRPG", True, "7 0"),
            Telemetry("GRPS", True, "7 1"),
            Telemetry("GRPE", True, "7"),
            Data(7, b"b"),
        ],
    )


@pytest.mark.seeds("S110")
@pytest.mark.parametrize("data", [b"GRPP 7 65537\n", b"GRPG 7\n", b"GRPG 7 x\n", b"GRPP 7 1\nabc\n"])
def test_a_malformed_group_frame_ends_the_session(data):
    check_chunking(gateway_feed(submit(7)), data, [BROKEN])


@pytest.mark.parametrize(
    "kind", ["TIERS", "HWINFO", "EMAP", "HITS", "PROF", "PERF", "ENTROPY", "GPUS", "GPUDETAIL", "TOPK", "REPIN"]
)
def test_telemetry_of_today_is_known(kind):
    session = gateway()
    session.receive_data(kind.encode() + b" 1 2\n")
    assert session.next_frame() == Telemetry(kind, True, "1 2")
    assert not session.skipped


def test_words_of_tomorrow_are_skipped_and_counted():
    session = gateway(submit(7))
    session.receive_data(b"ACCEPT 7 1\nNOVEL a b\nNOVEL\nOTHER_2 7\nDATA 7 1\nx\n")
    seen = [session.next_frame() for _ in range(5)]
    assert seen == [
        Accept(7, 1),
        Telemetry("NOVEL", False, "a b"),
        Telemetry("NOVEL", False, ""),
        Telemetry("OTHER_2", False, "7"),
        Data(7, b"x"),
    ]
    assert session.skipped == {"NOVEL": 2, "OTHER_2": 1}


def test_an_engine_that_makes_up_words_does_not_fill_our_memory():
    session = gateway()
    session.receive_data(b"".join(b"WORD%d\n" % number for number in range(1000)))
    while session.next_frame() is not None:
        pass
    assert len(session.skipped) == 65
    assert session.skipped["OTHER"] == 1000 - 64


@pytest.mark.parametrize("word", ["weather", "not_seen_before"])
def test_a_reason_that_we_do_not_know_is_passed_on(word):
    check_chunking(
        gateway_feed(submit(7, extension={})),
        b"ACCEPT 7 5 later=1 miss=%b\n" % word.encode(),
        [Accept(7, 5, 0, word)],
    )


@pytest.mark.parametrize("word", [b"", b"Cold", b"a-b", b"7", b"\xc3\xa9", b"x" * 33])
def test_a_reason_that_is_no_word_is_a_fault_of_its_request(word):
    (fault,) = gateway_feed(submit(7, extension={}))()(b"ACCEPT 7 5 miss=%b\n" % word)
    assert fault.code == "engine_frame_malformed"
