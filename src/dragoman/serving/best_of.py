"""Of several answers to one prompt, those that the model itself finds likeliest (OpenAI's ``best_of``).

The measure is OpenAI's: the mean log-probability of an answer's tokens. It is known at the end only, so nothing of an answer is
passed on before all are there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import replace
from statistics import fmean
from typing import TypeAlias, assert_never

from dragoman.core.events import (
    Accepted,
    ChoiceFinished,
    Finished,
    GenerationEvent,
    PromptRead,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    ToolCallEvent,
)
from dragoman.core.request import Generate
from dragoman.serving.generation import Generation

_Event: TypeAlias = PromptRead | TextDelta | ReasoningDelta | ToolCallEvent | ChoiceFinished


class BestOf:
    """A ``Generation`` that passes on the ``n`` likeliest of each ``best_of`` choices, best first and numbered anew."""

    def __init__(self, generation: Generation, operation: Generate) -> None:
        self.accepted = generation.accepted
        self.queue_wait = generation.queue_wait
        self.repairs = generation.repairs
        self._generation = generation
        self._n = operation.n
        self._best_of = operation.best_of or operation.n
        self._records = operation.readout.logprobs is not None or operation.readout.token_ids
        self._events = self._answer()

    def __aiter__(self) -> AsyncIterator[GenerationEvent]:
        return self._events

    async def aclose(self) -> None:
        """Cancel what has not ended, and return when every slot is free. Safe to call twice."""
        await self._events.aclose()
        await self._generation.aclose()

    async def _answer(self) -> AsyncGenerator[GenerationEvent]:
        choices: dict[int, list[_Event]] = {}
        async for event in self._generation:
            match event:
                case (
                    PromptRead()
                    | TextDelta()
                    | ReasoningDelta()
                    | ToolCallBegun()
                    | ToolCallArguments()
                    | ToolCallEnded()
                    | ChoiceFinished()
                ):
                    choices.setdefault(event.choice, []).append(event)
                case Accepted():
                    yield event
                case Finished():
                    for index, answer in _ranked(choices, self._n, self._best_of):
                        for kept in answer if self._records else _bare(answer):
                            yield replace(kept, choice=index)
                    yield event
                case _:
                    assert_never(event)


def _ranked(choices: dict[int, list[_Event]], n: int, best_of: int) -> list[tuple[int, list[_Event]]]:
    found = []
    for prompt in range(len(choices) // best_of):
        answers = [choices[prompt * best_of + fork] for fork in range(best_of)]
        answers.sort(key=_mean_logprob, reverse=True)  # stable: of equals the first one wins
        found += [(prompt * n + rank, answer) for rank, answer in enumerate(answers[:n])]
    return found


def _mean_logprob(events: list[_Event]) -> float:
    values = [
        record.logprob
        for event in events
        if isinstance(event, TextDelta | ReasoningDelta)
        for record in event.tokens
        if record.logprob is not None
    ]
    return fmean(values) if values else 0.0


def _bare(events: list[_Event]) -> Iterator[_Event]:
    """Without the records that only we asked for, and without the deltas that had nothing else."""
    for event in events:
        if not isinstance(event, TextDelta | ReasoningDelta):
            yield event
        elif event.text:
            yield replace(event, tokens=())
