from __future__ import annotations

import re

import pytest

from dragoman.dialects.control import ControlTexts
from dragoman.dialects.literals import any_of
from dragoman.dialects.veil import Veil

NOTHING = re.compile("(?!)")


def veil_of(*specials: str, texts: tuple[str, ...] = (), spared: re.Pattern[str] = NOTHING) -> Veil:
    return Veil(ControlTexts(specials), texts=texts, spared=spared)


def test_a_veil_hides_the_characters_of_control_tokens_one_for_one_and_can_be_lifted():
    veil = veil_of("<|a|>")
    covered = veil.cover("x <|a|> y")
    assert len(covered) == 9
    assert covered[:2] + covered[7:] == "x  y"
    assert not set("<|a>") & set(covered)
    assert veil.lift(covered) == "x <|a|> y"


def test_text_in_which_the_usual_stand_ins_occur_gets_others():
    look_alikes = "".join(map(chr, range(0x20000, 0x20010)))
    veil = veil_of("<a>", texts=(look_alikes,))
    assert veil.cover(look_alikes) == look_alikes
    assert veil.lift(look_alikes + veil.cover("<a>")) == look_alikes + "<a>"


def test_text_that_uses_every_stand_in_is_refused():
    with pytest.raises(ValueError, match="every character"):
        veil_of("<a>", texts=("".join(map(chr, range(0x20000, 0x2A6E0))),))


def test_spared_texts_are_left_as_they_are():
    covered = veil_of("<|x|>", spared=any_of(("</think>",))).cover("<x</think>|")
    assert covered[2:10] == "</think>"
    assert not set("<x|") & set(covered[:2] + covered[10:])


@pytest.mark.parametrize(
    "pieces, spans",
    [
        # (text, whether the client wrote it) ...
        ([("<|a|>", False), ("hi", True)], []),
        ([("<|a|>", True)], [(0, 5)]),
        ([("<|", True), ("a|>", False)], [(0, 2)]),
        ([("<|", False), ("a", True), ("|>", False)], [(2, 3)]),
        ([("<|a", True), ("|>", True)], [(0, 5)]),
        ([("<|a|>", True), (" and ", True), ("<|a|>", True)], [(0, 15)]),
        ([("<|a|>", True), ("<|a|>", False), ("<|a|>", True)], [(0, 5), (10, 15)]),
        ([("<|a|", True), ("<|a|>", False)], []),
        ([("<|a|>", False), ("<|a", True)], []),
    ],
)
def test_spans_cover_the_clients_share_of_every_token_and_spare_the_templates_own(
    pieces: list[tuple[str, bool]], spans: list[tuple[int, int]]
):
    veil = veil_of("<|a|>")
    text = "".join(piece for piece, _ in pieces)
    veiled = "".join(veil.cover(piece) if client else piece for piece, client in pieces)
    assert list(veil.plain_spans(text, veiled)) == spans


def test_a_token_inside_a_longer_text_that_the_client_completes_stays_the_templates():
    veil = veil_of("<a>", "<a>b")
    assert veil.plain_spans("<a>b", "<a>" + veil.cover("b")) == ((3, 4),)
