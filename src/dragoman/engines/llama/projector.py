"""A projector file (mmproj) through llama.cpp's mtmd: pictures to chunks, chunks to embeddings, embeddings into a context.

mtmd's media marker never meets a text: each picture is read alone, with the marker as the whole text, and what mtmd writes around it
are the tokens that the model's family wants there.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import llama_cpp.llama_cpp as lib
import llama_cpp.mtmd_cpp as mtmd
import numpy as np
from numpy.typing import NDArray

from dragoman.engines.base import EngineImage
from dragoman.engines.eyes import BadImage, Patch
from dragoman.engines.llama.library import LoadError, LoadKind, Log
from dragoman.engines.llama.model import check_file

_SHAPES: Final = ((2048, 2048), (2300, 512), (512, 2300))
"""Pictures to ask how many tokens one may have: large, wide and high."""


class Chunk:
    """A part of a picture as mtmd holds it: with its pixels, or only with what they would be.

    ``positions`` are the tokens that it takes in a sequence, ``span`` the positions by which it moves what follows.
    """

    def __init__(self, handle: mtmd.mtmd_input_chunk_p) -> None:
        self.handle = handle
        self.positions = int(mtmd.mtmd_input_chunk_get_n_tokens(handle))
        self.span = int(mtmd.mtmd_input_chunk_get_n_pos(handle))
        weakref.finalize(self, mtmd.mtmd_input_chunk_free, handle)


@dataclass(slots=True, eq=False)
class Seen:
    """The ``index``-th part of a picture in a prompt. ``embedding`` is None until it is encoded, ``image`` from then on, or once nobody wants it."""

    chunk: Chunk
    index: int
    image: EngineImage | None
    embedding: NDArray[np.float32] | None = None


class Projector:
    """A loaded projector for one model. ``look`` may be called while ``encode`` runs on another thread. Raises ``LoadError``."""

    def __init__(self, path: Path, model: lib.llama_model_p, log: Log, *, threads: int) -> None:
        check_file(path)
        self._path = path
        log.listen(mtmd.mtmd_log_set, mtmd.mtmd_helper_log_set)
        params = mtmd.mtmd_context_params_default()
        params.n_threads = threads
        params.print_timings = False
        params.warmup = False  # ``prove`` encodes a picture, which also tells what it gives
        context = mtmd.mtmd_init_from_file(os.fsencode(path), model, params)
        if context is None:
            raise _unusable(path, log)
        self._context = context
        self._marker = mtmd.mtmd_get_marker(context) or mtmd.mtmd_default_marker()
        self._width = int(lib.llama_model_n_embd_inp(model))
        if not mtmd.mtmd_support_vision(context):
            raise LoadError("unsupported", f"the projector {path} hears, but does not see")

    @property
    def fingerprint(self) -> str:
        """Names the file by all of its bytes: it is small beside a model."""
        with self._path.open("rb") as file:
            digest = sha256()
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()[:12]

    @property
    def whole(self) -> int:
        """Tokens that must be computed at once, since each looks at all of its picture; 0 where they look back only, like text."""
        if not mtmd.mtmd_decode_use_non_causal(self._context, None):
            return 0
        parts = [part for width, height in _SHAPES for part in self._read(width, height, None)]
        return max((part.positions for part in parts if isinstance(part, Chunk)), default=0)

    def look(self, image: EngineImage) -> list[int | Patch]:
        """What stands for a picture in a prompt. Raises ``BadImage`` where mtmd can not take it. Does not look at the pixels."""
        return [
            part if isinstance(part, int) else Patch(part.positions, Seen(part, index, image))
            for index, part in enumerate(self._read(image.width, image.height, None))
        ]

    def open(self, image: EngineImage) -> list[int | Chunk]:
        """The same parts with their pixels, scaled and normalised. Raises ``BadImage``."""
        return self._read(image.width, image.height, image.rgb)

    def encode(self, chunk: Chunk) -> NDArray[np.float32]:
        """The embeddings of a chunk with pixels. Raises ``BadImage``."""
        if mtmd.mtmd_encode_chunk(self._context, chunk.handle) != 0:
            raise BadImage("it could not be encoded")
        pointer = mtmd.mtmd_get_output_embd(self._context)
        if pointer is None:
            raise BadImage("its embedding is missing")
        return np.ctypeslib.as_array(pointer, (chunk.positions * self._width,)).copy()

    def decode(
        self,
        context: lib.llama_context_p,
        seen: Seen,
        *,
        seq_id: int,
        position: int,
        rows: int,
        working: Callable[[], None],
    ) -> int:
        """Compute an encoded chunk in a sequence, at most ``rows`` before each ``working``: what ``llama_decode`` would return."""
        assert seen.embedding is not None
        after = lib.llama_pos(0)

        def decoded(_rows: object, _data: object) -> int:
            working()
            return 0

        status: int = mtmd.mtmd_helper_decode_image_chunk(
            self._context,
            context,
            seen.chunk.handle,
            seen.embedding.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            position,
            seq_id,
            rows,
            ctypes.byref(after),
            mtmd.mtmd_helper_post_decode_callback(decoded),
            None,
        )
        return status

    def prove(self) -> None:
        """Encode a grey picture: a build that crashes does so here, and not at a user's first one. Raises ``LoadError``."""
        try:
            for part in self.open(EngineImage(width=64, height=64, rgb=b"\x80" * (3 * 64 * 64))):
                if isinstance(part, Chunk) and not np.isfinite(self.encode(part)).all():
                    raise LoadError("format", f"the projector {self._path} makes numbers that are none")
        except BadImage as error:
            raise LoadError("format", f"the projector {self._path} takes no pictures: {error}") from None

    def _read(self, width: int, height: int, rgb: bytes | None) -> list[int | Chunk]:
        """Without pixels, mtmd tells the same parts at once, and they can not be encoded."""
        pixels = None if rgb is None else (ctypes.c_uint8 * len(rgb)).from_buffer_copy(rgb)
        bitmap = mtmd.mtmd_bitmap_init(width, height, pixels)
        chunks = mtmd.mtmd_input_chunks_init()
        if bitmap is None or chunks is None:
            raise MemoryError
        text = mtmd.mtmd_input_text(
            text=self._marker, text_len=len(self._marker), add_special=False, parse_special=True
        )
        try:
            bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(bitmap)
            if mtmd.mtmd_tokenize(self._context, chunks, ctypes.byref(text), bitmaps, 1) != 0:
                raise BadImage("it has a size or shape that this model does not take")
            return [
                part
                for index in range(mtmd.mtmd_input_chunks_size(chunks))
                for part in _part(mtmd.mtmd_input_chunks_get(chunks, index))
            ]
        finally:
            mtmd.mtmd_bitmap_free(bitmap)
            mtmd.mtmd_input_chunks_free(chunks)


def _part(chunk: mtmd.mtmd_input_chunk_p | None) -> list[int | Chunk]:
    assert chunk is not None
    kind = mtmd.mtmd_input_chunk_get_type(chunk)
    if kind == mtmd.MTMD_INPUT_CHUNK_TYPE_TEXT:
        count = ctypes.c_size_t(0)
        tokens = mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(count))
        return [] if tokens is None else [int(token) for token in tokens[: count.value]]
    if kind != mtmd.MTMD_INPUT_CHUNK_TYPE_IMAGE:
        raise BadImage("it was taken for sound")
    copied = mtmd.mtmd_input_chunk_copy(chunk)
    if copied is None:
        raise MemoryError
    return [Chunk(copied)]


def _unusable(path: Path, log: Log) -> LoadError:
    reason = next(
        (line for line in reversed(log.lines) if "error" in line or "mismatch" in line), "mtmd gave no reason"
    )
    kind: LoadKind = "unsupported" if "mismatch" in reason or "unknown projector" in reason else "format"
    return LoadError(kind, f"the projector {path} can not be used with this model: {reason.strip()}")
