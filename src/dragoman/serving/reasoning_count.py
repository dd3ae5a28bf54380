"""How many tokens of an answer were spent on reasoning (S52): its text, and the tags around it.

Pieces are noted with the number of the token that decided them. A token that is reasoning only in part counts.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import Channel

_TEXT: Final = Channel.TEXT  # looking a member up in its enum takes as long as all of ``note``


class ReasoningCount:
    """Told of each piece in order. The syntax before reasoning counts, and behind it the first piece: the end tag."""

    __slots__ = ("_counted", "_inside", "_seen", "_since", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self._seen = 0  # the last token that is known to be text or reasoning
        self._counted = 0  # the last token that was counted
        self._since = 0  # the first token of syntax that reasoning may follow; 0 where there is none
        self._inside = False

    def note(self, channel: Channel, token: int) -> None:
        """A piece of ``channel`` is decided; ``token`` is the number of the newest token, from 1."""
        if channel is _TEXT:  # first and without a ``match``, since nearly every token comes here
            self._seen = token
            self._since = 0
            self._inside = False
        elif channel is Channel.REASONING:
            self._count(self._since or min(self._seen + 1, token), token)
            self._inside = True
        elif self._inside:
            self._count(min(self._seen + 1, token), token)
            self._inside = False
        else:
            self._since = self._since or min(self._seen + 1, token)

    def _count(self, first: int, last: int) -> None:
        self.tokens += last - max(first - 1, self._counted)
        self._counted = self._seen = last
        self._since = 0
