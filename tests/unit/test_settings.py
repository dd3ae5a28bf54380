"""Settings: which source wins, what is refused, and that the docs name every flag and variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.settings import Settings, SettingsError, load, options

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def write(path: Path, text: str) -> Path:
    file = path / "dragoman.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_any_source_the_defaults_hold() -> None:
    home = Path("~").expanduser()
    assert load({}, {}) == Settings(
        cache_dir=home / ".cache/dragoman", store=str(home / ".local/share/dragoman/store.sqlite3")
    )


@pytest.mark.seeds("S5", "S64", "S128", "S133")
def test_the_defaults_are_the_documented_ones() -> None:
    settings = load({}, {})
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert (settings.max_queue, settings.queue_timeout, settings.slots) == (8, 300.0, 16)
    assert settings.drain_timeout == 30.0
    assert settings.api_keys == ()
    assert not settings.allow_insecure_bind
    assert settings.continue_assistant


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(tmp_path: Path) -> None:
    file = write(tmp_path, "port = 3\nslots = 3\nmax_queue = 3\n")
    settings = load({"port": "1", "config": str(file)}, {"DRAGOMAN_PORT": "2", "DRAGOMAN_SLOTS": "2"})
    assert (settings.port, settings.slots, settings.max_queue, settings.threads) == (1, 2, 3, 0)


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    file = write(tmp_path, 'engine = "simulated"\n')
    assert load({}, {"DRAGOMAN_CONFIG": str(file)}).engine == "simulated"


def test_every_setting_can_be_set_by_its_flag_and_by_its_variable(tmp_path: Path) -> None:
    file = write(tmp_path, "")
    sample = {"integer": "65", "number": "2.5", "true|false": "true", "path": str(file), "text": "x", "list": "x"}
    for option in options():
        text = option.choices[-1] if option.choices else sample[option.kind]
        text = "7" if option.key == "slots" else text
        text = "false" if option.default == "true" else text
        from_flag = getattr(load({option.key: text}, {}), option.key)
        from_variable = getattr(load({}, {option.variable: text}), option.key)
        assert from_flag == from_variable != getattr(load({}, {}), option.key), option.key


def test_every_setting_but_the_file_itself_can_be_set_in_the_file(tmp_path: Path) -> None:
    keys = {option.key for option in options()} - {"config"}
    lines = {
        "integer": "65", "number": "2.5", "true|false": "true", "path": '"x"', "text": '"x"', "list": '["x"]',
    }  # fmt: skip
    for option in options():
        if option.key not in keys:
            continue
        value = f'"{option.choices[-1]}"' if option.choices else lines[option.kind]
        value = "7" if option.key == "slots" else value
        value = "false" if option.default == "true" else value
        file = write(tmp_path, f"{option.key} = {value}\n")
        assert getattr(load({"config": file}, {}), option.key) != getattr(load({}, {}), option.key), option.key


def test_an_unknown_key_in_the_file_is_an_error_that_names_it_and_a_near_one(tmp_path: Path) -> None:
    file = write(tmp_path, "max_que = 3\n")
    with pytest.raises(SettingsError, match=r"dragoman\.toml: unknown key 'max_que'; did you mean 'max_queue'\?"):
        load({"config": str(file)}, {})


def test_the_file_cannot_name_another_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'config = "other.toml"\n')
    with pytest.raises(SettingsError, match="unknown key 'config'"):
        load({"config": str(file)}, {})


def test_a_file_that_is_missing_or_not_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"absent\.toml: cannot be read: No such file"):
        load({"config": str(tmp_path / "absent.toml")}, {})
    with pytest.raises(SettingsError, match=r"dragoman\.toml: not valid TOML"):
        load({"config": str(write(tmp_path, "port = "))}, {})


@pytest.mark.parametrize(
    ("flags", "environ", "message"),
    [
        ({"port": "http"}, {}, "--port: 'http' is not an integer"),
        ({"port": "70000"}, {}, "--port: 70000 is more than 65535"),
        ({"slots": "0"}, {}, "--slots: 0 is less than 1"),
        ({}, {"DRAGOMAN_SLOTS": "65"}, "DRAGOMAN_SLOTS: 65 is more than 64"),
        ({}, {"DRAGOMAN_QUEUE_TIMEOUT": "nan"}, "DRAGOMAN_QUEUE_TIMEOUT: nan is less than 0"),
        ({}, {"DRAGOMAN_STRICT_FIELDS": "maybe"}, "DRAGOMAN_STRICT_FIELDS: 'maybe' is neither true nor false"),
        ({"layout": "both"}, {}, "--layout: 'both' is none of auto, unified, split"),
        ({"host": ""}, {}, "--host: is empty"),
        ({"api_keys": ["", " "]}, {}, "--api-key: is empty"),
    ],
)
def test_a_value_that_cannot_be_used_is_an_error_that_names_its_source(
    flags: dict[str, object], environ: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(flags, environ)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('port = "8000"', "port: '8000' is not an integer"),
        ("port = true", "port: True is not an integer"),
        ("strict_fields = 1", "strict_fields: 1 is not true or false"),
        ('api_keys = "k"', "api_keys: 'k' is not a list of texts"),
        ("queue_timeout = -1", "queue_timeout: -1.0 is less than 0"),
    ],
)
def test_the_file_has_types(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"config": str(write(tmp_path, line))}, {})
    assert str(caught.value).endswith(problem)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load({}, {"DRAGOMAN_PORT": "", "DRAGOMAN_API_KEY": ""}) == load({}, {})


def test_auto_leaves_a_choice_to_the_server_and_overrides_lower_sources(tmp_path: Path) -> None:
    file = write(tmp_path, "kv_cells = 4096\ncontext = 1024\n")
    settings = load({"kv_cells": "auto", "config": file}, {})
    assert (settings.kv_cells, settings.context) == (None, 1024)


def test_relative_paths_in_the_file_start_at_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'model = "models/m.gguf"\n')
    assert load({"config": str(file)}, {}).model == tmp_path / "models" / "m.gguf"


@pytest.mark.seeds("S6")
def test_keys_come_from_a_comma_list_and_are_never_printed() -> None:
    settings = load({}, {"DRAGOMAN_API_KEY": "first, second,first"})
    assert settings.api_keys == ("first", "second")
    assert "first" not in repr(settings)


@pytest.mark.seeds("S8")
def test_cors_origins_default_to_local_front_ends() -> None:
    assert load({}, {}).cors_origins == (
        "http://127.0.0.1:8000",
        "http://localhost:8000",
        "http://127.0.0.1:5173",
        "http://localhost:5173",
        "http://tauri.localhost",
        "tauri://localhost",
    )


@pytest.mark.seeds("S8")
def test_a_plain_origin_replaces_the_defaults_and_a_plus_origin_adds() -> None:
    defaults = load({}, {}).cors_origins
    assert load({"cors_origins": ["https://a.example"]}, {}).cors_origins == ("https://a.example",)
    assert load({"cors_origins": ["+https://a.example"]}, {}).cors_origins == (*defaults, "https://a.example")
    mixed = load({"cors_origins": ["+https://b.example", "https://a.example"]}, {}).cors_origins
    assert mixed == ("https://a.example", "https://b.example")


def test_the_cache_follows_the_desktop_convention() -> None:
    assert load({}, {"XDG_CACHE_HOME": "/var/tmp/x"}).cache_dir == Path("/var/tmp/x/dragoman")
    assert load({"cache_dir": "/c"}, {"XDG_CACHE_HOME": "/var/tmp/x"}).cache_dir == Path("/c")
    assert load({}, {"XDG_DATA_HOME": "/var/tmp/x"}).store == "/var/tmp/x/dragoman/store.sqlite3"
    assert load({"store": "memory"}, {"XDG_DATA_HOME": "/var/tmp/x"}).store == "memory"


def test_no_two_settings_share_a_name() -> None:
    rows = options()
    for names in ([row.flag for row in rows], [row.variable for row in rows], [row.key for row in rows]):
        assert len(set(names)) == len(rows)
    assert all(row.variable.startswith("DRAGOMAN_") for row in rows)


def test_the_docs_name_every_flag_variable_and_key() -> None:
    page = DOCS.read_text(encoding="utf-8")
    missing = [
        f"`{name}`" for row in options() for name in (row.flag, row.variable, row.key) if f"`{name}`" not in page
    ]
    assert missing == []
