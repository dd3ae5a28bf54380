"""A service and everything around it, over an engine that a test plays by hand."""

from __future__ import annotations

import asyncio

from dragoman.core.request import Conversation, Generate, Message, Role, TextPart, TextPrompt
from dragoman.core.results import ModelCard
from dragoman.dialects.base import Dialect
from dragoman.serving.service import Service
from support.hand_engine import HandEngine
from support.observers import Diary
from support.tag_dialect import TagDialect

CHAT = Conversation(messages=(Message(role=Role.USER, parts=(TextPart(text="hi"),)),))
RAW = TextPrompt(text="Once")


class Stage:
    """A service and everything around it."""

    def __init__(self, engine: HandEngine | None = None, dialect: Dialect | None = None, **options) -> None:
        self.engine = engine or HandEngine()
        self.diary = Diary()
        self.service = Service(
            engine=self.engine,
            dialect=dialect or TagDialect(),
            card=ModelCard(id="small", created=1, context_length=0),
            clock=asyncio.get_running_loop().time,
            observer=self.diary,
            **options,
        )

    def begin(self, operation: Generate | None = None, surface: str = "chat"):
        return asyncio.create_task(
            self.service.generate(operation or Generate(prompt=CHAT), surface=surface, isolation="key")
        )

    async def running(self, operation: Generate | None = None):
        """A generation that was accepted, and its stream in the engine."""
        task = self.begin(operation)
        stream = await self.engine.next_stream()
        stream.accept()
        return await task, stream
