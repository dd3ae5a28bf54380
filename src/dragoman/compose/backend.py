"""A loaded model with the service over it: all of the server but HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dragoman.compose.engine_command import engine_argv
from dragoman.compose.failure import StartFailed
from dragoman.compose.llama_links import LlamaLinks, build_marker
from dragoman.compose.models import served_name
from dragoman.core.errors import EngineFailed
from dragoman.core.request import TextPrompt
from dragoman.core.results import ModelCard
from dragoman.diagnosis.checks import Finding
from dragoman.diagnosis.kernels import crashed_kernels
from dragoman.diagnosis.machine import read_machine
from dragoman.dialects.base import Dialect
from dragoman.dialects.registry import ENDS_OF_THOUGHT, dialect_for
from dragoman.engines.base import Engine, EngineInfo
from dragoman.engines.client import EngineClient, Patience
from dragoman.engines.link import Link, LinkFactory
from dragoman.engines.process import ProcessLink
from dragoman.metrics import Metrics
from dragoman.serving.service import Service
from dragoman.settings import Settings
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openai_completions import Completions
from dragoman.surfaces.responses import Responses

UNDESCRIBED_CONTEXT: Final = 4096
"""Tokens for a request on an engine that describes nothing, unless ``--context`` says better."""

ALIASES: Final = ("default",)
"""Names beside the model's own, for clients that must send one and know none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """``close`` must be awaited at the end; the engine runs until then. ``findings`` is what the operator should know."""

    engine: EngineClient
    service: Service
    metrics: Metrics
    findings: tuple[Finding, ...] = ()

    async def close(self) -> None:
        """Take no more requests, let those that run end, stop the engine."""
        self.service.drain()
        await self.engine.aclose()
        await self.service.aclose()


async def open_backend(
    settings: Settings, *, on_progress: Callable[[float, str], None] | None = None, links: LinkFactory | None = None
) -> Backend:
    """Start the engine and wait until its model is loaded. ``links`` replaces the engine that the settings choose.

    Raises ``StartFailed`` for what the operator can put right, ``EngineFailed`` when the engine cannot load.
    """

    def restarted() -> None:
        metrics.engine_restarted()  # made below: what has not been loaded cannot die and come back

    links = links or _links(settings)
    engine = await _load(settings, links, on_progress=on_progress, on_restart=restarted)
    try:
        card = _card(settings, engine.info)
        surfaces = (ChatCompletions.name, Completions.name, Messages.name, Responses.name)
        metrics = Metrics(max_queue=settings.max_queue, model=card.id, surfaces=surfaces)
        service = Service(
            engine=engine,
            dialect=await _dialect(settings, engine),
            card=card,
            aliases=ALIASES,
            clock=time.monotonic,
            max_queue=settings.max_queue,
            queue_timeout=settings.queue_timeout,
            observer=metrics,
        )
    except BaseException:
        await engine.aclose()
        raise
    slowed = isinstance(links, LlamaLinks) and links.safe
    findings = (crashed_kernels(read_machine()),) if slowed else ()
    return Backend(engine=engine, service=service, metrics=metrics, findings=findings)


async def _load(
    settings: Settings,
    links: LinkFactory,
    *,
    on_progress: Callable[[float, str], None] | None,
    on_restart: Callable[[], None],
) -> EngineClient:
    """An engine with its model. Where llama.cpp's fast kernels crash, it is loaded once more without them."""
    fallen_back = False
    while True:
        engine = EngineClient(
            links,
            defaults=_undescribed(settings),
            patience=Patience(drain=settings.drain_timeout),
            on_progress=on_progress,
            on_restart=on_restart,
        )
        try:
            await engine.start()
        except BaseException as error:
            await engine.aclose()
            if not (isinstance(error, EngineFailed) and isinstance(links, LlamaLinks) and links.fall_back()):
                raise
            fallen_back = True
            if on_progress is not None:
                on_progress(0.0, "loading again with safe kernels")
        else:
            if fallen_back and isinstance(links, LlamaLinks):
                links.remember()
            return engine


def _links(settings: Settings) -> LinkFactory:
    argv = engine_argv(settings)
    if settings.engine_command is None and settings.engine == "llama":
        return LlamaLinks(argv, marker=build_marker(settings.cache_dir))
    return _spawning(argv)


def _spawning(argv: tuple[str, ...]) -> LinkFactory:
    async def spawn() -> Link:
        return await ProcessLink.spawn(argv)

    return spawn


def _undescribed(settings: Settings) -> EngineInfo:
    """What is assumed of an engine that speaks the older protocol, which has no words for this."""
    return EngineInfo(
        model=served_name(settings),
        context_length=settings.context or UNDESCRIBED_CONTEXT,
        vocabulary_size=0,
        slots=settings.slots,
    )


def _card(settings: Settings, info: EngineInfo) -> ModelCard:
    return ModelCard(
        id=settings.model_name or info.model,
        created=int(time.time()),
        context_length=info.context_length,
        description=info.description,
    )


async def _dialect(settings: Settings, engine: EngineClient) -> Dialect:
    """The model's language. Raises ``StartFailed`` for a template or a name that cannot be used."""
    info = engine.info
    template, source = info.chat_template, "the model's chat template"
    if settings.chat_template is not None:
        source = f"the chat template {settings.chat_template}"
        try:
            template = settings.chat_template.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise StartFailed(f"{source} cannot be read: {reason}", hint="check --chat-template") from error
    try:
        return dialect_for(
            template=template,
            specials=tuple(token.text for token in info.special_tokens),
            special_ids={token.text: token.id for token in info.special_tokens},
            single_ids=await single_ids(engine),
            bos_token=info.bos_token,
            eos_token=info.eos_token,
            architecture=info.architecture,
            name=settings.dialect,
            strict_messages=settings.strict_messages,
            clock=_local_time,
        )
    except ValueError as error:
        hint = "give a working one with --chat-template, or leave templates aside with --dialect plain"
        raise StartFailed(f"{source} cannot be used: {error}", hint=hint) from error


async def single_ids(engine: Engine) -> dict[str, int]:
    """Those of the texts that a dialect may want to force that are one token of the model."""
    if "tokenize" not in engine.info.features:
        return {}
    found = {text: await engine.tokenize(TextPrompt(text=text, add_special=False)) for text in ENDS_OF_THOUGHT}
    return {text: ids[0] for text, ids in found.items() if len(ids) == 1}


def _local_time() -> datetime:
    """For templates that write today's date, which means the reader's."""
    return datetime.now(UTC).astimezone()
