"""A llama.cpp context: computes planned runs, cuts and copies cache sequences, and can be interrupted inside a chunk."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable

import llama_cpp.llama_cpp as lib
import numpy as np

from dragoman.engines.backend import Computed, Logits
from dragoman.engines.llama.layout import Layout
from dragoman.engines.llama.library import LoadError
from dragoman.engines.llama.padding import pad_split, pad_unified
from dragoman.engines.llama.positions import Positions
from dragoman.engines.llama.projector import Projector, Seen
from dragoman.scheduler.plan import Copy, Cut, Run
from dragoman.scheduler.sequence import Sequence

_TYPES = {"f32": 0, "f16": 1}
_FLASH_ON, _FLASH_OFF = 1, 0
_DECODE_FULL, _DECODE_ABORTED = 1, 2


class _Batch:
    """A ``llama_batch`` over arrays that we own, so that a step is filled by slices and allocates nothing."""

    def __init__(self, rows: int) -> None:
        self.token = np.zeros(rows, np.int32)
        self.position = np.zeros(rows, np.int32)
        self.seq_id = np.zeros(rows, np.int32)
        self.output = np.zeros(rows, np.int8)
        self._one = np.ones(rows, np.int32)
        self._pointers = (self.seq_id.ctypes.data + 4 * np.arange(rows)).astype(np.uint64)
        self.struct = lib.llama_batch(
            n_tokens=0,
            token=self.token.ctypes.data_as(ctypes.POINTER(lib.llama_token)),
            embd=None,
            pos=self.position.ctypes.data_as(ctypes.POINTER(lib.llama_pos)),
            n_seq_id=self._one.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            seq_id=self._pointers.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(lib.llama_seq_id))),
            logits=self.output.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def add(self, run: Run, position: int, padding: int, row: int) -> int:
        """Write a run from ``row`` on, at ``position`` of its sequence; rows that nobody reads follow it in its sequence. Returns the next free row."""
        end = row + len(run.tokens)
        padded = end + padding
        self.token[row:end] = run.tokens
        self.token[end:padded] = run.tokens[-1]
        self.position[row:padded] = np.arange(position, position + padded - row)
        self.seq_id[row:padded] = run.seq_id
        self.output[row:end] = run.every
        self.output[end - 1] = run.every or run.last
        self.output[end:padded] = 0
        return padded


class LlamaCache:
    """One context. ``rows`` bounds the tokens of a step; ``cells`` is per sequence when split, and for all when unified.

    Raises ``LoadError`` when llama.cpp cannot make it, which is nearly always a lack of memory.
    """

    def __init__(
        self, model: lib.llama_model_p, layout: Layout, *, sequences: int, cells: int, rows: int, threads: int
    ) -> None:
        self.layout = layout
        self._rows = rows
        params = lib.llama_context_default_params()
        params.n_ctx = cells if layout.unified else cells * sequences
        params.n_seq_max = sequences
        params.n_batch = rows
        params.n_ubatch = min(rows, layout.micro_batch)
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = _TYPES[layout.cache_type]
        params.flash_attn_type = _FLASH_ON if layout.flash_attention else _FLASH_OFF
        params.kv_unified = layout.unified
        params.no_perf = True
        context = lib.llama_init_from_model(model, params)
        if context is None:
            raise LoadError(
                "nomem", f"no memory for a cache of {params.n_ctx} tokens; give fewer with --context or --slots"
            )
        self._context = context
        self._memory = lib.llama_get_memory(context)
        self._vocabulary_size: int = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
        self._batch = _Batch(rows)
        self._positions = Positions()
        # llama.cpp asks this callback between graph nodes. strlen is one that needs no interpreter lock: empty means go on.
        self._flag = ctypes.create_string_buffer(2)
        strlen = ctypes.cast(ctypes.CDLL(None).strlen, lib.ggml_abort_callback)
        lib.llama_set_abort_callback(context, strlen, ctypes.cast(self._flag, ctypes.c_void_p))

    def close(self) -> None:
        """Free the context."""
        lib.llama_free(self._context)

    def interrupt(self) -> None:
        """Make the running ``compute`` return early; called from another thread."""
        self._flag[0] = b"x"

    def resume(self) -> None:
        """Forget an interrupt."""
        self._flag[0] = b"\0"

    def edit(self, edits: Iterable[Cut | Copy]) -> None:
        """Cut and copy cache sequences, in order."""
        for edit in edits:
            match edit:
                case Cut(seq_id, length):
                    self._cut(seq_id, length)
                case Copy(source, target, length):
                    lib.llama_memory_seq_rm(self._memory, target, -1, -1)
                    # A split cache copies whole sequences only, so the copy is cut afterwards.
                    end = self._positions.of(source, length) if self.layout.unified else -1
                    lib.llama_memory_seq_cp(self._memory, source, target, -1 if end < 0 else 0, end)
                    self._positions.copy(source, target, length)
                    self._cut(target, length)

    def can_cut(self) -> bool:
        """Whether a sequence can be cut back to a shorter prefix: recurrent state cannot. Empties sequence 0."""
        self._cut(0, 0)
        probe = Sequence(id=0, prompt=(0, 0, 0, 0), limit=0)
        self.compute((Run(probe, 0, 0, probe.prompt, last=False),))
        cut = bool(lib.llama_memory_seq_rm(self._memory, 0, 2, -1))
        self._cut(0, 0)
        return cut

    def compute(self, runs: tuple[Run, ...]) -> Computed:
        """Compute a group's tokens in one ``llama_decode``. Raises ``RuntimeError`` when the model fails for good."""
        padding = self._padding(runs)
        rows = 0
        for run, padded in zip(runs, padding, strict=True):
            rows = self._batch.add(run, self._positions.of(run.seq_id, run.start), padded, rows)
        self._batch.struct.n_tokens = rows
        status = lib.llama_decode(self._context, self._batch.struct)
        if status == _DECODE_FULL:
            return Computed("full", self._no_logits())
        if status == _DECODE_ABORTED:
            return Computed("interrupted", self._no_logits())
        if status != 0:
            raise RuntimeError(f"llama_decode failed with {status}")
        for run, padded in zip(runs, padding, strict=True):
            if padded:
                self._cut(run.seq_id, run.end)
        return Computed("done", self._logits(sum(run.outputs for run in runs)))

    def see(self, run: Run, picture: Seen, projector: Projector, working: Callable[[], None]) -> Computed:
        """Compute a picture that is encoded, ``working`` after each part. Raises ``RuntimeError`` when the model fails for good."""
        position = self._positions.of(run.seq_id, run.start)
        status = projector.decode(
            self._context, picture, seq_id=run.seq_id, position=position, rows=self._rows, working=working
        )
        if status in {_DECODE_FULL, _DECODE_ABORTED}:
            self._cut(run.seq_id, run.start)  # a long one is computed in parts
            return Computed("full" if status == _DECODE_FULL else "interrupted", self._no_logits())
        if status != 0:
            raise RuntimeError(f"a picture failed with {status}")
        self._positions.add(run.seq_id, run.end, picture.chunk.positions - picture.chunk.span)
        return Computed("done", self._no_logits())

    def _padding(self, runs: tuple[Run, ...]) -> list[int]:
        counts = [(run.seq_id, len(run.tokens)) for run in runs]
        if self.layout.unified:
            return pad_unified(counts, self.layout.micro_batch, self.layout.minimum_rows)
        return pad_split(counts, self.layout.micro_batch, 1 if runs[0].decodes else self.layout.minimum_rows)

    def _cut(self, seq_id: int, length: int) -> None:
        start = self._positions.of(seq_id, length)
        self._positions.cut(seq_id, length)
        if not lib.llama_memory_seq_rm(self._memory, seq_id, start or -1, -1):
            lib.llama_memory_seq_rm(self._memory, seq_id, -1, -1)

    def _logits(self, rows: int) -> Logits:
        if not rows:
            return self._no_logits()
        pointer = lib.llama_get_logits(self._context)
        return np.ctypeslib.as_array(pointer, (rows, self._vocabulary_size))

    def _no_logits(self) -> Logits:
        return np.empty((0, self._vocabulary_size), np.float32)
