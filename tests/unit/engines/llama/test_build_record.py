"""What the engine knows of its build is what the set-up noted, and nothing where it noted nothing."""

from __future__ import annotations

import pytest

from dragoman.engines.llama.build_record import substitutions


def test_the_substitutions_on_record_are_told_in_one_order(tmp_path):
    record = tmp_path / "llama-build.json"
    record.write_text('{"key": "k", "substitutions": ["two", "one"]}', encoding="utf-8")
    assert substitutions(record) == ("one", "two")


@pytest.mark.parametrize("text", ['{"key": "k"}', '{"substitutions": null}', "[]", "cut sho"])
def test_a_record_that_says_nothing_of_them_is_no_failure(tmp_path, text):
    record = tmp_path / "llama-build.json"
    record.write_text(text, encoding="utf-8")
    assert substitutions(record) == ()


def test_a_library_from_elsewhere_has_no_record(tmp_path):
    assert substitutions(tmp_path / "missing.json") == ()
