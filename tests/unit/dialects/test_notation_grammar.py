"""Which arguments a grammar lets a model write, decided by llguidance."""

from __future__ import annotations

import json

import pytest

from dragoman.core.json import JsonObject
from dragoman.core.json_schema import SchemaFault
from dragoman.dialects.gemma4 import NOTATION as GEMMA
from dragoman.dialects.gemma4 import WRITING
from dragoman.dialects.lark import Lark
from dragoman.dialects.notation import PYTHON, ArgumentsReader
from dragoman.dialects.notation_grammar import KEYWORDS, arguments_rules
from support.grammars import accepts
from support.tools import TOOLS

QUOTE = '<|"|>'
OPEN: JsonObject = {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(4)}}
SHARED: JsonObject = {
    "type": "object",
    "$defs": {"day": {"enum": ["mo", "tu"]}},
    "properties": {"day": {"$ref": "#/$defs/day"}},
    "required": ["day"],
}
EITHER: JsonObject = {**OPEN, "anyOf": [{"required": ["p0"]}, {"required": ["p1"]}]}


def grammar(parameters: JsonObject | None, writing=KEYWORDS, specials: tuple[str, ...] = ()) -> str:
    return f"start: args\n{arguments_rules(parameters, writing, 'args', Lark(specials, {}))}"


@pytest.mark.parametrize(
    "parameters, right, wrong",
    [
        (TOOLS["get_weather"].parameters, ['(city="a")', '(city="a\\n", days=3, hourly=True)', '(city="a", hourly=False)'],
         ["()", "(days=3)", '(city="a", city="b")', '(city="a", x=1)', "(city=1)", '(days=3, city="a")']),
        (TOOLS["search"].parameters, ['(query="a", limits={"sites":["x"]})'], ['(query="a", limits={"x":1})', "(limits={})"]),
        (TOOLS["now"].parameters, ["()"], ["(a=1)", ""]),
        (OPEN, ["()", "(p0=1)", "(p3=1)", "(p1=1, p3=2)"], ["(, p1=1)", "(p3=1, p1=1)", "(p0=1,)"]),
        (SHARED, ['(day="mo")'], ['(day="we")', "()"]),
        (EITHER, ['(**{"p1":3})'], ["()", "(p1=3)", "(**{})"]),
        ({"type": "object", "properties": {"a-b c": {"type": "integer"}}}, ['(**{"a-b c":1})'], ["(a-b c=1)"]),
    ],
)  # fmt: skip
def test_keyword_arguments_are_those_of_the_schema(parameters: JsonObject | None, right: list[str], wrong: list[str]):
    assert [text for text in right if not accepts(grammar(parameters), text)] == []
    assert [text for text in wrong if accepts(grammar(parameters), text)] == []


@pytest.mark.parametrize(
    "parameters, right, wrong",
    [
        (TOOLS["get_weather"].parameters, ['{city:Qa"}Q}', "{city:QaQ,days:3}"], ["{}", "{city:a}", "{days:3,city:QaQ}"]),
        (TOOLS["search"].parameters, ["{limits:{sites:[QaQ,QbQ],size:1.5},query:QxQ}", "{limits:{},query:QxQ}"],
         ["{query:QxQ,limits:{}}", "{limits:{sites:[1]},query:QxQ}"]),
        (TOOLS["now"].parameters, ["{}"], ["{a:1}"]),
        (SHARED, ['{day:"mo"}'], ["{day:QmoQ}", '{day:"we"}']),
        ({"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "string", "maxLength": 2}}},
         ["{a:QxQ}", '{a:QyQ,b:"zz"}', "{}"], ["{a:QzQ}", '{b:"zzz"}']),
        (EITHER, ['{"p1":3}'], ["{p1:3}", "{}"]),
    ],
)  # fmt: skip
def test_objects_have_bare_keys_in_order_and_quotes_of_their_own(
    parameters: JsonObject | None, right: list[str], wrong: list[str]
):
    for specials in ((), (QUOTE,)):
        rules = grammar(parameters, WRITING, specials)
        assert [text for text in right if not accepts(rules, text.replace("Q", QUOTE), specials=specials)] == []
        assert [text for text in wrong if accepts(rules, text.replace("Q", QUOTE), specials=specials)] == []


def test_what_a_grammar_allows_the_reader_understands():
    for parameters, notation, text in (
        (EITHER, PYTHON, '**{"p1":3})'),
        (EITHER, GEMMA, '"p1":3}'),
        (SHARED, GEMMA, 'day:"mo"}'),
    ):
        assert isinstance(json.loads(ArgumentsReader(notation).feed(text)), dict), parameters


def test_many_optional_arguments_stay_cheap():
    sizes = [
        len(grammar({"type": "object", "properties": {f"p{n:03}": {"type": "integer"} for n in range(count)}}))
        for count in (100, 200)
    ]
    assert sizes[1] < 2.2 * sizes[0]


def test_what_no_grammar_can_enforce_is_a_fault():
    with pytest.raises(SchemaFault):
        grammar({"type": "object", "properties": {"a": {"not": {"const": 1}}}})
