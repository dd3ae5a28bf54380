"""Which texts can name something."""

from __future__ import annotations

import pytest

from dragoman.store.names import is_name


@pytest.mark.parametrize("text", ["resp_1", "x" * 256, "日本", "🙂", " ", "a\nb"])
def test_a_text_that_every_database_can_hold_is_a_name(text):
    assert is_name(text)


@pytest.mark.parametrize("text", ["", "x" * 257, "a\0b", "\ud83d", None, 7, ["a"]])
def test_all_else_is_none(text):
    assert not is_name(text)
