"""llama.cpp's C API, loaded once in the child, with its log caught: load errors are read from it.

The only words that llama.cpp has for a failed load are its log lines, so ``load_error`` maps them to the kinds of ``LOAD_FAIL``.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

import llama_cpp.llama_cpp as lib

from dragoman.engines.llama.build_record import substitutions

LoadKind: TypeAlias = Literal["nomem", "io", "format", "unsupported"]

GGML_LOG_LEVEL_WARN = 3


class LoadError(Exception):
    """The model cannot be served; ``kind`` is a kind of ``LOAD_FAIL``."""

    def __init__(self, kind: LoadKind, detail: str) -> None:
        super().__init__(detail)
        self.kind: LoadKind = kind
        self.detail = detail


class Log:
    """Keeps llama.cpp's last lines, and passes warnings and errors on to stderr."""

    def __init__(self, *, verbose: bool) -> None:
        self.lines: deque[str] = deque(maxlen=200)
        self._threshold = 0 if verbose else GGML_LOG_LEVEL_WARN
        self._partial = ""
        # ctypes keeps no reference to a callback; this object must outlive the library's use of it.
        self._callback = lib.llama_log_callback(self._receive)
        self.listen(lib.llama_log_set)

    def listen(self, *setters: Callable[..., None]) -> None:
        """Catch the logs of these libraries, too: each is what one of them takes a callback with."""
        for setter in setters:
            setter(self._callback, ctypes.c_void_p(0))

    def _receive(self, level: int, text: bytes, _: object) -> None:
        *lines, self._partial = (self._partial + text.decode("utf-8", "replace")).split("\n")
        for line in lines:
            self.lines.append(line)
            if level >= self._threshold:
                sys.stderr.write(line + "\n")

    def error(self) -> LoadError:
        """What the last lines say about a load that returned nothing."""
        text = "\n".join(self.lines)
        detail = next((line.strip() for line in reversed(self.lines) if "error" in line), "llama.cpp gave no reason")
        if "unknown model architecture" in text or "unknown pre-tokenizer type" in text:
            return LoadError("unsupported", detail)
        if "failed to allocate" in text or "unable to allocate" in text:
            return LoadError("nomem", detail)
        return LoadError("format", detail)


def build_info() -> dict[str, str]:
    """What was built: features of the CPU backend that llama.cpp lists as present, version, and substitutions, if there are any.

    What is measured with one build is not valid for another, so this is part of the key to it.
    """
    text = (lib.llama_print_system_info() or b"").decode()
    features = [
        word.split("=")[0].strip() for word in text.replace(":", "|").split("|") if word.strip().endswith("= 1")
    ]
    build = {"features": " ".join(features), "llama_cpp_python": _version()}
    return {**build, "substitutions": " ".join(names)} if (names := substitutions()) else build


def _version() -> str:
    from importlib.metadata import version

    return version("llama-cpp-python")
