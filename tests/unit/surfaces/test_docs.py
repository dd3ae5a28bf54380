from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.core.errors import Code
from dragoman.surfaces import (
    anthropic_block_readers,
    anthropic_fields,
    openai_chat,
    openai_completions,
    responses_fields,
    responses_items,
)
from dragoman.surfaces.openapi_routes import OPERATIONS

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
FIELDS = {
    "api.md": (openai_chat.FIELDS, openai_completions.FIELDS),
    "messages.md": (anthropic_fields.FIELDS,),
    "responses.md": (responses_fields.FIELDS, *(table for table, _, _ in responses_items.KINDS.values())),
}


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_tables_of_the_pages_are_the_ones_that_requests_are_read_with():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "generate_docs.py", "--check"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("name", FIELDS)
def test_a_page_names_every_field(name: str):
    text = page(name)
    assert [row.name for table in FIELDS[name] for row in table if f"`{row.name}`" not in text] == []


def test_a_page_names_every_code():
    assert [code for code in Code if f"`{code}`" not in page("api.md")] == []


def test_a_page_names_every_content_block():
    text = page("messages.md")
    readers = (
        anthropic_block_readers.OF_USERS,
        anthropic_block_readers.OF_ASSISTANTS,
        anthropic_block_readers.OF_SYSTEMS,
        anthropic_block_readers.OF_RESULTS,
    )
    assert [kind for kinds in readers for kind in kinds if f"`{kind}`" not in text] == []


def test_the_pages_tell_of_every_route():
    text = page("api.md") + page("messages.md") + page("responses.md")
    short = {"{response_id}": "{id}", "{conversation_id}": "{id}", "{model}": "{id}", "{item_id}": "{item}"}
    for operation in OPERATIONS:
        path = operation.path
        for name, other in short.items():
            path = path.replace(name, other)
        assert path == "/" or f"{path}`" in text, path
