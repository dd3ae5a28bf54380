"""A dialect small enough to read: ``[role]text`` per message, and control tokens shown as nothing."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import Conversation, OutputFormat, TextPrompt
from dragoman.dialects.base import Channel, Piece


class TagParser:
    def feed(self, text: str, *, special: bool) -> Sequence[Piece]:
        return (Piece(Channel.HIDDEN if special else Channel.TEXT, text),)

    def finish(self) -> Sequence[Piece]:
        return ()


class TagDialect:
    name = "tags"
    stops: tuple[str, ...] = ("[end]",)

    def render(self, conversation: Conversation) -> TextPrompt:
        text, plain = "", []
        for message in conversation.messages:
            if message.role == "tool":
                raise InvalidRequest("no tools", code=Code.TEMPLATE_FAILED, param="messages.0")
            text += f"[{message.role}]"
            plain.append((len(text), len(text) + len(message.text)))
            text += message.text
        return TextPrompt(text=text, plain=tuple(plain), add_special=False)

    def ignores(self, conversation: Conversation) -> tuple[str, ...]:
        return ()

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        """Nothing is constrained yet."""
        return None

    def parser(self, conversation: Conversation, prompt: TextPrompt) -> TagParser:
        return TagParser()
