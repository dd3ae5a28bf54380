"""The command line of the engine's process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman.compose.engine_command import engine_argv, llama_argv
from dragoman.compose.failure import StartFailed
from dragoman.settings import Settings


def test_the_llama_child_gets_what_was_decided_and_nothing_that_is_left_to_it() -> None:
    argv = llama_argv(Settings(cache_dir=Path("/c"), slots=4, context=2048), Path("/m/Tiny.Q8_0.gguf"))
    assert argv[:3] == (sys.executable, "-m", "dragoman.engines.llama")
    options = dict(zip(argv[3::2], argv[4::2], strict=True))
    assert options == {
        "--model": "/m/Tiny.Q8_0.gguf",
        "--name": "smollm2-135m-instruct",
        "--context": "2048",
        "--slots": "4",
        "--threads": "0",
        "--layout": "auto",
        "--flash-attention": "auto",
        "--kv-type": "auto",
        "--deterministic": "auto",
        "--cache-dir": "/c",
    }


def test_every_option_of_the_engine_can_be_given() -> None:
    argv = llama_argv(Settings(kv_cells=9000, prefill_chunk=32), Path("/m.gguf"))
    assert argv[argv.index("--kv-cells") + 1] == "9000"
    assert argv[argv.index("--prefill-chunk") + 1] == "32"


def test_debugging_makes_llama_cpp_talk() -> None:
    assert "--verbose" in llama_argv(Settings(log_level="debug"), Path("/m.gguf"))


def test_the_simulated_engine_has_as_many_slots_as_were_asked_for() -> None:
    argv = engine_argv(Settings(engine="simulated", slots=3, context=512))
    assert argv[1:] == ("-m", "dragoman.engines.simulated", "--slots", "3", "--context", "512")


def test_the_simulated_engine_sees_where_a_projector_is_named_whatever_it_is() -> None:
    assert engine_argv(Settings(engine="simulated", projector=Path("absent.gguf")))[-1] == "--images"


def test_another_engines_command_line_is_read_as_a_shell_would() -> None:
    assert engine_argv(Settings(engine_command="/opt/engine --model 'my model'")) == (
        "/opt/engine", "--model", "my model",
    )  # fmt: skip


@pytest.mark.parametrize("command", ["engine 'unfinished", "  "])
def test_a_command_line_that_cannot_be_read_stops_the_start(command: str) -> None:
    with pytest.raises(StartFailed, match="--engine-command"):
        engine_argv(Settings(engine_command=command))
