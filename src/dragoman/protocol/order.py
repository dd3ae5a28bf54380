"""Which frame may follow which: two tables, and the memory of one request that the tables can not hold.

Theory of operation. A session goes through ``STARTUP`` once. Each command that awaits an answer opens an ``Exchange``, which
goes through ``ORDER`` on its own; exchanges interleave freely. A frame that has no entry in its row is a fault of its
exchange, which then goes on in its faulty row until the terminal frame frees the id.

Two laws. This file does not know on which side it runs: the gateway's session and the engine's give it the same frames. And
it holds nothing back: what is legal is passed on at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, assert_never

from dragoman.protocol.errors import FaultCode, RequestFault
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
    Progress,
    Ready,
    SessionFrame,
    Submit,
    Telemetry,
    Text,
    TokenizeCommand,
    Tokens,
    Tool,
    WireRequestFrame,
)


class Phase(StrEnum):
    """Where a session is before it serves."""

    LOADING = "loading"
    FAILED = "failed"
    READY = "ready"
    PLAIN = "plain"
    EXTENDED = "extended"
    DESCRIBED = "described"
    SERVING = "serving"


STARTUP: Final[Mapping[Phase, Mapping[str, Phase]]] = {
    Phase.LOADING: {"LOADING": Phase.LOADING, "LOAD_FAIL": Phase.FAILED, "READY": Phase.READY},
    Phase.FAILED: {},
    Phase.READY: {"CAPS": Phase.PLAIN, "CAPS ext=1": Phase.EXTENDED, "STAT": Phase.SERVING},
    Phase.PLAIN: {"STAT": Phase.SERVING},
    Phase.EXTENDED: {"MODEL": Phase.DESCRIBED},
    Phase.DESCRIBED: {"STAT": Phase.SERVING},
    Phase.SERVING: {"STAT": Phase.SERVING},
}
"""Frames that name no request, telemetry aside, which may stand anywhere (seeds.md 2.2)."""


class State(StrEnum):
    """Where a request is, as seen in its frames."""

    SUBMITTED = "submitted"
    PREFILL = "prefill"
    DECODE = "decode"
    TOKENIZING = "tokenizing"
    DETOKENIZING = "detokenizing"
    FAULTY = "faulty"
    FAULTY_ANSWER = "faulty answer"
    FINISHED = "finished"


ORDER: Final[Mapping[State, Mapping[str, State]]] = {
    State.SUBMITTED: {
        "ACCEPT": State.PREFILL,
        "ERROR": State.FINISHED,
    },
    State.PREFILL: {
        "ECHO": State.PREFILL,
        "PROGRESS": State.PREFILL,
        "DATA": State.DECODE,
        "TOOL": State.DECODE,
        "DONE": State.FINISHED,
        "ERROR": State.FINISHED,
    },
    State.DECODE: {
        "PROGRESS": State.DECODE,
        "DATA": State.DECODE,
        "TOOL": State.DECODE,
        "DONE": State.FINISHED,
        "ERROR": State.FINISHED,
    },
    State.TOKENIZING: {
        "TOKENS": State.FINISHED,
        "ERROR": State.FINISHED,
    },
    State.DETOKENIZING: {
        "TEXT": State.FINISHED,
        "ERROR": State.FINISHED,
    },
    State.FAULTY: {
        "ACCEPT": State.FAULTY,
        "ECHO": State.FAULTY,
        "PROGRESS": State.FAULTY,
        "DATA": State.FAULTY,
        "TOOL": State.FAULTY,
        "TOKENS": State.FAULTY,
        "TEXT": State.FAULTY,
        "DONE": State.FINISHED,
        "ERROR": State.FINISHED,
    },
    State.FAULTY_ANSWER: {
        "ACCEPT": State.FAULTY_ANSWER,
        "ECHO": State.FAULTY_ANSWER,
        "PROGRESS": State.FAULTY_ANSWER,
        "DATA": State.FAULTY_ANSWER,
        "TOOL": State.FAULTY_ANSWER,
        "TOKENS": State.FINISHED,
        "TEXT": State.FINISHED,
        "DONE": State.FINISHED,
        "ERROR": State.FINISHED,
    },
    State.FINISHED: {},
}
"""Frames of one request (seeds.md 2.6, rule 1). PROGRESS in decode: a request that lost its cache computes its prompt again."""

IMPLY_ACCEPT: Final = frozenset({"ECHO", "DATA", "TOOL", "DONE"})
"""First frames that stand for ACCEPT too, from engines that did not announce ``ext=1`` and may not know ACCEPT (S113)."""


def startup_step(phase: Phase, frame: SessionFrame) -> Phase | None:
    """The next phase; None where the frame may not come now."""
    row = STARTUP[phase]
    match frame:
        case Telemetry(kind="STAT"):
            return row.get("STAT")
        case Telemetry():
            return phase
        case Caps(values=values):
            return row.get("CAPS ext=1" if values.get("ext") == "1" else "CAPS")
        case Ready():
            return row.get("READY")
        case LoadProgress():
            return row.get("LOADING")
        case LoadFail():
            return row.get("LOAD_FAIL")
        case Model():
            return row.get("MODEL")
    assert_never(frame)


KINDS: Final[Mapping[type[WireRequestFrame], str]] = {
    Accept: "ACCEPT",
    Echo: "ECHO",
    Progress: "PROGRESS",
    Data: "DATA",
    Tool: "TOOL",
    Done: "DONE",
    Error: "ERROR",
    Tokens: "TOKENS",
    Text: "TEXT",
}


class Exchange:
    """One command and the frames that answer it."""

    __slots__ = ("_echo", "_numeric", "_positions", "_prompt_tokens", "_row", "extended", "state", "stopped")

    def __init__(self, command: Submit | TokenizeCommand | DetokenizeCommand) -> None:
        self.extended = True
        self.stopped = False
        self._numeric = False
        self._echo = False
        self._prompt_tokens: int | None = None
        self._positions: set[int] = set()
        match command:
            case Submit():
                extension = command.extension
                self.extended = extension is not None
                self._numeric = bool(command.logprobs) or (extension or {}).get("logprobs") is not None
                self._echo = (extension or {}).get("echo") is not None
                self._enter(State.SUBMITTED)
            case TokenizeCommand():
                self._enter(State.TOKENIZING)
            case DetokenizeCommand():
                self._enter(State.DETOKENIZING)

    @property
    def finished(self) -> bool:
        """True after the terminal frame."""
        return self.state is State.FINISHED

    @property
    def faulty(self) -> bool:
        """True from a fault to the terminal frame."""
        return self.state is State.FAULTY or self.state is State.FAULTY_ANSWER

    def implies_accept(self, kind: str) -> bool:
        """True when an older engine means ACCEPT by this frame too."""
        return self.state is State.SUBMITTED and kind in IMPLY_ACCEPT

    def imply_accept(self) -> None:
        """Go on as after an ACCEPT that did not say how long the prompt is."""
        self._enter(State.PREFILL)

    def advance(self, frame: WireRequestFrame) -> None:
        """Take the step of ``frame``. Raises ``RequestFault`` and stays, so that the caller can decide."""
        kind = KINDS[type(frame)]
        state = self._row.get(kind)
        if state is None:
            raise RequestFault(FaultCode.ORDER_VIOLATION, f"{kind} in the state {self.state}")
        match frame:
            case Data(payload=payload, numeric=None) if payload and self._numeric:
                raise RequestFault(FaultCode.RECORDS_INCOMPLETE, "DATA without the log-probability that was asked for")
            case Accept(prompt_tokens=prompt_tokens):
                self._prompt_tokens = prompt_tokens
            case Echo(position=position):
                self._place(position)
            case Done() if self._echo and not self.stopped and len(self._positions) != self._prompt_tokens:
                seen = f"{len(self._positions)} of {self._prompt_tokens}"
                raise RequestFault(FaultCode.RECORDS_INCOMPLETE, f"DONE after {seen} prompt positions were echoed")
            case _:
                pass
        if state is not self.state:
            self._enter(state)

    def fail(self, kind: str) -> None:
        """Go on after a fault in a frame of ``kind``, which ends the exchange where it is the terminal one."""
        answer = self.state in {State.TOKENIZING, State.DETOKENIZING}
        self._enter(ORDER[State.FAULTY_ANSWER if answer else State.FAULTY][kind])

    def drop(self, kind: str) -> None:
        """Let a frame of a faulty exchange pass unread."""
        self._enter(self._row[kind])

    def _enter(self, state: State) -> None:
        self.state = state
        self._row = ORDER[state]

    def _place(self, position: int) -> None:
        """Prompt positions come in any order, each once (S78)."""
        if position in self._positions:
            raise RequestFault(FaultCode.ECHO_POSITION_MALFORMED, f"position {position} is echoed twice")
        if self._prompt_tokens is not None and position >= self._prompt_tokens:
            beyond = f"position {position} of a prompt of {self._prompt_tokens} tokens is echoed"
            raise RequestFault(FaultCode.ECHO_POSITION_MALFORMED, beyond)
        self._positions.add(position)
