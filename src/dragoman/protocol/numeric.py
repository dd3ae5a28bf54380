"""What a DATA or ECHO header says of its token: the numeric tail and the ``id=`` word, there and back (seeds.md 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.limits import MAX_TOP_LOGPROBS
from dragoman.protocol.errors import FaultCode, LocalProtocolError, RequestFault
from dragoman.protocol.frames import Numeric
from dragoman.protocol.words import MAX_TOKEN_ID, natural, option, real


def read_tail(words: Sequence[bytes], start: int) -> Numeric:
    """``<lp> <k>( <tid> <tlp>)*k`` from ``words[start]``; words after it are ignored. Raises ``RequestFault``."""
    try:
        logprob = real(words[start])
        count = natural(words[start + 1], MAX_TOP_LOGPROBS)
        if not count:
            return Numeric(logprob)
        first = start + 2
        end = first + 2 * count
        ids = [natural(word, MAX_TOKEN_ID) for word in words[first:end:2]]
        values = [real(word) for word in words[first + 1 : end : 2]]
    except IndexError:
        raise RequestFault(FaultCode.TAIL_MALFORMED, "a numeric tail has less than two words") from None
    except ValueError as error:
        raise RequestFault(FaultCode.TAIL_MALFORMED, f"a numeric tail can not be read: {error}") from None
    if len(values) != count:
        raise RequestFault(FaultCode.TAIL_MALFORMED, f"a numeric tail announces {count} pairs and ends early")
    if len(set(ids)) != count:
        raise RequestFault(FaultCode.DUPLICATE_CANDIDATE, "a numeric tail names a token twice")
    return Numeric(logprob, tuple(zip(ids, values, strict=True)))


def write_tail(numeric: Numeric) -> bytes:
    """The words that ``read_tail`` reads, after a blank. Raises ``LocalProtocolError``."""
    top = numeric.top
    if len(top) > MAX_TOP_LOGPROBS or len({token for token, _ in top}) != len(top):
        raise LocalProtocolError(f"{len(top)} alternatives; {MAX_TOP_LOGPROBS} different ones are the most")
    if any(not 0 <= token <= MAX_TOKEN_ID for token, _ in top):
        raise LocalProtocolError("an alternative's token id is out of range")
    pairs = b"".join([b" %d %.6f" % pair for pair in top])
    return b" %.6f %d%b" % (numeric.logprob, len(top), pairs)


def take_token(words: list[bytes]) -> int | None:
    """The trailing ``id=<tid>``, which is taken off ``words``; None where it is not there. Raises ``RequestFault``."""
    value = option(words[-1], b"id")
    if value is None:
        return None
    words.pop()
    try:
        return natural(value, MAX_TOKEN_ID)
    except ValueError as error:
        raise RequestFault(FaultCode.TAIL_MALFORMED, f"a token's id can not be read: {error}") from None


def write_token(token: int) -> bytes:
    """The word that ``take_token`` takes, after a blank. Raises ``LocalProtocolError``."""
    if not 0 <= token <= MAX_TOKEN_ID:
        raise LocalProtocolError(f"token id {token} is out of range")
    return b" id=%d" % token
