"""Frames of an engine from their words and payloads: a decoder for each kind, in tables (seeds.md 2.4).

Decoders know nothing of requests or order; ``order`` does. They raise ``ValueError`` or ``IndexError`` for a line that does
not follow the grammar, and ``RequestFault`` where the fault has a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast, get_args

from dragoman.core.limits import MAX_EXTENSION_BYTES, MAX_FRAME_BYTES, MAX_PROMPT_BYTES
from dragoman.protocol.errors import FaultCode, RequestFault
from dragoman.protocol.frames import (
    Accept,
    Caps,
    Data,
    Done,
    Echo,
    Error,
    LoadFail,
    LoadProgress,
    Model,
    Progress,
    Ready,
    SessionFrame,
    Telemetry,
    Text,
    Tokens,
    Tool,
    WireRequestFrame,
)
from dragoman.protocol.numeric import read_tail, take_token
from dragoman.protocol.reader import SizeReader
from dragoman.protocol.words import (
    flag,
    is_code,
    is_reason,
    natural,
    option,
    parse_ids,
    parse_json,
    read_prose,
    real,
    show,
)

MAX_ANSWER_BYTES: Final = 2 * MAX_PROMPT_BYTES
"""Payload of TOKENS and TEXT: a whole request body of one-byte tokens, written in seven digits and a blank, fits."""

UNSPECIFIED: Final = "UNSPECIFIED"
"""The code of an ERROR that has only words, as the older "invalid cache slot"."""

KNOWN_TELEMETRY: Final = frozenset({
    "TIERS", "HWINFO", "EMAP", "HITS", "PROF", "PERF", "ENTROPY", "GPUS", "GPUDETAIL", "TOPK", "REPIN",
    "GRPS", "GRPE", "GRPP", "GRPG", "DECISION",
})  # fmt: skip
"""Kinds that are consumed without effect (seeds.md 2.5, S110). DECISION answers a command that we do not send."""

READY: Final = b"\x01\x01READY\x01\x01"
_LoadFailKind: TypeAlias = Literal["nomem", "io", "format", "unsupported"]
_Words: TypeAlias = list[bytes]


# --- lengths ---------------------------------------------------------------------------------------------------------


def _third_word(limit: int) -> SizeReader:
    return lambda words: natural(words[2], limit)


def _data_size(words: _Words) -> int:
    return natural(words[2], MAX_FRAME_BYTES)


def _model_size(words: _Words) -> int:
    return natural(words[1], MAX_EXTENSION_BYTES)


FRAME_SIZES: Final[Mapping[bytes, SizeReader | None]] = {
    READY: None,
    b"LOAD_FAIL": None,
    b"LOADING": None,
    b"CAPS": None,
    b"MODEL": _model_size,
    b"STAT": None,
    b"ACCEPT": None,
    b"PROGRESS": None,
    b"DATA": _data_size,
    b"ECHO": _data_size,
    b"TOOL": _data_size,
    b"DONE": None,
    b"ERROR": None,
    b"TOKENS": _third_word(MAX_ANSWER_BYTES),
    b"TEXT": _third_word(MAX_ANSWER_BYTES),
    b"GRPP": _data_size,
    b"GRPG": _data_size,
    b"DECISION": _third_word(MAX_PROMPT_BYTES),
}
"""Kinds and where their payload's length stands. A kind that is not here is telemetry."""


# --- decoding: frames that name a request ----------------------------------------------------------------------------


def _accept(request_id: int, words: _Words, _payload: bytes) -> Accept:
    prompt_tokens = natural(words[2])
    cached = _option(words[3:], b"cached")
    if cached is not None and cached > prompt_tokens:
        raise ValueError(f"{cached} of {prompt_tokens} tokens cached")
    return Accept(request_id, prompt_tokens, cached or 0, _miss(words[3:]))


def _progress(request_id: int, words: _Words, _payload: bytes) -> Progress:
    return Progress(request_id, natural(words[2]), natural(words[3]))


def _data(request_id: int, words: _Words, payload: bytes) -> Data:
    if len(words) == 3:
        return Data(request_id, payload)
    token = take_token(words)
    return Data(request_id, payload, read_tail(words, 3) if len(words) > 3 else None, token)


def _echo(request_id: int, words: _Words, payload: bytes) -> Echo:
    try:
        position = natural(words[3])
    except (ValueError, IndexError):
        raise RequestFault(FaultCode.ECHO_POSITION_MALFORMED, "the position of an ECHO is no number") from None
    token = take_token(words)
    return Echo(request_id, position, payload, read_tail(words, 4), token)


