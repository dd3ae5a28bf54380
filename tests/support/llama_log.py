"""llama.cpp's log in the tests' own process: silent. The library keeps the callback for good, so it must live as long as the process."""

from __future__ import annotations

import ctypes

import llama_cpp.llama_cpp as lib


@lib.llama_log_callback
def _nothing(level, text, user_data):
    """llama.cpp describes every file that it loads otherwise."""


def silence() -> None:
    """Call before a model is loaded; safe to call again."""
    lib.llama_log_set(_nothing, ctypes.c_void_p(0))
