from __future__ import annotations

import json

import pytest

from dragoman.dialects.nested import MARK, NestedArguments

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "area": {
            "type": "object",
            "properties": {"km": {"type": "number"}, "within": {"type": "array", "items": {"type": "object"}}},
        },
        "box": {"type": "object", "properties": {"item": {"type": "string"}}},
        "note": {"type": ["string", "null"]},
    },
}


def marked(text: str) -> str:
    """With a mark before each tag."""
    return text.replace("<", f"{MARK}<")


CASES = [
    ("</invoke>", {}),
    ("<city>Paris</city></invoke>", {"city": "Paris"}),
    ("\n<city> Pa\nris </city>\n<days>3</days>\n</invoke>", {"city": " Pa\nris ", "days": 3}),
    ("<city></city></invoke>", {"city": ""}),
    ("<city>12</city></invoke>", {"city": "12"}),
    ("<tags><item>a</item><item>1</item></tags></invoke>", {"tags": ["a", "1"]}),
    ("<tags></tags><area></area></invoke>", {"tags": [], "area": {}}),
    (
        "<area>\n<km>1.5</km><within><item><a>x</a></item><item><a>2</a></item></within></area></invoke>",
        {"area": {"km": 1.5, "within": [{"a": "x"}, {"a": 2}]}},
    ),
    ("<box><item>a</item></box></invoke>", {"box": {"item": "a"}}),
    ("<note>null</note></invoke>", {"note": None}),
    ("<note>nil</note></invoke>", {"note": "nil"}),
    ("<unheard>[1]</unheard></invoke>", {"unheard": [1]}),
    ('<tags>["a","b"]</tags></invoke>', {"tags": ["a", "b"]}),
]


@pytest.mark.parametrize("text, meant", CASES, ids=[text for text, _ in CASES])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_tags_become_the_json_that_they_mean_however_they_are_cut(text: str, meant: dict, step: int):
    whole = marked(text) + "behind"
    reader = NestedArguments(SCHEMA)
    said, read = "", 0
    while not reader.done:
        said += reader.feed(whole[read : read + step])
        read += step
    assert json.loads(said) == meant
    assert reader.rest + whole[read:] == "behind"
    assert not reader.failed


def test_tags_without_marks_are_text():
    reader = NestedArguments(SCHEMA)
    assert json.loads(reader.feed(f"{MARK}<city><b>Paris</b> & </city>{MARK}</city>{MARK}</invoke>")) == {
        "city": "<b>Paris</b> & </city>"
    }


def test_a_string_goes_out_as_it_comes_and_other_values_when_they_are_whole():
    reader = NestedArguments(SCHEMA)
    assert reader.feed(f"{MARK}<city>Pa") == '{"city":"Pa'
    assert reader.feed("ris]<") == "ris"
    assert reader.feed(f"{MARK[2:]}</city>{MARK}<days>1") == '","days":'
    assert reader.feed("2") == ""
    assert reader.feed(f"{MARK}</days>") == "12"


@pytest.mark.parametrize("text", ["<city>Paris</invoke>", "<days>3</invoke>"])
def test_a_call_that_ends_within_an_argument_is_broken(text: str):
    reader = NestedArguments(SCHEMA)
    reader.feed(marked(text))
    assert reader.failed or not reader.done


def test_a_mark_before_what_is_no_tag_is_broken():
    reader = NestedArguments(SCHEMA)
    assert reader.feed(f"{MARK}city") == ""
    assert reader.failed
