"""``dragoman chat``: a conversation in the terminal, with a running server or with an engine of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

import typer
from rich.console import Console
from rich.text import Text

from dragoman.cli.parameters import LOCAL, with_settings
from dragoman.cli.remote import RemoteFailed, ask
from dragoman.cli.terminal import failing, loading, logged, warn
from dragoman.compose import api_keys, open_backend
from dragoman.core.errors import ServiceError
from dragoman.core.events import TextDelta
from dragoman.core.request import Conversation, Generate, Message, OutputLimits, Role, SamplingParams, TextPart
from dragoman.serving.service import Service
from dragoman.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The conversation so far, and how its next turn should be."""

    messages: tuple[Message, ...]
    limits: OutputLimits
    sampling: SamplingParams


Talk: TypeAlias = Callable[[Question, Callable[[str], None]], None]
"""Answers, handing over the text as it comes. Raises ``ServiceError`` or ``RemoteFailed``."""

LEAVE: Final = frozenset({"/exit", "/quit", "/bye"})


@with_settings(groups=LOCAL, also=("api_keys",))
def chat(
    settings: Settings,
    *,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Answer this and end.")] = None,
    system: Annotated[str | None, typer.Option(help="System prompt.")] = None,
    url: Annotated[str | None, typer.Option(help="Server to talk to; without one, an engine is started here.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest answer, in tokens.")] = None,
    temperature: Annotated[float, typer.Option(min=0.0, max=2.0, help="0 always takes the likeliest token.")] = 0.7,
) -> None:
    """Talk to a model in the terminal."""
    console = Console(soft_wrap=True, highlight=False)
    history = [] if system is None else [_message(Role.SYSTEM, system)]
    limits, sampling = OutputLimits(max_tokens=max_tokens), SamplingParams(temperature=temperature)
    with failing(), logged(settings, quiet=True), _talker(settings, url) as talk:

        def turn(text: str) -> None:
            history.append(_message(Role.USER, text))
            parts: list[str] = []

            def write(piece: str) -> None:
                parts.append(piece)
                console.print(Text(piece), end="")

            try:
                talk(Question(messages=tuple(history), limits=limits, sampling=sampling), write)
            finally:
                console.print()
                history.append(_message(Role.ASSISTANT, "".join(parts)))

        if message is not None:
            turn(message)
        else:
            _converse(console, turn)


def _converse(console: Console, turn: Callable[[str], None]) -> None:
    """Read and answer until the end of input. An error ends its turn, Ctrl-C the answer, and nothing else."""
    console.print(Text("Ctrl-D or /exit ends, Ctrl-C stops an answer.", style="dim"))
    while True:
        try:
            text = console.input("[bold cyan]> [/]").strip()
        except (EOFError, KeyboardInterrupt):
            console.print()
            return
        if text in LEAVE:
            return
        if not text:
            continue
        try:
            turn(text)
        except KeyboardInterrupt:
            console.print(Text("(stopped)", style="dim"))
        except (ServiceError, RemoteFailed) as error:
            console.print(Text(str(error), style="red"))


@contextmanager
def _talker(settings: Settings, url: str | None) -> Iterator[Talk]:
    """A way to ask: the server at ``url``, or an engine that lives as long as the conversation."""
    if url is not None:
        keys = api_keys(settings)
        yield lambda *question: _ask(url, keys[0] if keys else None, settings.model_name, *question)
        return
    with asyncio.Runner() as runner:
        errors = Console(stderr=True, soft_wrap=True, highlight=False)
        with loading(errors) as progress:
            backend = runner.run(open_backend(settings, on_progress=progress))
        warn(errors, backend.findings)
        try:
            yield lambda *question: runner.run(_generate(backend.service, *question))
        finally:
            runner.run(backend.close())


async def _generate(service: Service, question: Question, write: Callable[[str], None]) -> None:
    operation = Generate(
        prompt=Conversation(messages=question.messages), sampling=question.sampling, limits=question.limits
    )
    generation = await service.generate(operation, surface="chat", isolation="")
    try:
        async for event in generation:
            if isinstance(event, TextDelta):
                write(event.text)
    finally:
        await generation.aclose()


def _ask(url: str, key: str | None, model: str | None, question: Question, write: Callable[[str], None]) -> None:
    body: dict[str, object] = {
        "messages": [{"role": message.role.value, "content": message.text} for message in question.messages],
        "temperature": question.sampling.temperature,
    }
    if question.limits.max_tokens is not None:
        body["max_tokens"] = question.limits.max_tokens
    if model is not None:
        body["model"] = model
    for text in ask(url, body, key=key):
        write(text)


def _message(role: Role, text: str) -> Message:
    return Message(role=role, parts=(TextPart(text=text),))
