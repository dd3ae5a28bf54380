"""How much the store keeps, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DAY: Final = 86_400.0
"""In seconds, as all times here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """Whichever is reached first makes the longest unused go.

    ``max_responses`` counts conversations, too. ``max_bytes`` are those of the documents, with a little for each row
    (``tables.ROW_BYTES``); a database takes some more, and a file does not shrink, it uses its free pages again. ``max_age`` is the time
    since the last use. ``reply_window`` is how long a retry under the same idempotency key gets the same reply.
    """

    max_responses: int = 10_000
    """What one person makes in months; finding the oldest of them takes no time."""

    max_bytes: int = 1 << 30
    """A hundred kilobytes for each of them; a small disk has this to spare."""

    max_age: float = 30 * DAY
    """As long as OpenAI keeps a response."""

    reply_window: float = DAY
    """Nobody retries a request of yesterday; the services that document a window have a day, too."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a limit that keeps nothing."""
        if min(self.max_responses, self.max_bytes, self.max_age, self.reply_window) <= 0:
            raise ValueError("a limit of the store must be above zero")
