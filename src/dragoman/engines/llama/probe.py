"""A loaded context seen as what it computes, for self-tests: tokens in, the last row of logits out."""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from types import TracebackType
from typing import Self

import llama_cpp.llama_cpp as lib
import numpy as np
from numpy.typing import NDArray

from dragoman.engines.llama.cache import LlamaCache
from dragoman.engines.llama.layout import Layout
from dragoman.scheduler.plan import Copy, Cut, Run
from dragoman.scheduler.sequence import Sequence

SEQUENCES = 9
CELLS = 1024
"""Per sequence."""
ROWS = 256


class Probe:
    """Use as a context manager: the cache lives as long as the block. Raises ``LoadError`` if there is no memory for it."""

    def __init__(self, model: lib.llama_model_p, layout: Layout, *, threads: int) -> None:
        cells = CELLS * SEQUENCES if layout.unified else CELLS
        self._cache = LlamaCache(model, layout, sequences=SEQUENCES, cells=cells, rows=ROWS, threads=threads)
        self._vocabulary = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cache.close()

    def tokens(self, count: int, *, seed: int) -> tuple[int, ...]:
        """Arbitrary ids, the same for the same seed."""
        return tuple(map(int, np.random.default_rng(seed).integers(0, self._vocabulary, count)))

    def compute(self, *parts: tuple[int, int, Tokens[int]]) -> NDArray[np.float32]:
        """One step of (sequence, start, tokens) parts, in sequence order; returns a row of logits for each part's last token.

        A single token after the first is a generated one; ``prefill`` computes single tokens of a prompt.
        """
        return self._compute(tuple(_run(part, prompt=part[1] if len(part[2]) == 1 else None) for part in parts))

    def _compute(self, runs: tuple[Run, ...]) -> NDArray[np.float32]:
        rows: dict[int, NDArray[np.float32]] = {}
        for group in self._cache.layout.groups(runs):
            computed = self._cache.compute(group)
            if computed.status != "done":
                raise RuntimeError(f"a self-test step ended {computed.status}")
            rows.update(zip((run.seq_id for run in group), computed.logits.copy(), strict=True))
        return np.stack([rows[run.seq_id] for run in runs])

    def prefill(self, seq_id: int, tokens: Tokens[int], *, chunk: int = ROWS, start: int = 0) -> NDArray[np.float32]:
        """Compute tokens from position ``start``, in chunks; returns the last row of logits."""
        self.cut(seq_id, start)
        row = np.empty(0, np.float32)
        for at in range(0, len(tokens), chunk):
            row = self._compute((_run((seq_id, start + at, tokens[at : at + chunk])),))[0]
        return row

    def cut(self, seq_id: int, length: int = 0) -> None:
        """Keep the first ``length`` tokens of a sequence."""
        self._cache.edit([Cut(seq_id, length)])

    def copy(self, source: int, target: int, length: int) -> None:
        """Make ``target`` hold the first tokens of ``source``."""
        self._cache.edit([Copy(source, target, length)])


def _run(part: tuple[int, int, Tokens[int]], *, prompt: int | None = None) -> Run:
    seq_id, start, tokens = part
    length = start + len(tokens) if prompt is None else prompt
    return Run(Sequence(id=seq_id, prompt=(0,) * length, limit=1), seq_id, start, tuple(tokens), last=True)
