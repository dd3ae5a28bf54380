"""The checks of the tree: each must be able to fail."""

from __future__ import annotations

import pytest

import check_locks
import check_sizes

HASH = "--hash=sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("lines", "reasons", "complaints"),
    [
        (400, {}, []),
        (401, {}, ["a.py has 401 lines; above 400 it needs a reason in scripts/check_sizes.py"]),
        (401, {"a.py": "one table"}, []),
        (601, {"a.py": "one table"}, ["a.py has 601 lines; 600 is the end, split it"]),
        (400, {"a.py": "one table"}, ["a.py needs no reason any more"]),
    ],
)
def test_long_files_need_a_reason_and_longer_ones_have_none(lines, reasons, complaints):
    assert check_sizes.faults({"a.py": lines}, reasons) == complaints


def test_a_long_test_file_needs_no_reason_but_has_an_end():
    assert check_sizes.faults({"tests/test_a.py": 600}, {}) == []
    assert check_sizes.faults({"tests/test_a.py": 601}, {}) != []


def test_a_lock_is_read_with_its_markers_and_continued_lines():
    text = f"# comment\nOne_Package==1.0 ; sys_platform == 'win32' \\\n    {HASH} \\\n    {HASH}\n    # via two\ntwo==2 {HASH}\n"
    assert check_locks.parse_lock(text) == [
        check_locks.Pin(name="one-package", version="1.0", hashes=2),
        check_locks.Pin(name="two", version="2", hashes=1),
    ]


@pytest.mark.parametrize(
    ("locks", "complaint"),
    [
        ({"a": "one==1\n"}, "a.lock does not hash one"),
        ({"a": f"# from https://x.example/\none==1 {HASH}\n"}, "a.lock contains an address"),
        ({"a": f"one==1 {HASH}\n", "b": f"one==2 {HASH}\n"}, "one differs between locks"),
    ],
)
def test_locks_without_hashes_with_addresses_or_of_two_minds_are_refused(locks, complaint):
    assert complaint in "\n".join(check_locks.lock_faults(locks))


def test_a_line_that_pins_nothing_is_refused():
    with pytest.raises(ValueError, match="not a pin: one>=1"):
        check_locks.parse_lock("one>=1\n")


def test_a_requirement_that_no_pin_satisfies_is_missing():
    pins = [check_locks.Pin(name="one", version="1.5", hashes=1)]
    assert check_locks.missing(["one>=1", "One>=2", "two"], pins) == ["One>=2", "two"]
