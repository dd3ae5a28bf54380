"""Laws of the engine protocol that hold for every frame, every command, every byte and every cut."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dragoman.protocol import GatewaySession
from dragoman.protocol.frame_decoder import FRAME_SIZES, REQUEST_DECODERS, SESSION_DECODERS, decode_telemetry
from dragoman.protocol.frame_encoder import encode_request_frame, encode_session_frame
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
    Image,
    LoadFail,
    LoadProgress,
    Model,
    Numeric,
    Progress,
    Ready,
    Stop,
    Submit,
    Telemetry,
    Text,
    TokenizeCommand,
    Tokens,
    Tool,
)
from dragoman.protocol.reader import FrameReader
from dragoman.protocol.words import request_id
from support.protocol import (
    BROKEN,
    EXTENDED_START,
    PLAIN_START,
    READY,
    commands,
    engine,
    engine_feed,
    frames,
    gateway,
    gateway_feed,
    submit,
)

ids = st.integers(1, 2**64 - 1)
counts = st.integers(0, 2**63 - 1)
tokens = st.integers(0, 2**31 - 1)
payloads = st.binary(max_size=200)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), max_size=8)
prose = st.lists(words.filter(bool), max_size=6).map(" ".join)
codes = st.from_regex(r"[A-Z][A-Z0-9_]{0,31}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(st.text(max_size=8), json_values, max_size=4)


def printed(digits: int):
    """Floats that survive being printed with so many digits after the point."""
    finite = st.floats(-1e6, 1e6).map(lambda value: float(f"{value:.{digits}f}"))
    return finite | st.sampled_from([math.inf, -math.inf])


numerics = st.builds(
    Numeric,
    printed(6),
    st.lists(st.tuples(tokens, printed(6)), max_size=32, unique_by=lambda pair: pair[0]).map(tuple),
)
accepts = st.tuples(counts, counts).map(sorted)
reasons = st.just("") | st.from_regex(r"[a-z][a-z_]{0,31}", fullmatch=True)

request_frames = st.one_of(
    st.builds(lambda number, pair, miss: Accept(number, pair[1], pair[0], miss), ids, accepts, reasons),
    st.builds(Data, ids, payloads, st.none() | numerics, st.none() | tokens),
    st.builds(Echo, ids, counts, payloads, numerics, st.none() | tokens),
    st.builds(Tool, ids, payloads),
    st.builds(Progress, ids, counts, counts),
    st.builds(
        Done,
        id=ids,
        emitted=counts,
        tokens_per_second=printed(3),
        hit_percent=printed(1),
        rss_gb=printed(2),
        prompt_tokens=counts,
        length_limited=st.booleans(),
        computed_tokens=st.none() | counts,
    ),
    st.builds(Error, ids | st.just(0), codes, prose),
    st.builds(Tokens, ids, st.lists(tokens, max_size=20).map(tuple)),
    st.builds(Text, ids, st.lists(payloads, max_size=8).map(tuple)),
)
caps_words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Z", "C"], exclude_characters="="), min_size=1, max_size=8
)
session_frames = st.one_of(
    st.just(Ready()),
    st.builds(LoadFail, st.sampled_from(["nomem", "io", "format", "unsupported"]), prose),
    st.builds(LoadProgress, st.integers(0, 1000).map(lambda thousandths: thousandths / 1000), prose),
    st.builds(Caps, st.dictionaries(caps_words, words, max_size=6)),
    st.builds(Model, json_objects),
    st.builds(Telemetry, st.just("STAT"), st.just(True), prose),
    st.builds(Telemetry, st.sampled_from(["TIERS", "PROF", "EMAP"]), st.just(True), prose),
    st.builds(Telemetry, codes.map(lambda code: ("X" + code)[:32]), st.just(False), prose),
)

text_payloads = payloads.map(lambda data: data.replace(b"\0", b" "))
temperatures = st.floats(0, 2).map(lambda value: float(f"{value:.8g}"))
top_ps = st.floats(1e-9, 1).map(lambda value: float(f"{value:.8g}"))
any_command = st.one_of(
    st.builds(
        Submit,
        id=ids,
        slot=counts,
        payload=text_payloads,
        max_tokens=st.integers(1, 2**63 - 1),
        temperature=temperatures,
        top_p=top_ps,
        logprobs=st.none() | st.integers(0, 32),
        ids=st.booleans(),
        pin=st.booleans(),
        extension=st.none() | json_objects,
    ),
    st.builds(Stop, ids),
    st.builds(Cancel, ids),
    st.builds(TokenizeCommand, id=ids, payload=text_payloads, options=json_objects),
    st.builds(DetokenizeCommand, id=ids, ids=st.lists(tokens, max_size=20).map(tuple), special=st.booleans()),
)


def reread(data: bytes):
    """The frame that ``data`` is, by the tables alone, without order."""
    reader = FrameReader(FRAME_SIZES, skip_unknown=True)
    reader.receive(data)
    cut = reader.next()
    assert cut is not None
    assert reader.next() is None
    found, payload = cut
    if (decode := REQUEST_DECODERS.get(found[0])) is not None:
        return decode(request_id(found, or_zero=True), found, payload)
    if (decode_session := SESSION_DECODERS.get(found[0])) is not None:
        return decode_session(found, payload)
    return decode_telemetry(found)


@given(request_frames)
def test_every_frame_of_a_request_survives_the_wire(frame):
    assert reread(encode_request_frame(frame)) == frame


@given(session_frames)
def test_every_frame_of_a_session_survives_the_wire(frame):
    assert reread(encode_session_frame(frame)) == frame


@given(any_command)
def test_every_command_survives_the_wire(command):
    session = engine()
    session.receive_data(gateway().send(command))
    assert commands(session) == [command]


@given(any_command, st.lists(st.tuples(payloads, counts, counts), max_size=16))
def test_a_command_and_its_images_survive_the_wire(command, pictures):
    if isinstance(command, Submit | TokenizeCommand):
        frames = (Image(id=command.id, payload=payload, grid_h=high, grid_w=wide) for payload, high, wide in pictures)
        command = replace(command, images=tuple(frames))
    session = engine()
    session.receive_data(gateway(start=READY + b"CAPS vision=1 ext=1\nMODEL 2\n{}\nSTAT 0 0 0 0\n").send(command))
    assert commands(session) == [command]


GRAMMAR = [
    *(kind + b" " for kind in FRAME_SIZES),
    *(
        b"7 ",
        b"8 ",
        b"9 ",
        b"0 ",
        b"1 ",
        b"2 ",
        b"-1 ",
        b"x ",
        b"nan ",
        b"-0.5 ",
        b"65536 ",
        b"65537 ",
        b"99999999999999999999 ",
    ),
    *(
        b"STAT 1 1.0 0.0 0.0 1 0",
        b"id=5",
        b"id=-5",
        b"cached=1",
        b"ext=1",
        b"kind=io",
        b"{}",
        b"NOVEL ",
        b"\x02",
        b"GRPS ",
    ),
    *(b"\n", b"\n", b"\n", b" ", b"\0", b"\xff"),
    *(
        b"DATA 7 1\nx\n",
        b"ACCEPT 7 2\n",
        b"ACCEPT 8 1\n",
        b"DONE 7 STAT 1 1 0 0 2 0\n",
        b"ERROR 8 CANCELLED\n",
        b"ECHO 7 1 0 nan 0\na\n",
    ),
    *(b"TOKENS 9 1\n4\n", b"DATA 8 1 -0.5 1 4 -0.5 id=4\nz\n", READY, PLAIN_START, EXTENDED_START),
]
COMMANDS = [
    *(b"SUBMIT ", b"IMAGE ", b"STOP ", b"CANCEL ", b"TOKENIZE ", b"DETOKENIZE ", b"DECIDE "),
    *(
        b"7 ",
        b"0 ",
        b"1 ",
        b"5 ",
        b"16 ",
        b"0.7 ",
        b"0.9 ",
        b"nan ",
        b"-1 ",
        b"x ",
        b"16777217 ",
        b"99999999999999999999 ",
    ),
    *(b"logprobs=5 ", b"ids=1 ", b"pin=1 ", b"ext=2", b"ext=x", b"special=0", b"new=1", b"{}", b"[]", b"hello"),
    *(b"\n", b"\n", b"\n", b" ", b"\0", b"\xff"),
    *(
        b"SUBMIT 7 0 5 16 0.7 0.9\nhello\n",
        b"SUBMIT 8 0 5 16 0.7 0.9 ext=2\nhello{}\n",
        b"STOP 7\n",
        b"TOKENIZE 9 1\nx\n",
        b"IMAGE 7 3 1 1 rgb=1\nRGB\n",
        b"IMAGE 9 3 2 1 rgb=1\nRGB\n",
    ),
]


def junk(pieces):
    """Bytes that are nearly what they should be, and bytes that are not."""
    return st.lists(st.sampled_from(pieces) | st.binary(max_size=6), max_size=30).map(b"".join)


cuts = st.lists(st.integers(0, 400), max_size=8)


def pieces_of(data, at):
    edges = [0, *sorted(min(cut, len(data)) for cut in at), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


LIVE = (submit(7, logprobs=1), submit(8, slot=1), TokenizeCommand(id=9, payload=b"x"))


@given(junk(GRAMMAR), cuts, st.sampled_from([b"", PLAIN_START, EXTENDED_START]))
def test_any_bytes_give_frames_or_the_remote_error_and_nothing_else(data, at, start):
    """And the same ones however they are cut: the law of everything that reads a pipe."""
    live = () if not start else LIVE if start is EXTENDED_START else LIVE[:2]
    whole = gateway_feed(*live, start=start)()(data)
    assert BROKEN not in whole[:-1]
    cut = gateway_feed(*live, start=start)()
    assert repr([frame for piece in pieces_of(data, at) for frame in cut(piece)]) == repr(whole)


@given(junk(GRAMMAR))
def test_the_end_of_the_stream_gives_the_remote_error_or_none(data):
    session = GatewaySession()
    session.receive_data(data)
    session.receive_eof()
    seen = frames(session)
    if BROKEN not in seen:
        assert session.next_frame() is None


@given(junk(COMMANDS), cuts)
def test_any_bytes_give_commands_or_the_remote_error_and_nothing_else(data, at):
    """An engine answers what it can not obey, and gives up only where it can not tell the end of a command."""
    whole = engine_feed()(data)
    assert BROKEN not in whole[:-1]
    assert all(isinstance(command, BadCommand) or command.id > 0 for command in whole if command != BROKEN)
    cut = engine_feed()
    assert [command for piece in pieces_of(data, at) for command in cut(piece)] == whole


@given(junk(GRAMMAR))
def test_each_request_ends_once(data):
    """Order law: after its last frame, or its fault, no frame of a request is heard but answers to what came too late."""
    ended = set()
    for frame in gateway_feed(*LIVE)()(data):
        match frame:
            case Accept() | Data() | Echo() | Tool() | Progress():
                assert frame.id not in ended
            case Done() | Tokens() | Text():
                assert frame.id not in ended
                ended.add(frame.id)
            case _:
                number = getattr(frame, "id", None)
                if number is not None:
                    ended.add(number)
