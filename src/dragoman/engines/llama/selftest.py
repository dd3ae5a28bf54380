"""A decode that proves the build: a crash here is a crash before any user's request."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from dragoman.core.request import TextPrompt
from dragoman.engines.llama.engine import LlamaEngine
from dragoman.engines.sampling import log_softmax
from dragoman.scheduler.plan import Run
from dragoman.scheduler.sequence import Sequence

PREFILL_ROWS = 128
"""Enough rows for the matrix kernels, which single rows never reach."""

DECODE_STEPS = 8


def self_test(engine: LlamaEngine) -> str:
    """Prefill, decode greedily, check that probabilities are; returns JSON. Raises ``RuntimeError`` on numbers that are none."""
    vocabulary = engine.vocabulary
    words = vocabulary.tokenize(TextPrompt(text="The quick brown fox jumps over the lazy dog. " * 20))
    sequence = Sequence(id=1, prompt=tuple(words[: min(PREFILL_ROWS, engine.context // 2)]), limit=DECODE_STEPS)
    started = time.perf_counter()
    row = _compute(engine, sequence, 0)
    prefill = time.perf_counter() - started
    for _ in range(DECODE_STEPS):
        if not np.isfinite(row).all() or abs(np.exp(log_softmax(row)).sum() - 1) > 1e-5:
            raise RuntimeError("the model's logits are not finite")
        sequence.generated.append(int(row.argmax()))
        row = _compute(engine, sequence, sequence.length - 1)
    seconds = time.perf_counter() - started - prefill
    return json.dumps(
        {
            "text": b"".join(map(vocabulary.piece, sequence.generated)).decode("utf-8", "replace"),
            "prefill_tokens_per_second": round(len(sequence.prompt) / prefill, 1),
            "decode_tokens_per_second": round(DECODE_STEPS / seconds, 1),
            "context": engine.context,
            "cache_bytes": engine.cache_bytes,
            "layout": str(engine.trial.layout),
            "trial": asdict(engine.trial),
            "threads": engine.threads,
            "build": engine.info().build,
        }
    )


def _compute(engine: LlamaEngine, sequence: Sequence, start: int) -> NDArray[np.float32]:
    run = Run(sequence, 0, start, sequence.tokens(start, sequence.length), last=True)
    return np.array(engine.compute((run,), lambda: None).logits[0])
