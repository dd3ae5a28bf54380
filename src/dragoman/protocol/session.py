"""Both ends of one engine's pipe, without the pipe: data in, frames or commands out.

Theory of operation. A session is fed the bytes of the other side and asked for what they mean; it turns what its own side
wants to say into bytes. It never calls anybody. ``order.py`` holds what may follow what.

Three laws. (1) Who is at fault is the type: ``LocalProtocolError`` is our bug, ``RemoteProtocolError`` is theirs and ends the
session, and a fault of one request is a value (``Fault``, ``BadCommand``) that touches no other request. (2) After a
``RemoteProtocolError`` the session says so at each call, and does nothing else. (3) Whatever the bytes, and however they are cut,
nothing else is ever raised by reading.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final, assert_never

from dragoman.protocol.command_decoder import COMMAND_SIZES, decode_command
from dragoman.protocol.command_encoder import encode_command
from dragoman.protocol.errors import FaultCode, LocalProtocolError, RemoteProtocolError, RequestFault
from dragoman.protocol.frame_decoder import (
    FRAME_SIZES,
    REQUEST_DECODERS,
    SESSION_DECODERS,
    RequestDecoder,
    SessionDecoder,
    decode_error,
    decode_telemetry,
)
from dragoman.protocol.frame_encoder import encode_request_frame, encode_session_frame
from dragoman.protocol.frames import (
    Accept,
    BadCommand,
    Cancel,
    Caps,
    Command,
    DetokenizeCommand,
    Error,
    Fault,
    Frame,
    Image,
    LoadFail,
    LoadProgress,
    Model,
    Ready,
    SessionFrame,
    Stop,
    Submit,
    Telemetry,
    TokenizeCommand,
    WireRequestFrame,
)
from dragoman.protocol.order import Exchange, Phase, startup_step
from dragoman.protocol.pictures import Pictures
from dragoman.protocol.reader import FrameReader
from dragoman.protocol.words import MAX_ID, request_id, show

MAX_SKIPPED_KINDS: Final = 64
"""Unknown kinds that are counted by name; an engine that makes up words must not fill our memory. The rest is ``OTHER``."""

REFUSALS: Final = frozenset({"BAD_FRAME", "BAD_REQUEST", "DUPLICATE_ID", "NOT_FOUND", "NOT_SUPPORTED"})
"""Errors that may answer a command which opened nothing: a malformed one, or STOP and CANCEL for an id that is gone."""


class GatewaySession:
    """The gateway's end: commands out, frames in."""

    def __init__(self) -> None:
        self._reader = FrameReader(FRAME_SIZES, skip_unknown=True)
        self._phase = Phase.LOADING
        self._caps: dict[str, str] = {}
        self._live: dict[int, Exchange] = {}
        self._held: tuple[list[bytes], bytes] | None = None
        self._failure: str | None = None
        self._skipped: Counter[str] = Counter()

    @property
    def ready(self) -> bool:
        """True from READY on: commands may be sent. What the engine is able to is known at its first STAT."""
        return self._phase not in {Phase.LOADING, Phase.FAILED}

    @property
    def caps(self) -> dict[str, str]:
        """The words of CAPS, unknown ones too; empty until it came."""
        return dict(self._caps)

    @property
    def live(self) -> frozenset[int]:
        """Ids that await their terminal frame. A request that had a ``Fault`` stays until then."""
        return frozenset(self._live)

    @property
    def skipped(self) -> Counter[str]:
        """Lines of unknown kinds so far, by kind."""
        return self._skipped

    # --- reading ---

    def receive_data(self, data: bytes) -> None:
        """Take bytes from the engine. Raises ``LocalProtocolError`` after the end, or once the session is over."""
        if self._failure is not None:
            raise LocalProtocolError(f"the session is over: {self._failure}")
        self._reader.receive(data)

    def receive_eof(self) -> None:
        """The engine will write no more."""
        self._reader.receive_eof()

    def next_frame(self) -> Frame | None:
        """The next frame; None when more data is needed, or after a clean end.

        Raises ``RemoteProtocolError`` for broken framing, and for an end before READY, inside a frame or with live requests.
        """
        if self._failure is not None:
            raise RemoteProtocolError(f"the session is over: {self._failure}")
        try:
            cut = self._held or self._reader.next()
            self._held = None
            while cut is not None:
                frame = self._read(*cut)
                if frame is not None:
                    return frame
                cut = self._reader.next()
            if self._reader.ended:
                self._check_end()
        except RemoteProtocolError as error:
            self._failure = str(error)
            raise
        return None

    def _read(self, words: list[bytes], payload: bytes) -> Frame | None:
        kind = words[0]
        if (decode := REQUEST_DECODERS.get(kind)) is not None:
            return self._read_for_request(decode, words, payload)
        if (decode_session := SESSION_DECODERS.get(kind)) is not None:
            return self._read_for_session(decode_session, words, payload)
        frame = decode_telemetry(words)
        if not frame.known:
            self._count(frame.kind)
        return frame

    def _read_for_request(self, decode: RequestDecoder, words: list[bytes], payload: bytes) -> Frame | None:
        kind = words[0].decode()
        try:
            number = request_id(words, or_zero=kind == "ERROR")
        except ValueError as error:
            raise RemoteProtocolError(f"{kind} that belongs to nobody: {error}") from None
        exchange = self._live.get(number)
        if exchange is None:
            return self._stray(number, kind, words)
        if exchange.faulty:
            exchange.drop(kind)
            self._forget_finished(number, exchange)
            return None
        if exchange.implies_accept(kind) and not self._extended:
            exchange.imply_accept()
            self._held = (words, payload)
            return Accept(number, 0)
        try:
            frame = decode(number, words, payload)
            exchange.advance(frame)
        except RequestFault as fault:
            return self._fault(number, exchange, kind, fault)
        except IndexError:
            return self._fault(
                number, exchange, kind, RequestFault(FaultCode.FRAME_MALFORMED, f"{kind} has too few fields")
            )
        except ValueError as error:
            return self._fault(number, exchange, kind, RequestFault(FaultCode.FRAME_MALFORMED, f"{kind}: {error}"))
        self._forget_finished(number, exchange)
        return frame

    def _fault(self, number: int, exchange: Exchange, kind: str, fault: RequestFault) -> Fault:
        exchange.fail(kind)
        self._forget_finished(number, exchange)
        return Fault(number, fault.code, fault.detail)

    def _stray(self, number: int, kind: str, words: list[bytes]) -> Fault | Error:
        """A frame of an id that is not live. ERROR is an answer to a STOP or CANCEL that came too late, or to nobody (id 0)."""
        if kind == "ERROR":
            return decode_error(number, words)
        return Fault(number, FaultCode.ORDER_VIOLATION, f"{kind} for a request that is not live")

    def _read_for_session(self, decode: SessionDecoder, words: list[bytes], payload: bytes) -> SessionFrame:
        kind = show(words[0])
        try:
            frame = decode(words, payload)
        except IndexError:
            raise RemoteProtocolError(f"{kind} has too few fields") from None
        except ValueError as error:
            raise RemoteProtocolError(f"{kind}: {error}") from None
        phase = startup_step(self._phase, frame)
        if phase is None:
            raise RemoteProtocolError(f"{kind} can not come in the phase {self._phase}")
        self._phase = phase
        if isinstance(frame, Caps):
            self._caps = frame.values
        return frame

    def _check_end(self) -> None:
        if self._phase is Phase.LOADING:
            raise RemoteProtocolError("the engine ended before it was ready")
        if self._live:
            raise RemoteProtocolError(f"the engine ended with {len(self._live)} requests unanswered")

    def _count(self, kind: str) -> None:
        if kind not in self._skipped and len(self._skipped) >= MAX_SKIPPED_KINDS:
            kind = "OTHER"
        self._skipped[kind] += 1

    def _forget_finished(self, number: int, exchange: Exchange) -> None:
        if exchange.finished:
            del self._live[number]

    # --- writing ---

    def send(self, command: Command) -> bytes:
        """The bytes of ``command``, its pictures first, to be written whole, with nothing in between (S107).

        Raises ``LocalProtocolError``, and then nothing has changed: before READY, for an id that is live, for what the engine
        did not announce, for what the grammar can not say, and once the session is over. STOP and CANCEL may name any id.
        """
        self._check_sendable(command)
        data = encode_command(command)
        match command:
            case Submit() | TokenizeCommand() | DetokenizeCommand():
                self._live[command.id] = Exchange(command)
            case Stop() | Cancel():
                if (exchange := self._live.get(command.id)) is not None:
                    exchange.stopped = True
            case _:
                assert_never(command)
        return data

    def _check_sendable(self, command: Command) -> None:
        if self._failure is not None:
            raise LocalProtocolError(f"the session is over: {self._failure}")
        if not self.ready:
            raise LocalProtocolError("nothing may be sent before READY")
        if isinstance(command, Stop | Cancel):
            return
        if command.id in self._live:
            raise LocalProtocolError(f"request {command.id} is live")
        images = () if isinstance(command, DetokenizeCommand) else command.images
        if images and self._caps.get("vision") != "1":
            raise LocalProtocolError("the engine did not announce vision=1")
        newer = not isinstance(command, Submit) or command.extension is not None or any(image.rgb for image in images)
        if newer and not self._extended:
            raise LocalProtocolError("the engine did not announce ext=1")

    @property
    def _extended(self) -> bool:
        return self._caps.get("ext") == "1"


