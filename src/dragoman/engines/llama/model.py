"""A model file, checked and loaded: what it says of itself, and how much memory its cache needs."""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import llama_cpp.llama_cpp as lib

from dragoman.engines.llama.layout import CacheType
from dragoman.engines.llama.library import LoadError, Log
from dragoman.engines.llama.vocabulary import LlamaVocabulary

GGUF_MAGIC = b"GGUF"
_BYTES = {"f32": 4, "f16": 2}


def check_file(path: Path) -> None:
    """Refuse by name what llama.cpp would only fail on. Raises ``LoadError``."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise LoadError("io", f"{path}: {error.strerror or error}") from None
    if magic != GGUF_MAGIC:
        raise LoadError("format", f"{path} is not a GGUF file")


class LlamaModel:
    """Weights and vocabulary. ``progress`` is called with the loaded part, 0 to 1. Raises ``LoadError``.

    ``safe_kernels`` leaves the weights as the file has them. Otherwise llama.cpp repacks them for kernels that are special to the
    CPU: those are fast, but on CPUs with AMX some compilers break them (GCC 12 drops the stores that fill the tile configuration).
    """

    def __init__(self, path: Path, log: Log, progress: Callable[[float], None], *, safe_kernels: bool) -> None:
        check_file(path)
        self.path = path

        def report(fraction: float, _: object) -> bool:
            progress(fraction)
            return True

        params = lib.llama_model_default_params()
        params.use_extra_bufts = not safe_kernels
        params.progress_callback = lib.llama_progress_callback(report)
        handle = lib.llama_model_load_from_file(os.fsencode(path), params)
        if handle is None:
            raise log.error()
        self.handle = handle
        if lib.llama_model_has_encoder(handle):
            raise LoadError("unsupported", "models with an encoder are not served")
        self.vocabulary = LlamaVocabulary(handle)

    @property
    def name(self) -> str:
        """The name in the file, or the file's own."""
        return self.metadata("general.name") or self.path.stem

    @property
    def trained_context(self) -> int:
        """Tokens that the model was trained to attend over."""
        return int(lib.llama_model_n_ctx_train(self.handle))

    @property
    def description(self) -> str:
        """llama.cpp's one line: architecture, size, quantisation."""
        buffer = ctypes.create_string_buffer(256)
        lib.llama_model_desc(self.handle, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")

    @property
    def chat_template(self) -> str | None:
        """The Jinja source that came with the model."""
        return self.metadata("tokenizer.chat_template")

    def cell_bytes(self, cache_type: CacheType) -> int:
        """Memory for the keys and values of one token."""
        heads = max(1, lib.llama_model_n_head(self.handle))
        width = lib.llama_model_n_embd(self.handle) // heads * lib.llama_model_n_head_kv(self.handle)
        layers: int = lib.llama_model_n_layer(self.handle)
        return 2 * layers * int(width) * _BYTES[cache_type]

    @cached_property
    def fingerprint(self) -> str:
        """Names the weights: a hash of the file's size, its head (all metadata) and its tail."""
        size = self.path.stat().st_size
        digest = hashlib.sha256(size.to_bytes(8, "little"))
        with self.path.open("rb") as file:
            digest.update(file.read(1 << 22))
            file.seek(max(0, size - (1 << 20)))
            digest.update(file.read())
        return digest.hexdigest()[:12]

    def metadata(self, key: str) -> str | None:
        """A value of the file's header as text."""
        room = 1 << 12
        while True:
            buffer = ctypes.create_string_buffer(room)
            length = lib.llama_model_meta_val_str(self.handle, key.encode(), buffer, room)
            if length < 0:
                return None
            if length < room:
                return buffer.value.decode("utf-8", "replace")
            room = length + 1
