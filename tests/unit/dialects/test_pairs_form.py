from __future__ import annotations

import pytest

from dragoman.core.errors import Unsupported
from dragoman.core.json import JsonObject
from dragoman.core.request import ToolSpec
from dragoman.dialects.lark import Lark
from dragoman.dialects.pairs_form import PairsForm
from support.grammars import accepts

SPECIALS = ("<k>", "</k>")
LARK = Lark((), {})
TAGS = PairsForm(before="<f=", middle=">", key="<p=", assign=">", end="</p>", after="</f>", assign_json=" json>")
TOKENS = PairsForm(before="", middle=":", key="<k>", assign="=", end="</k>", after=";")


def takes(text: str, parameters: JsonObject | None, *, strict: bool = False, form: PairsForm = TAGS) -> bool:
    lark = LARK if form is TAGS else Lark(SPECIALS, {})
    rules = form.rules(ToolSpec(name="f", parameters=parameters, strict=strict), "call", lark)
    return accepts(f"start: call\n{rules}", text, specials=() if form is TAGS else SPECIALS)


def properties(required: tuple[str, ...] = (), **named: JsonObject) -> JsonObject:
    return {"type": "object", "properties": named, "required": list(required)}


BOTH = properties(("city",), city={"type": "string"}, days={"type": "integer"})


def test_strings_are_text_and_others_json():
    assert takes("<f=f><p=city>a <b> \n</p><p=days json>3</p></f>", BOTH)
    assert not takes("<f=f><p=city>a</p><p=days json>three</p></f>", BOTH)
    assert not takes("<f=f><p=city>a</p><p=days>3</p></f>", BOTH)


def test_what_is_required_stands_there_and_nothing_unknown_does():
    assert takes("<f=f><p=city>a</p></f>", BOTH)
    assert not takes("<f=f><p=days json>3</p></f>", BOTH)
    assert not takes("<f=f><p=city>a</p><p=x>b</p></f>", BOTH)
    assert takes("<f=f></f>", None)
    assert not takes("<f=f><p=x>b</p></f>", None)


def test_a_closing_tag_that_is_a_token_leaves_its_letters_to_the_text():
    assert takes("f:<k>city=a<␟/k></k>;", BOTH, form=TOKENS)
    assert takes("f:<k>city=</k><k>days=3</k>;", BOTH, form=TOKENS)


@pytest.mark.parametrize("schema", [{"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}])
def test_a_string_of_few_is_one_of_them(schema: JsonObject):
    parameters = properties(("kind",), kind=schema)
    assert takes("<f=f><p=kind>b</p></f>", parameters)
    assert not takes("<f=f><p=kind>c</p></f>", parameters)


def test_what_may_be_a_string_is_text():
    parameters = properties(("x",), x={"anyOf": [{"type": "integer"}, {"type": "string"}]})
    assert takes("<f=f><p=x>12</p></f>", parameters)
    assert takes("<f=f><p=x>a dozen</p></f>", parameters)


def test_definitions_are_found():
    parameters = {**properties(("at",), at={"$ref": "#/$defs/point"}), "$defs": {"point": {"type": "array"}}}
    assert takes("<f=f><p=at json>[1]</p></f>", parameters)
    assert not takes("<f=f><p=at json>1</p></f>", parameters)


def test_any_keys_stand_where_none_are_named():
    assert takes("<f=f><p=x>1</p><p=y_z>b</p></f>", {"additionalProperties": True})


class TestStrictTools:
    @pytest.mark.parametrize(
        "parameters, reason",
        [
            ({"additionalProperties": True}, "not all named"),
            (properties(city={"type": "string", "pattern": "^a"}), "'pattern' of 'city'"),
            (properties(days={"type": "integer", "not": {"const": 1}}), "not"),
        ],
    )
    def test_what_cannot_be_enforced_is_refused_by_name(self, parameters: JsonObject, reason: str):
        with pytest.raises(Unsupported, match=reason) as failure:
            takes("", parameters, strict=True)
        assert failure.value.feature == "tools"

    def test_the_rest_is_not(self):
        assert takes("<f=f><p=city>a</p></f>", BOTH, strict=True)


def test_a_string_or_what_is_defined_elsewhere_is_json():
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    parameters = {**properties(("at",), at={"anyOf": [{"type": "string"}, {"$ref": "#/$defs/point"}]})}
    parameters["$defs"] = {"point": point}
    assert takes('<f=f><p=at json>{"x":1}</p></f>', parameters, strict=True)
    assert takes('<f=f><p=at json>"here"</p></f>', parameters, strict=True)
    assert not takes('<f=f><p=at json>{"x":"1"}</p></f>', parameters, strict=True)


def test_an_option_that_looks_like_a_token_is_spelled():
    parameters = properties(("kind",), kind={"enum": ["</k>", "b"]})
    assert takes("f:<k>kind=<␟/k></k>;", parameters, form=TOKENS)
    assert not takes("f:<k>kind=</k></k>;", parameters, form=TOKENS)


def test_definitions_are_written_where_they_are_referred_to_alone():
    """Or a tool with many arguments and large definitions makes a grammar that no engine takes."""
    named = {f"n{number}": {"type": "integer"} for number in range(50)}
    tool = ToolSpec(name="f", parameters={**properties(**named), "$defs": {"point": {"const": "so long" * 10}}})
    assert "so long" not in TAGS.rules(tool, "call", LARK)
