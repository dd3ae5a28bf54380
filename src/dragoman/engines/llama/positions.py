"""Where a token stands in llama.cpp's cache: at its own index, but for what follows a picture of a model with M-RoPE.

Such a model gives the tokens of a picture places in a plane, and what follows goes on after the longer side of it: the text after
64 tokens of an 8 by 8 picture is at 8, not at 64 (Wang et al., Qwen2-VL, 2024).
"""

from __future__ import annotations


class Positions:
    """Pictures that are in cache sequences, as (index after it, tokens that have no position of their own) in order."""

    def __init__(self) -> None:
        self._saved: dict[int, list[tuple[int, int]]] = {}

    def of(self, seq_id: int, index: int) -> int:
        """The position of the token at ``index``, which is in no picture."""
        return index - sum(saved for end, saved in self._saved.get(seq_id, ()) if end <= index)

    def add(self, seq_id: int, end: int, saved: int) -> None:
        """A picture was computed, ``end`` is the index after it."""
        if saved:
            self._saved.setdefault(seq_id, []).append((end, saved))

    def cut(self, seq_id: int, length: int) -> None:
        """Keep the first ``length`` tokens."""
        if seq_id in self._saved:
            self._saved[seq_id] = [picture for picture in self._saved[seq_id] if picture[0] <= length]

    def copy(self, source: int, target: int, length: int) -> None:
        """``target`` holds the first ``length`` tokens of ``source``."""
        self._saved[target] = list(self._saved.get(source, ()))
        self.cut(target, length)
