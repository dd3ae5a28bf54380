"""Where a request meets the model: check, render, admit, submit, and hand back an answer that has begun.

Nothing of an answer is promised before the engine accepts: ``generate`` either raises, or returns a ``Generation`` whose
first event is ``Accepted`` (S116). Checks and rendering come before the queue, so that what is wrong is said at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Final, Literal

from dragoman.core.errors import Code, EngineFailed, NotFound, Overloaded, Unsupported
from dragoman.core.events import Accepted
from dragoman.core.observer import NullObserver, Observer
from dragoman.core.request import Conversation, Detokenize, FillIn, Generate, Prompt, PromptBatch, Tokenize
from dragoman.core.results import Detokenized, ModelCard, Tokenized
from dragoman.dialects.base import Dialect
from dragoman.engines.base import Engine, EngineInfo, EngineOutput, EngineRequest, EngineStream
from dragoman.protocol.frames import Accept
from dragoman.serving import capabilities
from dragoman.serving.answer import AnswerReader, RawText
from dragoman.serving.gate import RETRY_AFTER, Gate
from dragoman.serving.generation import Generation
from dragoman.serving.lease import Lease, Tally

MAX_QUEUE: Final = 8
QUEUE_TIMEOUT: Final = 300.0
"""Waiting requests, and the seconds that one waits at most (S128)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the server is, and what it has done since its start (S11). ``cause`` says why it is not ``ok``."""

    status: Literal["loading", "ok", "error"]
    cause: str | None = None
    active: int = 0
    queued: int = 0
    completed: int = 0
    rejected: int = 0
    failed: int = 0


class Service:
    """Answers operations with one engine that serves one model.

    ``card`` names the model; requests may also use an alias, or no name. ``clock`` gives monotonic seconds.
    """

    def __init__(  # noqa: PLR0913 - each is one seam, and compose names them all
        self,
        *,
        engine: Engine,
        dialect: Dialect,
        card: ModelCard,
        clock: Callable[[], float],
        aliases: tuple[str, ...] = (),
        max_queue: int = MAX_QUEUE,
        queue_timeout: float = QUEUE_TIMEOUT,
        observer: Observer | None = None,
    ) -> None:
        self._engine = engine
        self._dialect = dialect
        self._card = card
        self._names = (card.id, *aliases)
        self._clock = clock
        self._max_queue = max_queue
        self._queue_timeout = queue_timeout
        self._observer = observer or NullObserver()
        self._gate: Gate | None = None
        self._tally = Tally()
        self._draining = False
        self._tasks: set[asyncio.Task[None]] = set()

    # --- generation ------------------------------------------------------------------------------------------------

    async def generate(self, operation: Generate, *, surface: str, isolation: str) -> Generation:
        """Start an answer; returns when the engine has accepted it. Raises ``ServiceError`` before that.

        Cancelling the call cancels the request, in the queue as in the engine. ``isolation`` keeps callers from sharing
        cached prefixes.
        """
        info = self._ready(operation.model)
        prompt = self._render(operation.prompt)
        capabilities.check(operation, prompt, info)
        gate = self._open_gate(info)
        lease = Lease(
            gate=gate,
            admitted=await gate.enter(operation.cache_slot),
            surface=surface,
            tally=self._tally,
            clock=self._clock,
            observer=self._observer,
        )
        stream: EngineStream | None = None
        try:
            stream = await self._engine.submit(self._request(operation, prompt, info, lease.slot, isolation))
            outputs = aiter(stream)
            accepted = await _first(outputs)
        except asyncio.CancelledError:
            lease.cancelled()
            self._spawn(_release(stream, lease, "cancelled"))
            raise
        except BaseException:
            self._spawn(_release(stream, lease, "failed"))
            raise
        lease.accepted(accepted)
        return Generation(
            stream=stream,
            outputs=outputs,
            accepted=accepted,
            reader=self._reader(operation, info),
            lease=lease,
            spawn=self._spawn,
        )

    def _render(self, prompt: Conversation | FillIn | PromptBatch | Prompt) -> Prompt:
        assert not isinstance(prompt, FillIn | PromptBatch)  # no surface makes them yet
        return self._dialect.render(prompt) if isinstance(prompt, Conversation) else prompt

    def _request(
        self, operation: Generate, prompt: Prompt, info: EngineInfo, slot: int, isolation: str
    ) -> EngineRequest:
        ceiling = operation.limits.max_tokens
        return EngineRequest(
            prompt=prompt,
            max_tokens=info.context_length if ceiling is None else ceiling,
            sampling=operation.sampling,
            ignore_eos=operation.limits.ignore_eos,
            slot=slot,
            isolation=isolation,
        )

    def _reader(self, operation: Generate, info: EngineInfo) -> AnswerReader:
        chat = isinstance(operation.prompt, Conversation)
        return AnswerReader(
            parser=self._dialect.parser() if chat else RawText(),
            special_tokens=frozenset(token.id for token in info.special_tokens),
            stops=operation.limits.stop,
            markers=self._dialect.stops if chat else (),
        )

    # --- tokens ----------------------------------------------------------------------------------------------------

    async def tokenize(self, operation: Tokenize) -> Tokenized:
        """Tokens of a text; of a conversation, those that ``generate`` would report. Raises ``ServiceError``."""
        info = self._ready(operation.model)
        self._need_tokenizer(info)
        source = operation.source
        prompt = self._dialect.render(source) if isinstance(source, Conversation) else source
        capabilities.check_text(prompt, info)
        ids = await self._engine.tokenize(prompt)
        strs = None
        if operation.return_token_strs:
            pieces = await self._engine.detokenize(ids)
            strs = tuple(piece.decode(errors="replace") for piece in pieces)
        return Tokenized(ids=ids, context_length=info.context_length, strs=strs)

    async def detokenize(self, operation: Detokenize) -> Detokenized:
        """Text of some tokens. Raises ``ServiceError``."""
        info = self._ready(operation.model)
        self._need_tokenizer(info)
        pieces = await self._engine.detokenize(operation.ids, special=not operation.skip_special_tokens)
        return Detokenized(text=b"".join(pieces).decode(errors="replace"))

    def _need_tokenizer(self, info: EngineInfo) -> None:
        if "tokenize" not in info.features:
            raise Unsupported(
                f"the engine of {info.model} does not offer its tokenizer", code=Code.UNSUPPORTED_VALUE, feature="model"
            )

    # --- the model, and how the server is --------------------------------------------------------------------------

    def models(self) -> tuple[ModelCard, ...]:
        """The names that requests may use, the model's own first."""
        return tuple(self.card(name) for name in self._names)

    def card(self, name: str | None = None) -> ModelCard:
        """The model under one of its names; its own for None. Raises ``NotFound``, param ``model`` (S9)."""
        if name is None:
            name = self._card.id
        if name not in self._names:
            raise NotFound(
                f"the model {name!r} is not served here; {self._card.id!r} is", code=Code.MODEL_NOT_FOUND, param="model"
            )
        card = replace(self._card, id=name)
        if self._engine.status != "ready":
            return card
        return replace(card, context_length=self._engine.info.context_length)

    @property
    def fingerprint(self) -> str | None:
        """What determines the model's numbers; None until it is known."""
        return (self._engine.info.fingerprint or None) if self._engine.status == "ready" else None

    def health(self) -> Health:
        """A snapshot that costs nothing: it asks neither the engine nor for a slot (S145)."""
        gate = self._gate
        status, cause = self._condition()
        return Health(
            status=status,
            cause=cause,
            active=gate.active if gate else 0,
            queued=gate.queued if gate else 0,
            completed=self._tally.completed,
            rejected=gate.rejected if gate else 0,
            failed=self._tally.failed,
        )

    def _condition(self) -> tuple[Literal["loading", "ok", "error"], str | None]:
        if self._draining:
            return "error", "the server is shutting down"
        match self._engine.status:
            case "ready":
                return "ok", None
            case "loading":
                return "loading", self._engine.failure
            case _:
                return "error", self._engine.failure

    # --- the end ---------------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Take no more generations: those that come or wait get ``shutting_down``; those that run may finish."""
        self._draining = True
        if self._gate is not None:
            self._gate.close()

    async def aclose(self) -> None:
        """Drain, and wait for the engine's last word on every request that was cancelled or cut."""
        self.drain()
        while self._tasks:
            await asyncio.wait(self._tasks)

    # --- shared ----------------------------------------------------------------------------------------------------

    def _ready(self, model: str | None) -> EngineInfo:
        """The engine's description. Raises ``NotFound`` for another model, ``ServiceError`` when nothing can be done now."""
        self.card(model)
        if self._draining:
            raise Overloaded("the server is shutting down", code=Code.SHUTTING_DOWN, retry_after=RETRY_AFTER)
        if self._engine.status == "failed":
            raise EngineFailed(
                f"the engine is not running: {self._engine.failure or 'unknown cause'}", code=Code.ENGINE_CRASHED
            )
        return self._engine.info  # known since the first load: a request may wait for an engine that is coming back

    def _open_gate(self, info: EngineInfo) -> Gate:
        """The queue exists once the number of slots is known."""
        if self._gate is None:
            self._observer.configured(slots=info.slots)
            self._gate = Gate(
                slots=info.slots,
                max_queue=self._max_queue,
                queue_timeout=self._queue_timeout,
                clock=self._clock,
                observer=self._observer,
            )
        return self._gate

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _first(outputs: AsyncIterator[EngineOutput]) -> Accepted:
    """Wait for the engine's Accept, however long the engine takes: its client keeps the deadlines (seeds.md 1.0.1)."""
    try:
        first = await anext(outputs)
    except StopAsyncIteration:
        raise EngineFailed("the engine ended the request without a word", code=Code.ENGINE_PROTOCOL) from None
    if not isinstance(first, Accept):
        raise EngineFailed("the engine began to answer before it accepted", code=Code.ENGINE_PROTOCOL)
    return Accepted(prompt_tokens=first.prompt_tokens, cached_tokens=first.cached_tokens)


async def _release(stream: EngineStream | None, lease: Lease, outcome: Literal["failed", "cancelled"]) -> None:
    """The request ended before it was accepted; its slot is free when the engine has let go of it."""
    try:
        if stream is not None:
            await stream.aclose()
    finally:
        lease.end(outcome)