def _tool(request_id: int, _words: _Words, payload: bytes) -> Tool:
    return Tool(request_id, payload)


def _done(request_id: int, words: _Words, _payload: bytes) -> Done:
    if words[2] != b"STAT":
        raise ValueError("DONE without STAT")
    return Done(
        id=request_id,
        emitted=natural(words[3]),
        tokens_per_second=real(words[4]),
        hit_percent=real(words[5]),
        rss_gb=real(words[6]),
        prompt_tokens=natural(words[7]),
        length_limited=flag(words[8]),
        computed_tokens=_option(words[9:], b"computed"),
    )


def decode_error(request_id: int, words: _Words, _payload: bytes = b"") -> Error:
    """An ERROR, which can not be malformed once it has an id."""
    code = words[2].decode(errors="replace") if len(words) > 2 else ""
    if is_code(code):
        return Error(request_id, code, read_prose(words[3:]))
    return Error(request_id, UNSPECIFIED, read_prose(words[2:]))


def _tokens(request_id: int, _words: _Words, payload: bytes) -> Tokens:
    return Tokens(request_id, parse_ids(payload))


def _text(request_id: int, _words: _Words, payload: bytes) -> Text:
    lengths, line_feed, text = payload.partition(b"\n")
    pieces: list[bytes] = []
    start = 0
    for word in lengths.split():
        end = start + natural(word, MAX_ANSWER_BYTES)
        pieces.append(text[start:end])
        start = end
    if not line_feed or start != len(text):
        raise ValueError("the lengths of the pieces do not add up to the payload")
    return Text(request_id, tuple(pieces))


RequestDecoder: TypeAlias = Callable[[int, _Words, bytes], WireRequestFrame]

REQUEST_DECODERS: Final[Mapping[bytes, RequestDecoder]] = {
    b"ACCEPT": _accept,
    b"PROGRESS": _progress,
    b"DATA": _data,
    b"ECHO": _echo,
    b"TOOL": _tool,
    b"DONE": _done,
    b"ERROR": decode_error,
    b"TOKENS": _tokens,
    b"TEXT": _text,
}


# --- decoding: frames of the session ---------------------------------------------------------------------------------


def _ready(_words: _Words, _payload: bytes) -> Ready:
    return Ready()


def _load_fail(words: _Words, _payload: bytes) -> LoadFail:
    kind = (option(words[1], b"kind") or b"").decode(errors="replace")
    if kind not in get_args(_LoadFailKind):
        raise ValueError(f"unknown kind {kind!r}: {read_prose(words[1:])}")
    return LoadFail(cast("_LoadFailKind", kind), read_prose(words[2:]))


def _loading(words: _Words, _payload: bytes) -> LoadProgress:
    fraction = real(words[1])
    if not 0 <= fraction <= 1:
        raise ValueError(f"{fraction} is not from 0 to 1")
    return LoadProgress(fraction, read_prose(words[2:]))


def _caps(words: _Words, _payload: bytes) -> Caps:
    pairs = (word.decode(errors="replace").partition("=") for word in words[1:])
    return Caps({key: value for key, _, value in pairs})


def _model(_words: _Words, payload: bytes) -> Model:
    return Model(parse_json(payload))


def decode_telemetry(words: _Words) -> Telemetry:
    """Any line that is nothing else."""
    kind = words[0].decode("ascii")
    return Telemetry(kind, kind in KNOWN_TELEMETRY, read_prose(words[1:]))


def _stat(words: _Words, _payload: bytes) -> Telemetry:
    return Telemetry("STAT", True, read_prose(words[1:]))


SessionDecoder: TypeAlias = Callable[[_Words, bytes], SessionFrame]

SESSION_DECODERS: Final[Mapping[bytes, SessionDecoder]] = {
    READY: _ready,
    b"LOAD_FAIL": _load_fail,
    b"LOADING": _loading,
    b"CAPS": _caps,
    b"MODEL": _model,
    b"STAT": _stat,
}


def _option(words: Sequence[bytes], key: bytes) -> int | None:
    """The number of the first ``key=<n>``; words around it are older engines' own."""
    for word in words:
        if (value := option(word, key)) is not None:
            return natural(value)
    return None


def _miss(words: Sequence[bytes]) -> str:
    """The word of the first ``miss=<word>``. Any lower-case word passes: newer engines may know reasons that we do not."""
    found = next((value for word in words if (value := option(word, b"miss")) is not None), None)
    if found is None:
        return ""
    reason = found.decode(errors="replace")
    if not is_reason(reason):
        raise ValueError(f"{show(found)} is no reason")
    return reason
