from __future__ import annotations

import pytest

from dragoman.core.grammar import grammar_of, json_value, literal, rule_of
from dragoman.core.json_schema import SchemaFault
from dragoman.core.request import ChoiceFormat, GrammarFormat, JsonFormat, RegexFormat
from support.grammars import accepts

FORMATS = [
    (JsonFormat(), ['{"a":[1,{"b":null}]}', "{}"], ["[]", "1", '{"a": 1}', '{"a":1} ']),
    (JsonFormat(schema=True), ["1", '"x"', "null", "[{}]"], ["x", "[1,]"]),
    (JsonFormat(schema={"type": "integer", "minimum": 5}), ["5", "10000"], ["4", "5.5", '"5"']),
    (RegexFormat(pattern=r"[0-9]{4}-[0-9]{2}"), ["2024-05"], ["24-05", "2024-05-01", " 2024-05"]),
    (RegexFormat(pattern=r"^a/b\/[/\]]$"), ["a/b//", "a/b/]"], ["a/b/", "a/b/x"]),
    (RegexFormat(pattern="a\nb"), ["a\nb"], ["ab"]),
    (RegexFormat(pattern="(?:)|//"), ["", "//"], ["/"]),
    (ChoiceFormat(options=("yes", "no")), ["yes", "no"], ["", "y", "yesno", '"yes"']),
    (ChoiceFormat(options=('größe "x"\\n\n😀', "")), ['größe "x"\\n\n😀', ""], ["größe"]),
    (GrammarFormat(source='start: "a" B\nB: "b"+', syntax="lark"), ["ab", "abb"], ["a", "b"]),
    (GrammarFormat(source='%llguidance {}\nstart: "}"', syntax="lark"), ["}"], ["", "}}"]),
    (GrammarFormat(source='root ::= digit+ "b"\ndigit ::= [0-9]', syntax="gbnf"), ["12b"], ["b", "12"]),
]


@pytest.mark.parametrize("output, sentences, others", FORMATS)
def test_an_answer_is_what_its_format_says_and_nothing_else(output, sentences, others):
    grammar = grammar_of(output)
    assert [text for text in sentences if not accepts(grammar, text)] == []
    assert [text for text in others if accepts(grammar, text)] == []


@pytest.mark.parametrize("output, sentences, others", FORMATS)
def test_a_rule_can_stand_in_a_larger_grammar_whose_names_it_does_not_touch(output, sentences, others):
    grammar = f'start: "<" output ">" B digit\nB: "B"\ndigit: "d"\n{rule_of(output)}'
    assert all(accepts(grammar, f"<{text}>Bd") for text in sentences)
    assert not any(accepts(grammar, f"<{text}>Bd") for text in others)


def test_two_rules_of_one_grammar_have_their_own_names():
    first, second = JsonFormat(schema={"type": "integer"}), RegexFormat(pattern="[a-z]+")
    grammar = f'start: number "," word\n{rule_of(first, "number")}{rule_of(second, "word")}'
    assert accepts(grammar, "12,ab")
    assert not accepts(grammar, "ab,12")


def test_an_expression_that_ends_in_the_middle_of_an_escape_is_none():
    with pytest.raises(ValueError, match="backslash"):
        rule_of(RegexFormat(pattern="a\\"))


def test_a_schema_that_can_not_be_enforced_makes_no_grammar():
    with pytest.raises(SchemaFault):
        grammar_of(JsonFormat(schema={"not": {}}))
    assert accepts(f"start: {json_value({'not': {}, 'type': 'null'}, lenient=True)}", "null")


def test_a_client_can_not_set_the_compiler_s_options():
    """llguidance reads ``x-guidance``, with which a schema could let itself be ignored."""
    sly = {"x-guidance": {"lenient": True, "whitespace_flexible": True}, "type": "array"}
    assert accepts(grammar_of(JsonFormat(schema=sly)), "[1,2]")
    assert not accepts(grammar_of(JsonFormat(schema=sly)), "[1, 2]")
    with pytest.raises(SchemaFault):
        grammar_of(JsonFormat(schema=sly | {"uniqueItems": True}))


def test_a_literal_is_exactly_its_text():
    text = '<tool_call>{"name": 1}'
    grammar = f"start: {literal(text)}"
    assert accepts(grammar, text)
    assert not accepts(grammar, '<tool_call>{"name":1}')


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "array", "items": {"type": "integer"}, "minItems": 10, "maxItems": 1000}, id="items"),
        pytest.param({"type": "string", "maxLength": 200_000, "minLength": 2000}, id="characters"),
        pytest.param({"type": "string", "pattern": "^a{1,5000}$"}, id="repetition"),
    ],
)
def test_large_bounds_cost_nothing(schema):
    """llama.cpp#6555 and #25746: such bounds were written out, and hung or failed."""
    grammar = grammar_of(JsonFormat(schema=schema))
    assert len(grammar) < 1000
    assert not accepts(grammar, "[]")
