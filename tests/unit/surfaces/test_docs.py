from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dragoman.core.errors import Code
from dragoman.surfaces import openai_chat, openai_completions

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "api.md"


def test_the_tables_of_the_page_are_the_ones_that_requests_are_read_with():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "generate_docs.py", "--check"], check=False)
    assert done.returncode == 0


def test_the_page_names_every_field_and_every_code():
    page = PAGE.read_text(encoding="utf-8")
    rows = (*openai_chat.FIELDS, *openai_completions.FIELDS)
    assert [row.name for row in rows if f"`{row.name}`" not in page] == []
    assert [code for code in Code if f"`{code}`" not in page] == []
