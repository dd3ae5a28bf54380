"""Answers of a served model under random schemas, each held against its schema by another implementation."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import jsonschema_rs
import openai

from dragoman.core.grammar import grammar_of
from dragoman.core.request import JsonFormat
from support.grammars import longest_beginning
from support.schemas import random_schema

BUDGET = 300
"""Tokens; the small ones among the schemas need a tenth."""

AT_ONCE = 8


@dataclass(slots=True)
class Verdict:
    """How the answers ended, and what is wrong with any."""

    ends: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


async def verdict(client: openai.AsyncOpenAI, seeds: Iterable[int]) -> Verdict:
    """Ask for an answer under the schema of each seed, in turns through chat, a stream of it, and completions."""
    found, turn = Verdict(), asyncio.Semaphore(AT_ONCE)

    async def ask(seed: int) -> None:
        async with turn:
            try:
                text, end = await _ROUTES[seed % len(_ROUTES)](client, random_schema(seed), seed)
            except openai.APIError as error:
                text, end = str(error), type(error).__name__
        found.ends[end] += 1
        if (fault := _fault(random_schema(seed), text, end)) is not None:
            found.faults.append(f"schema {seed}: {fault}: {text}")

    await asyncio.gather(*map(ask, seeds))
    return found


def _fault(schema: dict, text: str, end: str) -> str | None:
    match end:
        case "stop":
            try:
                jsonschema_rs.validator_for(schema, validate_formats=True).validate(json.loads(text))
            except (json.JSONDecodeError, jsonschema_rs.ValidationError) as error:
                return str(error)
        case "length":
            whole = text.rstrip("\ufffd")  # a budget may cut a character
            beginning, _ = longest_beginning(grammar_of(JsonFormat(schema=schema)), whole)
            return None if beginning == whole else "it is not the beginning of an answer"
        case _:
            return f"it ended by {end}"
    return None


def _asked(schema: dict, seed: int) -> dict:
    return {
        "model": "default",
        "messages": [{"role": "user", "content": "Invent an example record, short and plausible."}],
        "max_tokens": BUDGET,
        "seed": seed,
        "response_format": {"type": "json_schema", "json_schema": {"name": "record", "schema": schema}},
    }


async def _chat(client: openai.AsyncOpenAI, schema: dict, seed: int) -> tuple[str, str]:
    (choice,) = (await client.chat.completions.create(**_asked(schema, seed))).choices
    return choice.message.content or "", choice.finish_reason


async def _stream(client: openai.AsyncOpenAI, schema: dict, seed: int) -> tuple[str, str]:
    choices = [
        choice
        async for chunk in await client.chat.completions.create(**_asked(schema, seed), stream=True)
        for choice in chunk.choices
    ]
    return "".join(choice.delta.content or "" for choice in choices), choices[-1].finish_reason


async def _completions(client: openai.AsyncOpenAI, schema: dict, seed: int) -> tuple[str, str]:
    asked = {"model": "default", "prompt": "An example record:\n", "max_tokens": BUDGET, "seed": seed}
    (choice,) = (await client.completions.create(**asked, extra_body={"structured_outputs": {"json": schema}})).choices
    return choice.text, choice.finish_reason


_ROUTES = (_chat, _stream, _completions)