class EngineSession:
    """The engine's end: frames out, commands in."""

    def __init__(self) -> None:
        self._reader = FrameReader(COMMAND_SIZES, skip_unknown=False)
        self._phase = Phase.LOADING
        self._live: dict[int, Exchange] = {}
        self._pictures = Pictures()
        self._failure: str | None = None

    @property
    def live(self) -> frozenset[int]:
        """Ids that are owed a terminal frame."""
        return frozenset(self._live)

    # --- reading ---

    def receive_data(self, data: bytes) -> None:
        """Take bytes from the gateway. Raises ``LocalProtocolError`` after the end, or once the session is over."""
        if self._failure is not None:
            raise LocalProtocolError(f"the session is over: {self._failure}")
        self._reader.receive(data)

    def receive_eof(self) -> None:
        """The gateway will write no more: finish what is live, then exit (seeds.md 2.1)."""
        self._reader.receive_eof()

    def next_command(self) -> Command | BadCommand | None:
        """The next command; None when more data is needed, or after a clean end. A ``BadCommand`` is to be answered with ERROR.

        Raises ``RemoteProtocolError`` where the end of a command can not be told, and for the end of the stream inside one.
        """
        if self._failure is not None:
            raise RemoteProtocolError(f"the session is over: {self._failure}")
        while (cut := self._cut()) is not None:
            words, payload = cut
            command = decode_command(words, payload)
            if isinstance(command, Image) or (isinstance(command, BadCommand) and command.id and words[0] == b"IMAGE"):
                self._pictures.hold(command)
            else:
                return self._open(command, self._pictures.take(command.id))
        return None

    def _cut(self) -> tuple[list[bytes], bytes] | None:
        try:
            return self._reader.next()
        except RemoteProtocolError as error:
            self._failure = str(error)
            raise

    def _open(self, command: Command | BadCommand, pictures: tuple[Image, ...] | BadCommand) -> Command | BadCommand:
        """Note what a command changes, and give it the pictures that stood before it."""
        match command:
            case Submit() | TokenizeCommand() | DetokenizeCommand():
                if command.id in self._live:
                    return BadCommand(command.id, "DUPLICATE_ID", "the id is live")
                if isinstance(pictures, BadCommand):
                    return pictures
                self._live[command.id] = Exchange(command)
                if pictures and not isinstance(command, DetokenizeCommand):
                    return replace(command, images=pictures)
            case Stop() | Cancel():
                if (exchange := self._live.get(command.id)) is not None:
                    exchange.stopped = True
            case BadCommand():
                pass
            case _:
                assert_never(command)
        return command

    # --- writing ---

    def encode(self, frame: Frame) -> bytes:
        """The bytes of ``frame``; none where its request could not understand it (PROGRESS without an extension).

        Raises ``LocalProtocolError``, and then nothing has changed, for what the gateway would have to call a fault: a frame out
        of order, or one that the grammar can not say.
        """
        match frame:
            case Ready() | LoadFail() | LoadProgress() | Caps() | Model() | Telemetry():
                return self._encode_for_session(frame)
            case Fault():
                raise LocalProtocolError("a Fault is a finding of the gateway, not a frame")
            case Error() if frame.id not in self._live or frame.code == "DUPLICATE_ID":
                return self._encode_refusal(frame)
            case _:
                return self._encode_for_request(frame)

    def _encode_for_session(self, frame: SessionFrame) -> bytes:
        phase = startup_step(self._phase, frame)
        if phase is None:
            raise LocalProtocolError(f"{type(frame).__name__} can not come in the phase {self._phase}")
        data = encode_session_frame(frame)
        self._phase = phase
        return data

    def _encode_refusal(self, frame: Error) -> bytes:
        """An ERROR that ends nothing: DUPLICATE_ID leaves the request that has the id alone."""
        if frame.id != 0 and frame.code not in REFUSALS:
            raise LocalProtocolError(f"ERROR {frame.code} for request {frame.id}, which is not live")
        if not 0 <= frame.id <= MAX_ID:
            raise LocalProtocolError(f"request id {frame.id} is out of range")
        return encode_request_frame(frame)

    def _encode_for_request(self, frame: WireRequestFrame) -> bytes:
        exchange = self._live.get(frame.id)
        if exchange is None:
            raise LocalProtocolError(f"{type(frame).__name__} for request {frame.id}, which is not live")
        data = encode_request_frame(frame, extended=exchange.extended)
        try:
            exchange.advance(frame)
        except RequestFault as fault:
            raise LocalProtocolError(f"request {frame.id}: {fault.detail}") from None
        if exchange.finished:
            del self._live[frame.id]
        return data
