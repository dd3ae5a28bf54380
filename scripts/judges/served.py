"""The demo model's server, for as long as it is judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import serving as children
from dragoman.settings import Settings

CONTEXT: Final = 2048
"""Tokens for a request: what lm-eval takes for granted."""


def settings(model: Path) -> Settings:
    """How the model is run, by the server and directly."""
    return Settings(model=model, context=CONTEXT, deterministic="on")


@contextmanager
def serving(model: Path) -> Iterator[str]:
    """The address of a server that runs as ``settings`` say."""
    chosen = settings(model)
    flags = ("--context", str(chosen.context), "--deterministic", str(chosen.deterministic))
    with children.serving(str(model), *flags) as url:
        yield url
