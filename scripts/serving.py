"""``dragoman serve`` as a child, for as long as somebody asks it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """The address of a server that was started with these arguments, on a free port and with a store that nothing outlives."""
    command = (sys.executable, "-m", "dragoman", "serve", "--port", "0", "--store", "memory", *arguments)
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
