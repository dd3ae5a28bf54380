"""The command line of the child that runs the model, or stands in for one."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from dragoman.compose.failure import StartFailed
from dragoman.compose.models import find_model, find_projector, served_name
from dragoman.settings import Settings


def engine_argv(settings: Settings) -> tuple[str, ...]:
    """What to run for these settings. Raises ``StartFailed`` when something that it needs is missing."""
    if settings.engine_command is not None:
        return _external(settings.engine_command)
    if settings.engine == "simulated":
        return _simulated(settings)
    if find_spec("llama_cpp") is None:
        raise StartFailed(
            "the llama.cpp engine is not installed", hint="pip install 'dragoman[llama]', or `make serve` in a checkout"
        )
    return llama_argv(settings, find_model(settings))


def llama_argv(settings: Settings, model: Path) -> tuple[str, ...]:
    """Our own llama.cpp child. An option that is left to the engine is left out. Raises ``StartFailed`` for a projector that is none."""
    values: dict[str, object | None] = {
        "--model": model,
        "--projector": find_projector(settings),
        "--name": served_name(settings),
        "--context": settings.context,
        "--slots": settings.slots,
        "--threads": settings.threads,
        "--kv-cells": settings.kv_cells,
        "--layout": settings.layout,
        "--flash-attention": settings.flash_attention,
        "--kv-type": settings.kv_type,
        "--deterministic": settings.deterministic,
        "--prefill-chunk": settings.prefill_chunk,
        "--cache-dir": settings.cache_dir,
    }
    given = [(flag, str(value)) for flag, value in values.items() if value is not None]
    verbose = ("--verbose",) if settings.log_level == "debug" else ()
    return (sys.executable, "-m", "dragoman.engines.llama", *(word for pair in given for word in pair), *verbose)


def _simulated(settings: Settings) -> tuple[str, ...]:
    context = () if settings.context is None else ("--context", str(settings.context))
    images = () if settings.projector is None else ("--images",)
    return (sys.executable, "-m", "dragoman.engines.simulated", "--slots", str(settings.slots), *context, *images)


def _external(command: str) -> tuple[str, ...]:
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        raise StartFailed(f"--engine-command cannot be read: {error}", hint="quote it as for a shell") from error
    if not argv:
        raise StartFailed("--engine-command is empty", hint="give the program and its arguments")
    return argv
