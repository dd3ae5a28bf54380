"""Where a request meets the model: check, render, admit, submit, and hand back an answer that has begun.

Nothing of an answer is promised before the engine accepts: ``generate`` either raises, or returns a ``Generation`` whose
first event is ``Accepted`` (S116). Checks and rendering come before the queue, so that what is wrong is said at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from dragoman.core.errors import Code, EngineFailed, NotFound, Overloaded, Unsupported
from dragoman.core.events import PromptRead
from dragoman.core.observer import NullObserver, Observer
from dragoman.core.request import Conversation, Detokenize, FillIn, Generate, Prompt, TextPrompt, Tokenize
from dragoman.core.results import Detokenized, ModelCard, Tokenized
from dragoman.dialects.base import Dialect
from dragoman.engines.base import IMAGES, Engine, EngineInfo
from dragoman.serving import capabilities
from dragoman.serving.answer import AnswerReader, RawText
from dragoman.serving.best_of import BestOf
from dragoman.serving.choice import Choice, Desk, Reading, Released, begin
from dragoman.serving.constraint import grammar_for
from dragoman.serving.fanout import Fanout
from dragoman.serving.gate import RETRY_AFTER, Gate
from dragoman.serving.generation import Generation, Single
from dragoman.serving.lease import Lease, Tally
from dragoman.serving.parts import Part, parts_of, prompts_of
from dragoman.serving.pieces import Pieces
from dragoman.serving.pixels import Checked, PictureDecoder
from dragoman.serving.prompts import PromptView, view_of
from dragoman.serving.strict_calls import Signatures, StrictCalls

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
        self._pieces = Pieces(engine)
        self._pictures = PictureDecoder()
        self._gate: Gate | None = None
        self._tally = Tally()
        self._draining = False
        self._tasks: set[asyncio.Task[None]] = set()

    # --- generation ------------------------------------------------------------------------------------------------

    async def generate(
        self, operation: Generate, *, surface: str, isolation: str, queued: Callable[[], None] | None = None
    ) -> Generation:
        """Start an answer; returns when the engine has accepted it. Raises ``ServiceError`` before that.

        Cancelling the call cancels the request, in the queue as in the engine. ``isolation`` keeps callers from sharing
        cached prefixes. ``queued`` is called when nothing can be wrong with the request any more, and it has a slot or waits for one.
        """
        arrived = self._clock()
        info = self._ready(operation.model)
        capabilities.check_sight(operation.prompt, info)
        prompts = prompts_of(operation, self._dialect, info)
        capabilities.check(operation, prompts, info)
        grammar = grammar_for(operation, prompts[0], self._dialect, info)
        strict = self._strict(operation)
        checked = await self._pictures.check(prompts[0])  # a batch has none
        views = [await self._view(operation, prompt, checked) for prompt in prompts]
        parts = parts_of(operation, prompts, info, isolation, grammar)
        gate = self._open_gate(info)
        lease = Lease(
            gate=gate,
            admitted=await gate.enter(operation.cache_slot, queued=queued),
            surface=surface,
            arrived=arrived,
            tally=self._tally,
            clock=self._clock,
            observer=self._observer,
        )
        desk = Desk(engine=self._engine, info=info, pieces=self._pieces, spawn=self._spawn)

        async def start(part: Part, slot: int, read: PromptRead | None, released: Released) -> Choice:
            def reading() -> Reading:
                view = views[part.prompt] if read is None else replace(views[part.prompt], known=read)
                reader = self._reader(operation, part, info)
                return Reading(reader=reader, view=view, pace=lease.pace(), choice=part.choice, strict=strict())

            pixels = self._pictures.pixels(checked)
            return await begin(desk, replace(part.request, slot=slot), pixels, reading, released)

        repairs = prompts[0].repairs if isinstance(prompts[0], TextPrompt) else ()
        if len(parts) == 1:
            return await Single.start(partial(start, parts[0], lease.slot, None), lease, repairs)
        fanout = Fanout(
            parts=parts,
            begin=start,
            lease=lease,
            spawn=self._spawn,
            pinned=operation.cache_slot is not None,
            repairs=repairs,
        )
        await fanout.start()
        return BestOf(fanout, operation) if (operation.best_of or 0) > operation.n else fanout

    def unused(self, operation: Generate | Tokenize) -> tuple[str, ...]:
        """What the operation asks for and this model has no use for, in neutral words."""
        source = operation.prompt if isinstance(operation, Generate) else operation.source
        if not isinstance(source, Conversation):
            return ()
        unused = self._dialect.ignores(source)
        unbounded = source.thinking.budget is not None and "grammar" not in self._engine.info.features
        return tuple(dict.fromkeys((*unused, "thinking_budget"))) if unbounded else unused

    def _strict(self, operation: Generate) -> Callable[[], StrictCalls | None]:
        """What makes a watcher for each choice; the schemas are read once. Raises ``InvalidRequest`` for one that is none."""
        conversation = operation.prompt
        if not operation.strict_tool_calls or not isinstance(conversation, Conversation):
            return lambda: None
        return partial(StrictCalls, Signatures(conversation.tools))

    async def _view(self, operation: Generate, prompt: Prompt, checked: Checked) -> PromptView:
        gap = operation.prompt
        shown = gap.before.text if isinstance(gap, FillIn) else None
        tokenize = partial(self._ids, checked=checked)
        return await view_of(prompt, operation.readout, self._engine, shown=shown, tokenize=tokenize)

    def _reader(self, operation: Generate, part: Part, info: EngineInfo) -> AnswerReader:
        conversation, prompt = operation.prompt, part.request.prompt
        if isinstance(conversation, Conversation) and isinstance(prompt, TextPrompt):
            parser, markers = self._dialect.parser(conversation, prompt), self._dialect.stops
        else:
            parser, markers = RawText(), ()
        return AnswerReader(
            parser=parser,
            special_tokens=frozenset(token.id for token in info.special_tokens),
            limits=operation.limits,
            markers=markers,
            readout=replace(operation.readout, logprobs=part.request.logprobs),
            choice=part.choice,
        )

    # --- tokens ----------------------------------------------------------------------------------------------------

    async def tokenize(self, operation: Tokenize) -> Tokenized:
        """Tokens of a text; of a conversation, those that ``generate`` would report. Raises ``ServiceError``.

        Where a picture stands, each id is the number behind the last token's.
        """
        info = self._ready(operation.model)
        self._need_tokenizer(info)
        source = operation.source
        capabilities.check_sight(source, info)
        prompt = self._dialect.render(source) if isinstance(source, Conversation) else source
        capabilities.check_text(prompt, info)
        ids = await self._ids(prompt, await self._pictures.check(prompt))
        strs = await self._strs(ids, info) if operation.return_token_strs else None
        return Tokenized(ids=ids, context_length=info.context_length, strs=strs)

    async def _ids(self, prompt: TextPrompt, checked: Checked) -> tuple[int, ...]:
        pixels = self._pictures.pixels(checked)
        try:
            return await self._engine.tokenize(prompt, await pixels.decode())
        finally:
            pixels.release()

    async def _strs(self, ids: tuple[int, ...], info: EngineInfo) -> tuple[str, ...]:
        """The text of each token, empty for what is none."""
        tokens = tuple(token for token in ids if token < info.vocabulary_size)
        pieces = iter(await self._engine.detokenize(tokens))
        return tuple(next(pieces).decode(errors="replace") if token < info.vocabulary_size else "" for token in ids)

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
        info = self._engine.info
        return replace(
            card,
            context_length=info.context_length,
            input_modalities=("text", "image") if IMAGES in info.features else ("text",),
        )

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
        self._pictures.close()

    # --- shared ----------------------------------------------------------------------------------------------------

    def _ready(self, model: str | None) -> EngineInfo:
        """The engine's description. Raises ``NotFound`` for another model, ``ServiceError`` when nothing can be done now."""
        self.card(model)
        if self._draining:
            raise Overloaded("the server is shutting down", code=Code.SHUTTING_DOWN, retry_after=RETRY_AFTER)
        if self._engine.status == "failed":
            raise EngineFailed(
                f"the engine is not running: {self._engine.failure or 'unknown cause'}", code=Code.ENGINE_STOPPED
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
