"""Substitutions fit exactly, or are not made; the source distribution unpacks to its one directory."""

from __future__ import annotations

import tarfile

import pytest

from llama_source import CPU_SUBSTITUTIONS, Substitution, unpack

WIDER = Substitution(name="wider", reason="a test", file="src/pad.cpp", old="pad = 256;", new="pad = 64;")


def tree(path, text):
    (path / "src").mkdir()
    (path / "src" / "pad.cpp").write_bytes(text)
    return path


def test_a_text_that_is_there_once_is_replaced_and_nothing_else_is(tmp_path):
    assert WIDER.apply(tree(tmp_path, b"int pad = 256;\r\n// \xff 256\n")) is None
    assert (tmp_path / "src" / "pad.cpp").read_bytes() == b"int pad = 64;\r\n// \xff 256\n"


@pytest.mark.parametrize(
    ("text", "count"), [(b"int pad = 512;\n", "0 times"), (b"int pad = 256;\nint other_pad = 256;\n", "2 times")]
)
def test_a_text_that_is_not_there_exactly_once_is_left_and_told(tmp_path, text, count):
    fault = WIDER.apply(tree(tmp_path, text))
    assert fault == f"src/pad.cpp has the text to replace {count}, not once"
    assert (tmp_path / "src" / "pad.cpp").read_bytes() == text


def test_a_file_that_another_version_does_not_have_is_told(tmp_path):
    assert WIDER.apply(tmp_path) == "this version has no src/pad.cpp"


def test_no_two_substitutions_share_a_name_and_each_changes_something():
    assert len({one.name for one in CPU_SUBSTITUTIONS}) == len(CPU_SUBSTITUTIONS)
    assert all(one.old != one.new and one.reason for one in CPU_SUBSTITUTIONS)


def test_an_archive_unpacks_to_the_directory_that_it_holds(tmp_path):
    inside = tmp_path / "llama-9.9"
    inside.mkdir()
    tree(inside, b"int pad = 256;\n")
    with tarfile.open(tmp_path / "llama-9.9.tar.gz", "w:gz") as tar:
        tar.add(inside / "src" / "pad.cpp", arcname="llama-9.9/src/pad.cpp")
    root = unpack(tmp_path / "llama-9.9.tar.gz", tmp_path / "into")
    assert root == tmp_path / "into" / "llama-9.9"
    assert (root / "src" / "pad.cpp").read_bytes() == b"int pad = 256;\n"
