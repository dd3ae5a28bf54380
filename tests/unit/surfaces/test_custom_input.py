from __future__ import annotations

import json

import pytest

from dragoman.surfaces.custom_input import CustomInput
from support.chunking import check_chunking

PATCH = '*** Begin Patch\n*** Add File: "a\\b".py\n+\tprint("é 👩‍🚀")\n*** End Patch'


def unwrapped(arguments: str) -> str:
    custom = CustomInput()
    return custom.feed(arguments) + custom.end()


def check(arguments: str, expected: str) -> None:
    """However the arguments are cut, what is fed out before the end and at the end joins to the same."""
    assert unwrapped(arguments) == expected
    for cut in range(len(arguments) + 1):
        custom = CustomInput()
        assert custom.feed(arguments[:cut]) + custom.feed(arguments[cut:]) + custom.end() == expected, cut
    custom = CustomInput()
    assert "".join(custom.feed(character) for character in arguments) + custom.end() == expected


@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "as it is"])
@pytest.mark.parametrize("text", ["", "x", PATCH, '"\\"', "\b\f\n\r\t\0/"])
def test_a_string_comes_out_as_it_was_before_it_was_json(text, ascii_only):
    check(json.dumps({"input": text}, ensure_ascii=ascii_only), text)


@pytest.mark.parametrize("spaced", ['{"input":"x"}', ' {\n\t"input" : "x" }\r\n', '{"input":"x","more":1}'])
def test_what_stands_around_the_string_does_not_matter(spaced):
    check(spaced, "x")


def test_text_is_told_as_soon_as_it_is_certain():
    custom = CustomInput()
    fed = [custom.feed(piece) for piece in ['{"inp', 'ut":"a', "b\\", "nc\\ud83d", "\\ude00", '"', "}"]]
    assert fed == ["", "a", "b", "\nc", "\N{GRINNING FACE}", "", ""]
    assert custom.end() == ""


# RFC 8259, 7: such escapes are grammatical; no Unicode text holds what they would stand for.
@pytest.mark.parametrize(
    ("escapes", "text"),
    [
        (r"\ud83d", "\ufffd"),
        (r"\ude00x", "\ufffdx"),
        (r"\ud83d\n", "\ufffd\n"),
        (r"\ud83d\u0041", "\ufffdA"),
        (r"\ud83d\ud83d\ude00", "\ufffd\N{GRINNING FACE}"),
        (r"\uD83D\uDE00", "\N{GRINNING FACE}"),
    ],
)
def test_half_a_character_is_replaced(escapes, text):
    check(f'{{"input":"{escapes}"}}', text)


def test_a_member_that_comes_later_is_found_at_the_end():
    check('{"why":"so","input":"x"}', "x")


@pytest.mark.parametrize("arguments", ['{"code":"x"}', '{"input":7}', '["x"]', '"x"'])
def test_what_is_not_in_the_form_is_told_as_it_was_written(arguments):
    check(arguments, arguments)


def test_no_arguments_are_no_input():
    check("", "")


@pytest.mark.parametrize(
    ("cut", "text"),
    [('{"inp', ""), ('{"input":', ""), ('{"input":"ab', "ab"), ('{"input":"ab\\u00', "ab"), ('{"co', "")],
)
def test_arguments_that_were_cut_give_what_was_said(cut, text):
    check(cut, text)


def test_a_long_input_is_fed_out_while_it_comes():
    def start():
        custom = CustomInput()
        return lambda piece: [custom.feed(piece)]

    check_chunking(start, json.dumps({"input": PATCH}), [PATCH], joined=lambda out: ["".join(out)])
