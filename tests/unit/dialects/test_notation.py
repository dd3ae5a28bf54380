"""Arguments in Python and in Gemma's notation; what they mean is told by Python's own parser, and by hand."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.gemma4 import NOTATION as GEMMA
from dragoman.dialects.notation import PYTHON, ArgumentsReader, Notation
from support.chunking import check_chunking


def read(notation: Notation, text: str) -> tuple[str, bool, str]:
    reader = ArgumentsReader(notation)
    return reader.feed(text), reader.done, reader.rest


PYTHON_CALLS = [
    "f()",
    "f(a=1, b=-2.5, c=1e-07, d=True, e=False, g=None)",
    """f(a='it\\'s', b="say \\"hi\\"", c='''two\nlines "quoted"''', d="", e='\\x41\\u00e9\\101\\t\\\\ x')""",
    "f(a=[1, [2, ()], {'k': {'l': [None]}}], b=(1, 'x',), c={},)",
    "f(\n    a = 0x10 ,\n    b = 1_000 ,\n)",
    "f(**{'a-b': 1, 'c': [2]}, d=3)",
    "f(a='🌧 é \\U0001F327', b='){}[],=:')",
]


@pytest.mark.parametrize("call", PYTHON_CALLS)
def test_keyword_arguments_mean_what_python_says(call: str):
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    wanted = {}
    for keyword in tree.keywords:
        value = ast.literal_eval(keyword.value)
        wanted |= {keyword.arg: value} if keyword.arg else value
    text, done, rest = read(PYTHON, call[2:] + " behind")
    assert done
    assert rest == " behind"
    assert json.loads(text) == json.loads(json.dumps(wanted))


@pytest.mark.parametrize(
    "written, meant",
    [
        ("}", {}),
        ('city:<|"|>Paris<|"|>,days:3}', {"city": "Paris", "days": 3}),
        ('q:<|"|>say "hi"\\n\n}<tool_call|><|"|>}', {"q": 'say "hi"\\n\n}<tool_call|>'}),
        ('q:"say \\"hi\\"\\n"}', {"q": 'say "hi"\n'}),
        ('a:{b:[true,null,{c:<|"|><|"|>}],d:-1.5e3},"k":0}', {"a": {"b": [True, None, {"c": ""}], "d": -1500}, "k": 0}),
        ("city:San José,x:07}", {"city": "San José", "x": 7}),
        ("a,b:}", {"a": None, "b": ""}),
        ("a:1, , b:2 , ,}", {"a": 1, "b": 2}),
    ],
)
def test_objects_with_quotes_of_their_own_mean_what_their_template_writes(written: str, meant: dict):
    text, done, _ = read(GEMMA, written)
    assert done
    assert json.loads(text) == meant


@pytest.mark.parametrize(
    "notation, text", [(PYTHON, call[2:]) for call in PYTHON_CALLS] + [(GEMMA, 'a:{b:[1,<|"|>x<|<|"|>]}}')]
)
def test_the_json_is_the_same_under_every_split(notation: Notation, text: str):
    def start() -> Callable[[str], list[str]]:
        reader = ArgumentsReader(notation)
        return lambda piece: [reader.feed(piece)]

    check_chunking(
        start,
        text,
        [read(notation, text)[0]],
        joined=lambda outs: ["".join(outs)],
    )


def test_strings_go_out_as_they_come():
    reader = ArgumentsReader(GEMMA)
    assert [reader.feed(piece) for piece in ('city:<|"|>Pa', "ri", 's<|"', "|>", "}")] == [
        '{"city":"Pa',
        "ri",
        "s",
        '"',
        "}",
    ]


@pytest.mark.parametrize("surrogates", ["'\\ud83d\\ude00'", "'\\ud83d'"])
def test_halves_of_characters_stay_escapes(surrogates: str):
    text, _, _ = read(PYTHON, f"a={surrogates})")
    assert text.encode("utf-8").isascii()
    meant = ast.literal_eval(surrogates).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(text) == {"a": meant}


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)))  # fmt: skip
def test_whatever_python_writes_is_read_back(arguments: dict):
    written = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    text, done, _ = read(PYTHON, f"{written})")
    assert done
    assert json.loads(text) == arguments


@given(st.text(alphabet="ab=:,'\"\\{}[]()* 1<|>\n", min_size=1))
def test_what_is_taken_back_is_nothing_and_what_ends_is_an_object(noise: str):
    reader = ArgumentsReader(PYTHON)
    text = "".join(map(reader.feed, noise))
    assert read(PYTHON, noise) == (text, reader.done, reader.rest)
    assert not reader.done or isinstance(json.loads(text), dict)
