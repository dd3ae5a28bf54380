"""What a model family must answer: how its prompt is written, and how its output is read. Pure.

``render`` and a parser's ``feed`` do no I/O and keep nothing between requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from dragoman.core.request import Conversation, TextPrompt


class OutputParser(Protocol):
    """Reads one answer as it grows. For every split of the same output, the joined results are equal."""

    def feed(self, text: str, *, special: bool) -> str:
        """Take output and return what the client may see of it. ``special``: the text of one control token."""
        ...

    def finish(self) -> str:
        """The output has ended; return what was held back."""
        ...


class Dialect(Protocol):
    """One model family's language."""

    @property
    def name(self) -> str:
        """The registry's key."""
        ...

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end a turn even when the model writes them as plain tokens; never shown (S28)."""
        ...

    def render(self, conversation: Conversation) -> TextPrompt:
        """Write the prompt; client text is covered by ``plain`` spans. Raises ``InvalidRequest``, naming the message."""
        ...

    def parser(self) -> OutputParser:
        """A new parser for one answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraits:
    """What is known of a model before its first prompt, and all that a dialect is built from.

    ``specials`` are the texts of its control tokens, those that an engine recognises outside ``plain`` spans. ``clock`` tells the
    local time to templates that date their prompt.
    """

    template: str | None
    specials: tuple[str, ...]
    bos_token: str
    eos_token: str
    clock: Callable[[], datetime]
