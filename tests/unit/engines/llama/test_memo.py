"""The memo survives restarts, strangers and damage."""

from __future__ import annotations

import json

import pytest

from dragoman.engines.llama.memo import Memo

VALUE = [{"seconds": 0.5, "layout": {"unified": False}}]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "tuning.json"


def test_what_was_saved_is_loaded_by_the_next_process(path) -> None:
    Memo(path, "model", "build").save(VALUE)
    assert Memo(path, "model", "build").load() == VALUE


def test_nothing_is_remembered_before_the_first_save(path) -> None:
    assert Memo(path, "model").load() is None


@pytest.mark.parametrize("other", [("model", "other"), ("model",), ("modelbuild",), ("model", "build", "")])
def test_another_key_has_another_value(path, other) -> None:
    mine, theirs = Memo(path, "model", "build"), Memo(path, *other)
    mine.save(VALUE)
    assert theirs.load() is None
    theirs.save("theirs")
    assert (mine.load(), theirs.load()) == (VALUE, "theirs")


def test_a_new_value_replaces_the_old_one(path) -> None:
    memo = Memo(path, "model")
    memo.save(1)
    memo.save(2)
    assert memo.load() == 2
    assert len(json.loads(path.read_text())) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"7", b"null", b"\xff\xfe"])
def test_a_damaged_file_is_forgotten_and_replaced(path, content) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    memo = Memo(path, "model")
    assert memo.load() is None
    memo.save(VALUE)
    assert memo.load() == VALUE


def test_without_a_path_nothing_is_remembered() -> None:
    memo = Memo(None, "model")
    memo.save(VALUE)
    assert memo.load() is None


def test_a_place_that_cannot_be_written_costs_nothing_but_the_memory(tmp_path) -> None:
    (tmp_path / "file").write_text("in the way")
    memo = Memo(tmp_path / "file" / "tuning.json", "model")
    memo.save(VALUE)
    assert memo.load() is None


def test_no_half_written_file_is_left_beside_it(path) -> None:
    Memo(path, "model").save(VALUE)
    assert [entry.name for entry in path.parent.iterdir()] == ["tuning.json"]
