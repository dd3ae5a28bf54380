"""A server whose model does what clients hope for: it sees, and calls the first tool that it is offered.

The demo model is too small to call a tool by its own wish, and sees nothing.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from serving import serving

MODEL: Final = Path(__file__).with_name("willing_model.py")


@contextmanager
def serving_willing(*flags: str) -> Iterator[str]:
    """Its address. The flags are the model's."""
    with serving("--engine-command", shlex.join([sys.executable, str(MODEL), *flags])) as url:
        yield url
