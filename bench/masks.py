"""What a grammar costs: `python -m bench.masks` measures each part of a step under one, and whole answers of the demo model.

The goals are those of the project: at most 5 % of the time per token on the demo model, and at most 1 ms per row at 262,144 tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar

import numpy as np
from llguidance import LLTokenizer, TokenizerWrapper

from bench.servers import demo_model
from dragoman.core.request import SamplingParams, TextPrompt
from dragoman.engines.backend import BadGrammar, Compiled, Constraint
from dragoman.engines.base import EngineRequest
from dragoman.engines.client import EngineClient
from dragoman.engines.llama.grammar_compiler import GrammarCompiler
from dragoman.engines.process import ProcessLink
from dragoman.protocol.frames import Done

GRAMMARS: Final = {
    "anything": "start: /(.|\\n)*/",
    "JSON": 'start: %json {"type":"array","items":{"type":"string"},"minItems":500,"x-guidance":{"whitespace_flexible":false}}',
    "a name": "start: /[A-Z][a-z]*( [A-Z][a-z]*)*/",
}
SIZES: Final = (49_152, 262_144)
_ENGINE: Final = (
    "-m",
    "dragoman.engines.llama",
    "--context=2048",
    "--flash-attention=off",
    "--deterministic=on",
    "--model",
)
"""One layout alone, so that none has to be measured first."""

_PROMPT: Final = "<|im_start|>user\nWrite a list.<|im_end|>\n<|im_start|>assistant\n"
_STEPS: Final = 400
_PATIENCE: Final = 60.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one part of a step, in milliseconds."""

    median: float
    ninety_ninth: float


class _Vocabulary:
    """As many words of one to eight letters as asked for, after all bytes and one end token; about as long as real ones are."""

    bos_token_id = None

    def __init__(self, size: int) -> None:
        rng = np.random.default_rng(1)
        letters = np.array(list(' abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"{}[],:.-_\n'))
        words = {bytes([byte]): None for byte in range(256)}
        while len(words) < size - 1:
            words["".join(rng.choice(letters, rng.integers(2, 9))).encode()] = None
        self.tokens = [*words, b"<end>"]
        self.eos_token_id = size - 1
        self.special_token_ids = [size - 1]

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


def rows(size: int) -> dict[str, dict[str, Cost]]:
    """For each grammar, what the parts of a row cost with a vocabulary of ``size`` tokens."""
    compiler = GrammarCompiler(lambda: LLTokenizer(TokenizerWrapper(_Vocabulary(size))), size, patience=_PATIENCE)
    return {name: _row_costs(_compile(compiler, grammar), size) for name, grammar in GRAMMARS.items()}


def _row_costs(constraint: Constraint, size: int) -> dict[str, Cost]:
    rng = np.random.default_rng(2)
    logits, changed = rng.normal(size=size).astype(np.float32), np.empty(size, np.float32)
    parts: dict[str, list[float]] = {"mask": [], "apply": [], "take": [], "sum": []}
    for _ in range(_STEPS):
        masked, ceiling = _timed(constraint.ceiling)
        applied, _ = _timed(partial(np.minimum, logits, ceiling, out=changed))
        token = int(rng.choice(np.flatnonzero(changed > -np.inf)[:-1]))
        taken, _ = _timed(partial(_go_on, constraint, token))
        for part, seconds in zip(parts, (masked, applied, taken, masked + applied + taken), strict=True):
            parts[part].append(1000 * seconds)
        if constraint.complete:
            break
    return {part: Cost(statistics.median(times), float(np.quantile(times, 0.99))) for part, times in parts.items()}


def _go_on(constraint: Constraint, token: int) -> list[int]:
    constraint.take(token)
    return constraint.force()


def _compile(compiler: GrammarCompiler, grammar: str) -> Constraint:
    done: SimpleQueue[Compiled] = SimpleQueue()
    compiler.compile(grammar, done.put)
    compiled = done.get()
    if isinstance(compiled, BadGrammar):
        raise compiled
    return compiled


async def answers(model: Path, *, rounds: int, tokens: int) -> dict[str, list[float]]:
    """Milliseconds per token of whole answers, under no grammar and each one in turn, so that a busy neighbour hits all alike."""
    client = EngineClient(lambda: ProcessLink.spawn((sys.executable, *_ENGINE, str(model))))
    await client.start()
    try:
        found: dict[str, list[float]] = {"none": [], **{name: [] for name in GRAMMARS}}
        for _, name in itertools.product(range(rounds), found):
            found[name].append(await _milliseconds(client, GRAMMARS.get(name), tokens))
        return found
    finally:
        await client.aclose()


async def _milliseconds(client: EngineClient, grammar: str | None, tokens: int) -> float:
    request = EngineRequest(
        prompt=TextPrompt(text=_PROMPT),
        max_tokens=tokens,
        min_tokens=tokens,
        sampling=SamplingParams(temperature=0.0),
        grammar=grammar,
    )
    async for output in await client.submit(request):
        if isinstance(output, Done):
            return 1000 / output.tokens_per_second
    raise RuntimeError("the engine ended an answer without saying so")


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def main(arguments: Sequence[str]) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.masks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200)
    options = parser.parse_args(arguments)
    print("milliseconds per row: median (99th percentile)")
    for size in SIZES:
        for name, costs in rows(size).items():
            parts = "  ".join(f"{part} {cost.median:.3f} ({cost.ninety_ninth:.3f})" for part, cost in costs.items())
            print(f"{size:>8,} tokens  {name:<9} {parts}")
    times = asyncio.run(answers(demo_model(), rounds=options.rounds, tokens=options.tokens))
    plain = min(times["none"])
    print("milliseconds per token of the demo model: the best round")
    for name, milliseconds in times.items():
        print(f"{name:<9} {min(milliseconds):.2f}  {100 * (min(milliseconds) / plain - 1):+.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
