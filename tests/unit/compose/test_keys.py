"""Keys from settings and file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.compose.failure import StartFailed
from dragoman.compose.keys import api_keys
from dragoman.settings import Settings


def test_without_keys_none_is_asked_for() -> None:
    assert api_keys(Settings()) == ()


@pytest.mark.seeds("S5")
def test_the_files_keys_come_after_the_settings_own(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\nsecond\n\n  third  \nfirst\n")
    assert api_keys(Settings(api_keys=("first",), api_key_file=file)) == ("first", "second", "third")


def test_a_key_file_that_protects_nothing_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# later\n")
    with pytest.raises(StartFailed, match="holds no key"):
        api_keys(Settings(api_key_file=file))
    with pytest.raises(StartFailed, match="cannot be read: No such file"):
        api_keys(Settings(api_key_file=tmp_path / "absent"))
