"""Whose fault it is: ours, theirs, or theirs for one request only."""

from __future__ import annotations

from enum import StrEnum


class LocalProtocolError(Exception):
    """We asked the protocol for something illegal: a bug on this side. Nothing was written."""


class RemoteProtocolError(Exception):
    """The other side broke the framing or ended too early. The session is over and can not be used again."""


class FaultCode(StrEnum):
    """How an engine can break one request. The first four are spelled as clients know them (S84)."""

    TAIL_MALFORMED = "engine_logprob_tail_malformed"
    ECHO_POSITION_MALFORMED = "engine_echo_position_malformed"
    DUPLICATE_CANDIDATE = "engine_duplicate_logprob_candidate"
    RECORDS_INCOMPLETE = "engine_logprob_records_incomplete"
    ORDER_VIOLATION = "engine_order_violation"
    FRAME_MALFORMED = "engine_frame_malformed"


class RequestFault(Exception):
    """A frame that its request can not survive and every other can. Stays inside this package.

    The gateway's session turns it into a ``Fault``; the engine's session, whose own frame it is, into a
    ``LocalProtocolError``.
    """

    def __init__(self, code: FaultCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
