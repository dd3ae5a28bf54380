"""Calls that a served model is made to make, of random tools: whole and as a stream, which must be the same for the same seed."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import jsonschema_rs
import openai

from dragoman.core.grammar import grammar_of
from dragoman.core.request import JsonFormat
from support.grammars import longest_beginning
from support.random_tools import random_choice, random_tools

BUDGET = 160
"""Tokens. One call of most of these tools needs a third; a small model goes on and on in a text of no bounded length."""

AT_ONCE = 4

MOST_CALLS = 16
"""docs/families.md: what one answer has at most."""

NOTHING = {"type": "object", "maxProperties": 0}
"""What a tool without parameters is called with."""


@dataclass(slots=True)
class Forced:
    """How the answers ended, how many whole calls they made, and what is wrong with any."""

    ends: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Said:
    """One answer. A call is its id, its name and its arguments' text."""

    text: str = ""
    end: str | None = None
    calls: list[tuple[str, str, str]] = field(default_factory=list)


async def forced(client: openai.AsyncOpenAI, seeds: Iterable[int]) -> Forced:
    """Ask twice for each seed."""
    found, turn = Forced(), asyncio.Semaphore(AT_ONCE)

    async def ask(seed: int) -> None:
        rng = Random(seed)
        tools = random_tools(rng)
        choice, names = random_choice(rng, tools)
        asked = {
            "model": "default",
            "messages": [{"role": "user", "content": "Use your tools: I need to know about Paris, and soon."}],
            "max_tokens": BUDGET,
            "seed": seed,
            "tools": tools,
            "tool_choice": choice,
            "parallel_tool_calls": rng.random() < 0.5,
        }
        async with turn:
            whole, streamed = await _whole(client, asked), await _streamed(client, asked)
        schemas = {tool["function"]["name"]: tool["function"].get("parameters", NOTHING) for tool in tools}
        found.ends[whole.end or "nothing"] += 1
        found.calls += len(whole.calls) - (whole.end == "length")
        faults = [*_faults(whole, {name: schemas[name] for name in names}, asked), *_difference(whole, streamed)]
        found.faults += [f"tools {seed}: {fault}: {whole}" for fault in faults]

    await asyncio.gather(*map(ask, seeds))
    return found


def _faults(said: Said, schemas: dict[str, Any], asked: dict[str, Any]) -> Iterator[str]:
    cut = said.end == "length"
    single = asked["tool_choice"] != "required" or not asked["parallel_tool_calls"]
    if not cut and said.end != ("tool_calls" if asked["tool_choice"] == "required" else "stop"):
        yield "this end is not OpenAI's"
    if said.text:
        yield "it has text"
    if len(said.calls) not in range(0 if cut else 1, 2 if single else MOST_CALLS + 1):
        yield "it has too few calls, or too many"
    ids = [id_ for id_, _, _ in said.calls]
    if not all(ids) or len(set(ids)) < len(ids):
        yield "calls have no ids of their own"
    for place, (_, name, arguments) in enumerate(said.calls):
        if name not in schemas:
            yield f"{name} may not be called"
        elif cut and place == len(said.calls) - 1:
            if longest_beginning(grammar_of(JsonFormat(schema=schemas[name])), arguments)[0] != arguments:
                yield f"{arguments!r} is the beginning of no arguments"
        else:
            try:
                jsonschema_rs.validator_for(schemas[name]).validate(json.loads(arguments))
            except (json.JSONDecodeError, jsonschema_rs.ValidationError) as error:
                yield str(error)


def _difference(whole: Said, streamed: Said) -> Iterator[str]:
    calls = [call[1:] for call in whole.calls], [call[1:] for call in streamed.calls]
    if calls[0] != calls[1] or (whole.text, whole.end) != (streamed.text, streamed.end):
        yield f"its stream says {streamed}"


async def _whole(client: openai.AsyncOpenAI, asked: dict[str, Any]) -> Said:
    (choice,) = (await client.chat.completions.create(**asked)).choices
    calls = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
    return Said(choice.message.content or "", choice.finish_reason, calls)


async def _streamed(client: openai.AsyncOpenAI, asked: dict[str, Any]) -> Said:
    said = Said()
    async for chunk in await client.chat.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            said.text += choice.delta.content or ""
            said.end = choice.finish_reason
            for call in choice.delta.tool_calls or ():
                if call.index == len(said.calls):
                    assert call.id is not None
                    assert call.type == "function"
                    assert call.function.name is not None
                    said.calls.append((call.id, call.function.name, ""))
                else:
                    assert call.index == len(said.calls) - 1, "a call goes on after the next began"
                    assert call.id is None
                    assert call.function.name is None
                id_, name, arguments = said.calls[-1]
                said.calls[-1] = (id_, name, arguments + (call.function.arguments or ""))
    return said
