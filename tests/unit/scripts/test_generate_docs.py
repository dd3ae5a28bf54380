"""The comparison with other servers: our half comes from the tables that requests are read with, theirs from the facts."""

from __future__ import annotations

import pytest

import generate_docs
import peer_facts
from dragoman.surfaces import openai_chat, openai_completions
from dragoman.surfaces.fields import Table, honoured, ignored, refused
from dragoman.surfaces.readers import BOOLEAN

CHAT = Table(honoured("seed", BOOLEAN, "x"), refused("echo", "x", False), ignored("nobody_knows_it", "x"))
COMPLETIONS = Table(honoured("seed", BOOLEAN, "x"), honoured("echo", BOOLEAN, "x"))


def row(name: str) -> list[str]:
    page = generate_docs.peers({"chat": CHAT, "completions": COMPLETIONS})()
    (line,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    return [cell.strip() for cell in line.strip("| ").split("|")]


def test_a_field_that_the_surfaces_treat_alike_has_one_word():
    assert row("seed")[1] == "yes"
    assert row("nobody_knows_it")[1] == "no, and says so"


def test_a_field_that_they_treat_differently_is_told_for_each():
    assert row("echo")[1] == "chat: refuses; completions: yes"


def test_a_field_without_facts_is_dropped_where_the_whole_type_was_read_and_unknown_elsewhere():
    assert row("nobody_knows_it")[2:] == ["dropped", "dropped", "?", "?"]


@pytest.mark.parametrize(
    "peer, field, word",
    [
        ("Ollama", "n", "dropped"),
        ("Ollama", "top_k", "not on /v1"),
        ("vLLM", "suffix", "refuses"),
        ("llama-server", "n", "up to its slots"),
        ("llama-server", "xtc_probability", "yes"),
        ("SGLang", "xtc_probability", "dropped"),
    ],
)
def test_what_was_looked_up_is_told(peer, field, word):
    assert peer_facts.fact(peer, field) == word


def test_every_fact_is_about_a_field_that_we_have_a_row_for():
    known = {row.name for table in (openai_chat.FIELDS, openai_completions.FIELDS) for row in table}
    told = {*peer_facts.SAID, *(field for taken, _ in peer_facts.TAKES.values() for field in taken)}
    assert told - known == set()


def test_a_table_that_does_not_exist_is_a_fault():
    with pytest.raises(KeyError):
        generate_docs.render("<!-- table: nothing -->\n<!-- end -->")
