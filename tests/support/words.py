"""A vocabulary that is a list of pieces, tokenised greedily by the longest that fits. The last token ends an answer."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.request import TextPrompt


class Words:
    """Implements ``engines.backend.Vocabulary``. ``size`` may be more than there are pieces: the others are empty."""

    def __init__(self, pieces: Sequence[str], size: int | None = None) -> None:
        self._pieces = [piece.encode() for piece in pieces]
        self.size = size or len(pieces)
        self.end_tokens = frozenset({self.size - 1})

    def tokenize(self, prompt: TextPrompt) -> list[int]:
        rest = prompt.text.encode()
        found = []
        while rest:
            piece = max((piece for piece in self._pieces if piece and rest.startswith(piece)), key=len)
            found.append(self._pieces.index(piece))
            rest = rest[len(piece) :]
        return found

    def piece(self, token: int) -> bytes:
        return self._pieces[token] if token < len(self._pieces) else b""

    def is_control(self, token: int) -> bool:
        return token in self.end_tokens

    def ends(self, token: int) -> bool:
        return token in self.end_tokens
