"""Answers of the demo model under grammars: every one is a sentence, and nobody else's answer changes by a bit."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

import jsonschema_rs
import pytest

from dragoman.core.errors import Cancelled, Code, InvalidRequest
from dragoman.core.request import SamplingParams
from dragoman.engines.base import EngineRequest
from support.live import Answer, LiveEngine, answer, arbitrary_prompt, greedy, read, together

pytestmark = pytest.mark.asyncio(loop_scope="session")

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "city_of_residence": {"enum": ["Berlin", "Paris", "Rome"]},
        "languages": {"type": "array", "items": {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"}, "maxItems": 3},
    },
    "required": ["name", "age", "city_of_residence", "languages"],
    "additionalProperties": False,
}
QUESTION = "<|im_start|>user\nTell me about a person.<|im_end|>\n<|im_start|>assistant\n"
WARM = SamplingParams(temperature=1.0, seed=7)


def schema(value: dict) -> str:
    return f"start: %json {json.dumps(value | {'x-guidance': {'whitespace_flexible': False}})}"


def sentence(reply: Answer) -> str:
    """What a whole answer says without its end token."""
    assert not reply.done.length_limited
    return reply.text.removesuffix("<|im_end|>").removesuffix("<|endoftext|>")


@pytest.mark.seeds("S59", "S125")
@pytest.mark.parametrize("sampling", [SamplingParams(temperature=0.0, seed=0), WARM], ids=["greedy", "drawn"])
async def test_an_answer_under_a_json_schema_validates(engine: LiveEngine, sampling: SamplingParams):
    reply = await answer(engine, greedy(QUESTION, 400, grammar=schema(PERSON), sampling=sampling))
    jsonschema_rs.validator_for(PERSON).validate(json.loads(sentence(reply)))


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        ("start: /(19|20)[0-9]{2}-(0[1-9]|1[0-2])/", r"(19|20)\d\d-(0[1-9]|1[0-2])"),
        ('start: "yes" | "no" | "I do not know"', "yes|no|I do not know"),
        ('start: "<" /[a-zäöü]{3,12}/ "> 🙂"', "<[a-zäöü]{3,12}> 🙂"),
    ],
)
async def test_an_answer_under_a_regular_expression_or_a_choice_matches(engine: LiveEngine, grammar, pattern):
    for request in (greedy(QUESTION, 60, grammar=grammar), greedy(QUESTION, 60, grammar=grammar, sampling=WARM)):
        assert re.fullmatch(pattern, sentence(await answer(engine, request)))


async def test_a_grammar_may_name_control_tokens_and_spell_what_only_looks_like_one(engine: LiveEngine):
    reply = await answer(engine, greedy(QUESTION, 40, grammar='start: "<think>" /[a-z]{2}/ <|im_start|> "x"'))
    assert re.fullmatch(r"<think>[a-z]{2}<\|im_start\|>x", reply.text)
    assert reply.ids[-2] == 1  # <|im_start|> of SmolLM2


async def test_what_is_no_grammar_is_the_clients_mistake_and_the_next_answer_is_as_ever(engine: LiveEngine):
    with pytest.raises(InvalidRequest, match="unknown name") as refusal:
        await answer(engine, greedy(QUESTION, 8, grammar="start: nobody"))
    assert (refusal.value.code, refusal.value.feature) == (Code.INVALID_VALUE, "grammar")
    assert sentence(await answer(engine, greedy(QUESTION, 8, grammar='start: "fine"'))) == "fine"


async def test_a_request_can_be_cancelled_while_its_grammar_is_compiled(engine: LiveEngine):
    properties = {f"property_{number}": {"type": "string"} for number in range(2000)}  # a second of work
    slow = schema({"type": "object", "properties": properties})
    stream = await engine.client.submit(greedy(QUESTION, 8, grammar=slow))
    quick = await answer(engine, greedy(QUESTION, 8, slot=1, grammar='start: "quick"'))
    assert sentence(quick) == "quick"
    await stream.aclose()
    with pytest.raises(Cancelled):
        await read(stream)
    assert sentence(await answer(engine, greedy(QUESTION, 8, grammar='start: "free"'))) == "free"


async def test_eight_under_eight_grammars_beside_four_under_none_keep_to_them_and_change_nobody(engine: LiveEngine):
    schemas = [only_key(f"key_{n}") for n in range(8)]
    constrained = [
        greedy(QUESTION, 200, grammar=schema(value), sampling=SamplingParams(temperature=1.0, seed=n))
        for n, value in enumerate(schemas)
    ]
    free = [greedy(arbitrary_prompt(900 + n, 40 + 9 * n), 24, logprobs=2, isolation=f"free {n}") for n in range(4)]
    alone = [await answer(engine, replace(request, isolation=request.isolation + " alone")) for request in free]
    mixed = await together(engine, [*constrained, *free])
    for value, reply in zip(schemas, mixed, strict=False):
        jsonschema_rs.validator_for(value).validate(json.loads(sentence(reply)))
    assert [reply.numbers for reply in mixed[8:]] == [reply.numbers for reply in alone]


def only_key(key: str) -> dict:
    """An object with one number, which ends."""
    number = {"type": "integer", "minimum": -99, "maximum": 99}
    return {"type": "object", "properties": {key: number}, "required": [key], "additionalProperties": False}


@pytest.mark.seeds("S69")
async def test_forced_tokens_and_what_is_drawn_after_them_are_the_same_together_one_by_one_and_beside_others(
    engine: LiveEngine,
):
    grammar = 'start: "The first number that comes to my mind is " /[0-9]{3}/ ", and the one after it " /[0-9]{3}/ "."'

    def request(**more) -> EngineRequest:
        return greedy(arbitrary_prompt(77, 60), 80, grammar=grammar, sampling=WARM, **more)

    bare = await answer(engine, request(isolation="a"))
    told = await answer(engine, request(isolation="b", logprobs=3))
    assert (bare.ids, bare.text) == (told.ids, told.text)
    neighbours = [greedy(arbitrary_prompt(500 + n, 150), 20, isolation=f"n{n}") for n in range(3)]
    crowd = await together(engine, [request(isolation="c", logprobs=3), request(isolation="d"), *neighbours])
    assert crowd[0].numbers == told.numbers
    assert crowd[1].ids == told.ids


async def test_a_budget_cuts_a_forced_text_where_it_ends(engine: LiveEngine):
    reply = await answer(engine, greedy(QUESTION, 3, grammar='start: "one two three four five"'))
    assert (reply.done.length_limited, reply.done.emitted, len(reply.ids)) == (True, 3, 3)
    assert "one two three four five".startswith(reply.text)


async def test_choices_of_one_prompt_each_stand_in_their_own_place_of_one_grammar(engine: LiveEngine):
    request = greedy(QUESTION, 200, grammar=schema(PERSON))
    seeds = [replace(request, sampling=SamplingParams(temperature=1.2, seed=seed)) for seed in range(6)]
    replies = await asyncio.wait_for(together(engine, seeds), 240)
    people = [json.loads(sentence(reply)) for reply in replies]
    for person in people:
        jsonschema_rs.validator_for(PERSON).validate(person)
    assert len({person["name"] for person in people}) > 1
