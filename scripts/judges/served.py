"""``dragoman serve`` as a child, for as long as it is judged."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

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
    flags = ("--port", "0", "--context", str(chosen.context), "--deterministic", str(chosen.deterministic))
    command = (sys.executable, "-m", "dragoman", "serve", str(model), *flags)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _address(process)
        finally:
            process.terminate()
            process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if found := re.search(r"Listening on (http://\S+)", line):
            return found[1]
    raise SystemExit("the server did not start")
