"""An engine that a test plays by hand, frame by frame, and that remembers what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dragoman.core.errors import Cancelled, Code, ServiceError
from dragoman.core.request import TextPrompt
from dragoman.engines.base import EngineImage, EngineInfo, EngineOutput, EngineRequest, SpecialToken
from dragoman.protocol.frames import Accept, Data, Done, Echo, Numeric

FEATURES = frozenset(
    {"ids", "seed", "top_k", "min_p", "tokenize", "special", "logprobs", "echo", "processors", "stop_ids", "ignore_eos"}
)
END = SpecialToken(id=2, text="<|end|>")


def info(*, slots: int = 2, features: frozenset[str] = FEATURES, context_length: int = 512) -> EngineInfo:
    return EngineInfo(
        model="hand",
        context_length=context_length,
        vocabulary_size=1000,
        slots=slots,
        special_tokens=(END,),
        features=features,
        fingerprint="fp_hand",
    )


class HandStream:
    """One request. ``holds``: it is released only by ``let_go``, as with an engine that takes its time to cancel."""

    def __init__(self, request: EngineRequest, *, holds: bool) -> None:
        self.request = request
        self.stopped = False
        self.cancelled = False
        self.closing = asyncio.Event()
        self._frames: asyncio.Queue[EngineOutput | ServiceError | None] = asyncio.Queue()
        self._released = asyncio.Event()
        self._holds = holds

    # --- what the test plays ---

    def accept(self, prompt_tokens: int = 7, cached_tokens: int = 0) -> None:
        self._frames.put_nowait(Accept(1, prompt_tokens, cached_tokens))

    def say(self, *texts: str | bytes, token: int = 100) -> None:
        for text in texts:
            self._frames.put_nowait(Data(1, text.encode() if isinstance(text, str) else text, None, token))

    def echo(self, *pieces: str | bytes, logprob: float = -1.0) -> None:
        """The prompt, read out: one position a piece; its code point is its id if it has just one."""
        for position, piece in enumerate(pieces):
            payload = piece.encode() if isinstance(piece, str) else piece
            token = ord(piece) if isinstance(piece, str) and len(piece) == 1 else 500 + position
            numeric = Numeric(logprob if position else float("nan"))
            self._frames.put_nowait(Echo(1, position, payload, numeric, token))

    def done(self, emitted: int, *, length_limited: bool = False) -> None:
        self.put(
            Done(
                id=1,
                emitted=emitted,
                tokens_per_second=1.0,
                hit_percent=0.0,
                rss_gb=0.0,
                prompt_tokens=7,
                length_limited=length_limited,
            )
        )
        self._frames.put_nowait(None)
        self._released.set()

    def put(self, frame: EngineOutput) -> None:
        self._frames.put_nowait(frame)

    def fail(self, error: ServiceError) -> None:
        self._frames.put_nowait(error)
        self._released.set()

    def end_without_done(self) -> None:
        self._frames.put_nowait(None)

    def let_go(self) -> None:
        self._released.set()

    # --- EngineStream ---

    def __aiter__(self) -> AsyncIterator[EngineOutput]:
        return self

    async def __anext__(self) -> EngineOutput:
        frame = await self._frames.get()
        if frame is None:
            raise StopAsyncIteration
        if isinstance(frame, ServiceError):
            raise frame
        return frame

    async def stop(self) -> None:
        self.stopped = True

    async def aclose(self) -> None:
        if self._released.is_set():
            return
        self.cancelled = True
        self.closing.set()
        self._frames.put_nowait(Cancelled("cancelled", code=Code.CANCELLED))
        if not self._holds:
            self._released.set()
        await self._released.wait()


class HandEngine:
    """An ``Engine``; ``await next_stream()`` for the next request that was submitted."""

    def __init__(self, *, engine_info: EngineInfo | None = None, holds: bool = False) -> None:
        self.info = engine_info or info()
        self.status = "ready"
        self.failure: str | None = None
        self.holds = holds
        self.submitted: list[HandStream] = []
        self.refuse: ServiceError | None = None
        self.tokenized: list[TextPrompt] = []
        self._arrivals: asyncio.Queue[HandStream] = asyncio.Queue()

    async def next_stream(self) -> HandStream:
        return await self._arrivals.get()

    async def start(self) -> None:
        return

    async def submit(self, request: EngineRequest) -> HandStream:
        if self.refuse is not None:
            raise self.refuse
        stream = HandStream(request, holds=self.holds)
        self.submitted.append(stream)
        self._arrivals.put_nowait(stream)
        return stream

    async def tokenize(self, prompt: TextPrompt, images: tuple[EngineImage, ...] = ()) -> tuple[int, ...]:
        """One token a character: its code point. A picture is one position."""
        self.tokenized.append(prompt)
        tokens = list(map(ord, prompt.text))
        for place, _ in reversed(prompt.images[: len(images)]):
            tokens.insert(place, self.info.vocabulary_size)
        return tuple(tokens)

    async def detokenize(self, ids: tuple[int, ...], *, special: bool = True) -> tuple[bytes, ...]:
        return tuple(b"" if token == END.id and not special else chr(token).encode() for token in ids)

    async def aclose(self) -> None:
        return
