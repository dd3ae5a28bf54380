"""A model that needs no weights: the logits after a history are a hash of that history. Implements ``engines.backend.Backend``.

So every answer has one right value, which a test computes by itself, and a cache that was cut, copied or filled wrongly gives
another one. Tokens 0 to 255 are bytes, ``END`` ends an answer. After a full stop ``END`` is the likeliest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dragoman.core.request import TextPrompt
from dragoman.engines.backend import Computed, Grammars
from dragoman.engines.eyes import Eyes
from dragoman.scheduler.plan import Copy, Cut, Run

END = 256
SIZE = 257
END_TEXT = "<end>"
PATIENCE = 20.0
"""Seconds after which whoever waits here has failed."""


def logits_after(history: Sequence[int]) -> NDArray[np.float32]:
    """What the model says after ``history``."""
    # A picture's number is as long as a hash, and negative.
    digest = crc32(b"".join(token.to_bytes(2 if token >= 0 else 33, "little", signed=token < 0) for token in history))
    row = np.random.default_rng(digest).normal(scale=3.0, size=SIZE).astype(np.float32)
    row[END] = 30.0 if history[-1] == ord(".") else -30.0
    return row


def log_probabilities(history: Sequence[int]) -> NDArray[np.float64]:
    """Of every next token, in nats."""
    row = logits_after(history).astype(np.float64)
    result: NDArray[np.float64] = row - np.log(np.exp(row).sum())
    return result


def continuation(prompt: Sequence[int], count: int) -> list[int]:
    """The greedy answer: at most ``count`` tokens, the last one ``END`` if it ends by itself."""
    history = list(prompt)
    while len(history) < len(prompt) + count and (len(history) == len(prompt) or history[-1] != END):
        history.append(int(logits_after(history).argmax()))
    return history[len(prompt) :]


class ByteVocabulary:
    """Bytes, and one control token."""

    size = SIZE
    end_tokens = frozenset({END})

    def tokenize(self, prompt: TextPrompt) -> list[int]:
        if not prompt.parse_special or prompt.plain:
            return list(prompt.text.encode())
        first, *rest = prompt.text.split(END_TEXT)
        return [*first.encode(), *(token for part in rest for token in (END, *part.encode()))]

    def piece(self, token: int) -> bytes:
        return END_TEXT.encode() if token == END else bytes([token])

    def is_control(self, token: int) -> bool:
        return token == END

    def ends(self, token: int) -> bool:
        return token == END


class HashBackend:
    """``cells`` bounds the tokens of all sequences. ``paced``: each step waits for ``permit``, or for an interrupt.

    ``entered`` gets the runs of each step as it begins. After the token ``broken`` the logits are not numbers.
    """

    def __init__(
        self,
        *,
        context: int = 512,
        cells: int | None = None,
        paced: bool = False,
        broken: int | None = None,
        grammars: Grammars | None = None,
        eyes: Eyes | None = None,
    ) -> None:
        self.context = context
        self._eyes = eyes
        self._grammars = grammars
        self.vocabulary = ByteVocabulary()
        self.entered: SimpleQueue[tuple[Run, ...]] = SimpleQueue()
        self.full = 0
        self._cells = cells
        self._paced = paced
        self._broken = broken
        self._held: dict[int, list[int]] = {}
        self._changed = threading.Condition()
        self._permits = 0
        self._interrupted = False

    # --- for the worker ---

    @property
    def grammars(self) -> Grammars:
        assert self._grammars is not None, "this test has no compiler of grammars"
        return self._grammars

    @property
    def eyes(self) -> Eyes | None:
        return self._eyes

    def edit(self, edits: Iterable[Cut | Copy]) -> None:
        for edit in edits:
            match edit:
                case Cut(seq_id, length):
                    del self._held.get(seq_id, [])[length:]
                case Copy(source, target, length):
                    self._held[target] = self._held[source][:length]

    def groups(self, runs: tuple[Run, ...]) -> list[tuple[Run, ...]]:
        return [runs] if runs else []

    def compute(self, runs: tuple[Run, ...], working: Callable[[], None]) -> Computed:
        self.entered.put(runs)
        if any(run.content is not None for run in runs):
            working()
        none = np.empty((0, SIZE), np.float32)
        wanted = sum(len(run.tokens) for run in runs)
        if self._cells is not None and sum(map(len, self._held.values())) + wanted > self._cells:
            self.full += 1
            return Computed("full", none)
        if not self._may_go_on():
            for run in runs:  # llama.cpp leaves a part of an interrupted step in its cache
                self._held.setdefault(run.seq_id, []).extend(run.tokens[: len(run.tokens) // 2])
            return Computed("interrupted", none)
        rows = [row for run in runs for row in self._run(run)]
        return Computed("done", np.array(rows) if rows else none)

    def interrupt(self) -> None:
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

    def resume(self) -> None:
        with self._changed:
            self._interrupted = False

    # --- for the test ---

    def permit(self, steps: int = 1) -> None:
        """Let so many more steps be computed."""
        with self._changed:
            self._permits += steps
            self._changed.notify_all()

    # --- inside ---

    def _may_go_on(self) -> bool:
        if not self._paced:
            return True
        with self._changed:
            assert self._changed.wait_for(lambda: self._permits or self._interrupted, PATIENCE), "no permit came"
            if self._interrupted:
                return False
            self._permits -= 1
            return True

    def _run(self, run: Run) -> list[NDArray[np.float32]]:
        held = self._held.setdefault(run.seq_id, [])
        assert len(held) == run.start, "a run does not start where its cache sequence ends"
        rows = []
        for index, token in enumerate(run.tokens, 1):
            held.append(token)
            if run.every or (run.last and index == len(run.tokens)):
                rows.append(logits_after(held) if token != self._broken else np.full(SIZE, np.nan, np.float32))
        return rows
