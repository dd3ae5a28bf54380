"""What an operator may write for the place of a store."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dragoman.store.failures import StoreError
from dragoman.store.place import Memory, PostgresServer, SqliteFile, locate


@pytest.mark.parametrize("text", ["memory", "sqlite://", "sqlite:///:memory:"])
def test_memory_has_these_names(text):
    assert locate(text) == Memory()


@pytest.mark.parametrize(
    "text, path",
    [
        ("store.db", "store.db"),
        ("/var/lib/store.db", "/var/lib/store.db"),
        ("sqlite:///store.db", "store.db"),
        ("sqlite:////var/lib/store.db", "/var/lib/store.db"),
        ("a%20b?c#d.db", "a%20b?c#d.db"),
    ],
)
def test_a_path_is_a_file(text, path):
    assert locate(text) == SqliteFile(Path(path))


@pytest.mark.parametrize("text", ["~/store.db", "sqlite:///~/store.db"])
def test_a_path_may_begin_at_home(text, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert locate(text) == SqliteFile(Path("/home/ada/store.db"))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg"])
def test_a_url_is_a_server_and_its_password_is_never_told(scheme):
    place = locate(f"{scheme}://ada:s3cret@db.example:5433/dragoman?ssl=require")
    assert isinstance(place, PostgresServer)
    assert place.url.drivername == "postgresql+asyncpg"
    assert place.url.password == "s3cret"
    assert str(place) == "postgresql://ada:***@db.example:5433/dragoman?ssl=require"
    assert "s3cret" not in repr(place)


@pytest.mark.parametrize(
    "text", ["", "mysql://ada:s3cret@host/db", "http://host", "postgresql://ada:s3cret@host:port/db"]
)
def test_anything_else_is_refused_with_the_forms_that_there_are(text):
    with pytest.raises(StoreError) as caught:
        locate(text)
    assert "memory" in caught.value.hint
    assert "s3cret" not in str(caught.value)


def test_a_server_without_its_driver_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StoreError, match="asyncpg") as caught:
        locate("postgresql://host/db")
    assert caught.value.hint == "pip install 'dragoman[postgres]'"


@pytest.mark.parametrize("name", ["sslmode", "ssl"])
def test_libpq_s_word_for_encryption_is_understood(name: str) -> None:
    """``sslmode`` is what hosts of PostgreSQL write into the URLs that they give out."""
    place = locate(f"postgresql://ada:s3cret@db.example/dragoman?{name}=require")
    assert isinstance(place, PostgresServer)
    assert place.url.query == {"ssl": "require"}


def test_a_parameter_that_is_none_is_refused_by_name_and_the_password_is_not_told() -> None:
    with pytest.raises(StoreError, match="'channel_binding'") as caught:
        locate("postgresql://ada:s3cret@db.example/dragoman?sslmode=require&channel_binding=require")
    assert caught.value.hint is not None
    assert "sslmode" in caught.value.hint
    assert "s3cret" not in f"{caught.value}{caught.value.hint}"
