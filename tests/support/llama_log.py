"""llama.cpp's log in the tests' own process: silent. The library keeps the callback for good, so it must live as long as the process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llama_cpp.llama_cpp as lib


@lib.llama_log_callback
def _nothing(level, text, user_data):
    """llama.cpp describes every file that it loads otherwise."""


def silence(*others: Callable[..., None]) -> None:
    """Call before a model is loaded; safe to call again. ``others`` set the callback of libraries beside it."""
    for setter in (lib.llama_log_set, *others):
        setter(_nothing, ctypes.c_void_p(0))
