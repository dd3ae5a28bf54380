"""Every setting, once: the command line, the environment, the TOML file and docs/configuration.md come from here.

A value is taken from the first source that has it: a flag, a ``DRAGOMAN_*`` variable, the file named by ``--config``,
the default below. This is the only module that reads the environment, and it does so when asked, never on import.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from dragoman.core.limits import MAX_SLOTS
from dragoman.options import Option, Row, SettingsError, Value, read_list, read_text, read_toml, table

__all__ = ["DEFAULT_ORIGINS", "Settings", "SettingsError", "load", "options"]

DEFAULT_ORIGINS: Final = (
    "http://127.0.0.1:8000",
    "http://localhost:8000",
    "http://127.0.0.1:5173",
    "http://localhost:5173",
    "http://tauri.localhost",
    "tauri://localhost",
)
"""Origins of local front ends: this server, the Vite development server, and Tauri on its platforms (S8)."""

Auto = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the operator decided. Build it with ``load``; only ``compose`` and the command line read it.

    Durations are seconds. None leaves the choice to the server.
    """

    model: Annotated[
        Path | None, Row("Model", "GGUF file to serve; without one, the demo model.", shown="the demo model")
    ] = None
    projector: Annotated[
        Path | None,
        Row(
            "Model",
            "GGUF file (mmproj) that lets the model see: pictures in messages are refused without one.",
            shown="none",
        ),
    ] = None
    model_name: Annotated[
        str | None,
        Row("Model", "Name that clients see in /v1/models and may send as `model`.", shown="from the file's name"),
    ] = None
    chat_template: Annotated[
        Path | None,
        Row("Model", "Jinja file used instead of the model's own chat template.", shown="the model's own"),
    ] = None
    dialect: Annotated[
        str | None, Row("Model", "Model family to speak instead of the one that is recognised.", shown="recognised")
    ] = None

    host: Annotated[str, Row("Network", "Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Row("Network", "Port to listen on; 0 takes a free one.", low=0, high=65535)] = 8000
    api_keys: Annotated[
        tuple[str, ...],
        Row(
            "Network",
            "Key that clients must send; repeat for several. Prefer the variable or a file: `ps` shows flags.",
            flag="--api-key",
            variable="DRAGOMAN_API_KEY",
        ),
    ] = field(default=(), repr=False)
    api_key_file: Annotated[
        Path | None, Row("Network", "File with one key a line; `#` starts a comment.", shown="none")
    ] = None
    allow_insecure_bind: Annotated[
        bool, Row("Network", "Listen beyond loopback although no key is set: whoever reaches the port may use it.")
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        Row(
            "Network",
            "Name that requests may carry in `Host`, beside loopback and the address; repeat for several. No wildcard.",
            flag="--allowed-host",
        ),
    ] = ()
    cors_origins: Annotated[
        tuple[str, ...],
        Row(
            "Network",
            "Browser origin that may call; repeat for several. A plain one replaces the defaults, `+ORIGIN` adds.",
            flag="--cors-origin",
        ),
    ] = DEFAULT_ORIGINS
    strict_fields: Annotated[
        bool, Row("Network", "Refuse unknown request fields by name instead of listing them as ignored.")
    ] = False
    continue_assistant: Annotated[
        bool,
        Row(
            "Network",
            "Go on inside a last message of the assistant when the request does not say; off, a new turn begins after it.",
        ),
    ] = True
    strict_messages: Annotated[
        bool,
        Row(
            "Network",
            "Refuse messages that the model's chat template cannot take as they are, instead of repairing them and saying so in "
            "`x-dragoman-repaired`.",
        ),
    ] = False
    reasoning_field: Annotated[
        Literal["reasoning_content", "reasoning", "both"],
        Row("Network", "What chat answers call the model's reasoning: clients read one name or the other."),
    ] = "reasoning_content"

    keep_billing_header: Annotated[
        bool,
        Row(
            "Network",
            "Leave `x-anthropic-billing-header` lines in system prompts; dropped, prompts that differ there alone share their prefix.",
        ),
    ] = False

    max_queue: Annotated[
        int, Row("Queue", "Requests that may wait for a slot; one more gets 429 with `queue_full`.", low=0)
    ] = 8
    queue_timeout: Annotated[
        float,
        Row("Queue", "Seconds that a request may wait for a slot before 429 with `queue_timeout`.", low=0, high=86400),
    ] = 300.0
    drain_timeout: Annotated[
        float,
        Row("Queue", "Seconds that running requests get to end when the server is asked to stop.", low=0, high=86400),
    ] = 30.0

    engine: Annotated[
        Literal["llama", "simulated"],
        Row("Engine", "What computes: llama.cpp, or a stand-in that needs no model (for tests)."),
    ] = "llama"
    engine_command: Annotated[
        str | None, Row("Engine", "Command line of another engine that speaks docs/protocol.md.", shown="none")
    ] = None
    context: Annotated[
        int | None, Row("Engine", "Tokens that one request may use, prompt and answer.", low=64, shown="the model's")
    ] = None
    slots: Annotated[int, Row("Engine", "Requests that are computed at the same time.", low=1, high=MAX_SLOTS)] = 16
    kv_cells: Annotated[
        int | None, Row("Engine", "Tokens that the KV cache holds for all requests together.", low=64)
    ] = None
    threads: Annotated[int, Row("Engine", "CPU threads of the engine; 0 lets it choose.", low=0)] = 0
    prefill_chunk: Annotated[
        int | None, Row("Engine", "Prompt tokens computed in one step; small chunks keep other answers flowing.", low=1)
    ] = None
    layout: Annotated[
        Literal["auto", "unified", "split"],
        Row("Engine", "One KV cache for all sequences, or a part for each; auto measures at load."),
    ] = "auto"
    flash_attention: Annotated[
        Auto, Row("Engine", "llama.cpp's flash attention; auto measures at load (on CPUs it is often slower).")
    ] = "auto"
    kv_type: Annotated[Literal["auto", "f16", "f32"], Row("Engine", "Number format of the KV cache.")] = "auto"
    deterministic: Annotated[
        Auto, Row("Engine", "Make an answer independent of what else runs and of what is cached.")
    ] = "auto"

    store: Annotated[
        str,
        Row(
            "Files",
            "Where responses, conversations and replies for retries are kept: a SQLite file, `postgresql://…`, or `memory`.",
        ),
    ] = field(default="~/.local/share/dragoman/store.sqlite3", repr=False)
    store_responses: Annotated[
        int, Row("Files", "Responses and conversations that are kept; the longest unused go first.", low=1)
    ] = 10_000
    store_megabytes: Annotated[int, Row("Files", "Megabytes that they may take.", low=1)] = 1024
    store_days: Annotated[float, Row("Files", "Days that one is kept after its last use.", low=0.001, high=36500)] = (
        30.0
    )
    cache_dir: Annotated[Path, Row("Files", "Where measurements of a model on this machine are kept.")] = Path(
        "~/.cache/dragoman"
    )
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Row("Files", "Least severity that is logged, to stderr.")
    ] = "info"
    config: Annotated[Path | None, Row("Files", "TOML file with any of these keys but this one.", shown="none")] = None


def options() -> tuple[Option, ...]:
    """The table of all settings, in the order of the docs."""
    return table(Settings)


def load(flags: Mapping[str, object], environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from all sources; ``flags`` has the values given on the command line, None where there was none.

    Variables beyond the table are left alone: container platforms invent ``DRAGOMAN_*`` names for a service that
    is called so. Raises ``SettingsError`` for a value that cannot be used, and for an unknown key in the file.
    """
    env = os.environ if environ is None else environ
    rows = options()
    given = dict(_from_flags(rows, flags))
    for key, value in _from_environ(rows, env):
        given.setdefault(key, value)
    config = given.get("config")
    if isinstance(config, Path):
        for key, value in _from_file(rows, config):
            given.setdefault(key, value)
    given.setdefault("cache_dir", _default_cache_dir(env))
    given.setdefault("store", str(_default_data_dir(env) / "store.sqlite3"))
    origins = given.get("cors_origins")
    if isinstance(origins, tuple):
        given["cors_origins"] = _merge_origins(origins)
    return Settings(**given)  # type: ignore[arg-type]  # each value was read to the kind of its field


def _from_flags(rows: tuple[Option, ...], flags: Mapping[str, object]) -> Iterator[tuple[str, Value]]:
    for option in rows:
        match flags.get(option.key):
            case None:
                continue
            case list() | tuple() as values:
                yield option.key, read_list([str(value) for value in values], option.flag)
            case bool() as value:
                yield option.key, value
            case value:
                yield option.key, read_text(option, str(value), option.flag)


def _from_environ(rows: tuple[Option, ...], environ: Mapping[str, str]) -> Iterator[tuple[str, Value]]:
    for option in rows:
        text = environ.get(option.variable, "")
        if text:  # an empty variable is how shells and compose files say "not set"
            yield option.key, read_text(option, text, option.variable)


def _from_file(rows: tuple[Option, ...], path: Path) -> Iterator[tuple[str, Value]]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error
    known = {option.key: option for option in rows if option.key != "config"}
    for key, raw in content.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise SettingsError(f"{path}: unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        yield key, read_toml(known[key], raw, f"{path}: {key}", path.parent)


def _default_cache_dir(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CACHE_HOME", "")
    return Path(base) / "dragoman" if base else Path("~/.cache/dragoman").expanduser()


def _default_data_dir(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_DATA_HOME", "")
    return Path(base) / "dragoman" if base else Path("~/.local/share/dragoman").expanduser()


def _merge_origins(values: tuple[str, ...]) -> tuple[str, ...]:
    """Plain origins replace the defaults; ``+origin`` adds to whatever is there (S8)."""
    plain = tuple(value for value in values if not value.startswith("+"))
    added = tuple(value[1:] for value in values if value.startswith("+"))
    return tuple(dict.fromkeys((plain or DEFAULT_ORIGINS) + added))
