"""lm-evaluation-harness through Completions with token ids: its log-likelihoods must be the engine's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from environment import Judges
from served import settings

from dragoman.compose import open_backend
from dragoman.core.request import SamplingParams, TextPrompt, TokenPrompt
from dragoman.engines.base import Engine, EngineRequest
from dragoman.protocol.frames import Echo

HERE: Final = Path(__file__).parent
TASKS: Final = "capitals,counting,prose"
BATCHES: Final = ("16", "1")
TOLERANCE: Final = 1e-6
"""Of one log-probability: engines report six decimals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What the harness made of a continuation; ``greedy`` is None where it does not ask."""

    context: str
    continuation: str
    value: float
    greedy: bool | None


def judge(judges: Judges, url: str, model: Path, folder: Path) -> list[str]:
    """Scores that are not the engine's; texts that change with the size of the batch."""
    made = judges.run(HERE / "tokenizer_folder.py", model, folder / "tokenizer", cwd=HERE)
    made.check_returncode()
    scores, texts = [], []
    for batch in BATCHES:
        arguments = {
            "model": "default",
            "base_url": f"{url}/v1/completions",
            "tokenizer": folder / "tokenizer",
            "tokenized_requests": True,
        }
        flags = {
            "--model": "local-completions",
            "--model_args": ",".join(f"{name}={value}" for name, value in arguments.items()),
            "--tasks": TASKS,
            "--include_path": "tasks",
            "--batch_size": batch,
            "--output_path": folder / batch,
        }
        done = judges.run(
            *("-m", "lm_eval", "--log_samples"),
            *(part for pair in flags.items() for part in pair),
            cwd=HERE,
            HF_HOME=str(folder / "cache"),
            HF_HUB_OFFLINE="1",
        )
        if done.returncode:
            return [done.stdout]
        print("local-completions (" + done.stdout.rpartition("local-completions (")[2].rstrip())
        samples = list(_samples(folder / batch))
        scores += [score for sample in samples for score in _scores(sample)]
        texts.append(sorted(sample["resps"][0][0] for sample in samples if isinstance(sample["resps"][0][0], str)))
    print(f"{len(scores)} scores, {len(texts[0])} texts")
    faults = asyncio.run(_compare(scores, model))
    return faults if texts[0] == texts[1] else [*faults, f"the size of the batch decides texts: {texts}"]


def _samples(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*/samples_*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _scores(sample: dict[str, Any]) -> Iterator[Score]:
    for arguments, (answer, *_) in zip(sample["arguments"].values(), sample["resps"], strict=True):
        match arguments, answer:
            case {"arg_0": str(context), "arg_1": str(continuation)}, [value, greedy]:
                yield Score(context=context, continuation=continuation, value=float(value), greedy=greedy == "True")
            case {"arg_0": str(text)}, str(value) if "arg_1" not in arguments:
                yield Score(context="", continuation=text, value=float(value), greedy=None)


async def _compare(scores: list[Score], model: Path) -> list[str]:
    backend = await open_backend(settings(model))
    try:
        return [fault for score in scores if (fault := await _fault(score, backend.engine))]
    finally:
        await backend.close()


async def _fault(score: Score, engine: Engine) -> str | None:
    """What is wrong with a score. The harness splits context and continuation as is done here, and begins a text with BOS."""
    ids = await engine.tokenize(_text(score.context + score.continuation))
    start = len(await engine.tokenize(_text(score.context)))
    if not start:
        bos = TextPrompt(text=engine.info.bos_token or "", add_special=False)
        ids, start = (*await engine.tokenize(bos), *ids), 1
    echoes = (await _echoes(engine, ids))[start:]
    values = [echo.numeric.logprob for echo in echoes]
    greedy = all(echo.numeric.top[0][0] == token for echo, token in zip(echoes, ids[start:], strict=True))
    if abs(sum(values) - score.value) > TOLERANCE * len(values):
        return f"{score}: the engine says {sum(values)}"
    return f"{score}: the engine says {greedy}" if score.greedy not in {None, greedy} else None


def _text(text: str) -> TextPrompt:
    return TextPrompt(text=text, add_special=False)


async def _echoes(engine: Engine, ids: tuple[int, ...]) -> list[Echo]:
    request = EngineRequest(prompt=TokenPrompt(ids=ids), max_tokens=1, sampling=SamplingParams(temperature=0), echo=1)
    stream = await engine.submit(request)
    return [output async for output in stream if isinstance(output, Echo)]
