"""Answers of the demo model that must look like something, through the server, as clients ask for them."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import openai
import pytest
import pytest_asyncio

from support.live import CALM, PATIENCE, LiveEngine
from support.schema_answers import verdict
from support.serve import serving

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

ASKED = {"model": "default", "messages": [{"role": "user", "content": "Tell me about Paris."}], "max_tokens": 120}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(demo_model: Path, cache_dir: Path, engine: LiveEngine):
    """A server that comes after ``engine``, whose measurements it uses."""
    flags = (*CALM, "--context", "2048", "--cache-dir", str(cache_dir))
    async with serving(*flags, patience=PATIENCE) as running, running.client() as sdk:
        yield sdk.with_options(timeout=PATIENCE)


async def said(client: openai.AsyncOpenAI, **fields) -> tuple[str, str]:
    (choice,) = (await client.chat.completions.create(**ASKED, temperature=0, extra_body=fields)).choices
    return choice.message.content, choice.finish_reason


@pytest.mark.seeds("S58", "S59", "S60")
async def test_answers_under_random_schemas_validate(client: openai.AsyncOpenAI):
    """A small part of what ``make judges ARGS=schemas`` does."""
    found = await verdict(client, range(1000, 1025))
    assert found.faults == []
    assert found.ends["stop"] >= 20, found.ends


@pytest.mark.parametrize(
    "fields, pattern",
    [
        ({"regex": "[A-Z][a-z]{2,8}[.]"}, "[A-Z][a-z]{2,8}[.]"),
        ({"guided_choice": ["red", "green"]}, "red|green"),
        (
            {"guided_json": {"type": "string", "pattern": r"^hello there indeed\!$"}},
            '"hello there indeed!"',
        ),  # llama.cpp#19051
        ({"grammar": 'root ::= "The " [a-z]{3} "!"'}, "The [a-z]{3}!"),
        ({"guided_grammar": 'start: "<" WORD ">"\nWORD: /[a-z]{4}/'}, "<[a-z]{4}>"),
        ({"response_format": {"type": "json_object"}, "max_tokens": 40}, r"\{.*"),
    ],
)
async def test_other_formats_hold_as_well(client: openai.AsyncOpenAI, fields, pattern):
    text, end = await said(client, **fields)
    assert re.fullmatch(pattern, text, re.DOTALL), text
    assert end == "stop" or "response_format" in fields


async def test_a_bad_grammar_fails_alone(client: openai.AsyncOpenAI):
    """vllm#43920: one after a good one took the engine down."""

    async def bad() -> openai.BadRequestError:
        with pytest.raises(openai.BadRequestError) as caught:
            await said(client, guided_grammar="start: (")
        return caught.value

    good = {"guided_choice": ["red", "green"]}
    first, error, second = await asyncio.gather(said(client, **good), bad(), said(client, **good))
    assert (error.status_code, error.param) == (400, "guided_grammar")
    assert first == second == await said(client, **good)


@pytest.mark.seeds("S60", "S125")
async def test_a_schema_that_can_not_be_enforced_is_no_answer(client: openai.AsyncOpenAI):
    schema = {"type": "object", "properties": {"x": {"type": "array", "uniqueItems": True}}}
    with pytest.raises(openai.BadRequestError) as caught:
        await said(client, response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}})
    assert caught.value.param == "response_format.json_schema.schema.properties.x.uniqueItems"
