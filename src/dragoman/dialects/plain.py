"""The family that has no language: text in, text out. The baseline that every other dialect is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from dragoman.core.errors import Code, Unsupported
from dragoman.core.request import Conversation, OutputFormat, TextPrompt
from dragoman.dialects.base import Channel, ModelTraits, Piece


class VisibleText:
    """Shows all that the model writes, except control tokens: those are signs to programs, not text."""

    def feed(self, text: str, *, special: bool) -> Sequence[Piece]:
        """All text is the client's to read, and no control token is text."""
        return (Piece(Channel.HIDDEN if special else Channel.TEXT, text),)

    def finish(self) -> Sequence[Piece]:
        """Nothing is ever held back."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainDialect:
    """For raw prompts. Chats are refused by name, since no one knows how this model was taught to take turns."""

    name: str = "plain"
    stops: tuple[str, ...] = ()

    def render(self, conversation: Conversation) -> NoReturn:  # noqa: ARG002 -- refused unread
        """Always raises ``Unsupported``."""
        raise Unsupported(
            "this model has no chat template, so it cannot take messages; send it a raw prompt instead",
            code=Code.UNSUPPORTED_VALUE,
            feature="messages",
        )

    def ignores(self, conversation: Conversation) -> tuple[str, ...]:  # noqa: ARG002 -- nothing is ever rendered
        """Nothing: what can not be rendered is refused."""
        return ()

    def grammar(
        self,
        conversation: Conversation,
        prompt: TextPrompt,
        output: OutputFormat | None,
    ) -> None:
        """Nothing: a conversation is refused before its answer is held to anything."""

    def parser(self, conversation: Conversation, prompt: TextPrompt) -> VisibleText:  # noqa: ARG002 -- the same for all
        """A new parser for one answer."""
        return VisibleText()


def build(traits: ModelTraits) -> PlainDialect:  # noqa: ARG001 -- the shape of every builder
    """The same dialect for every model."""
    return PlainDialect()
