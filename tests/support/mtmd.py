"""llama.cpp's own way with pictures, outside our engine: its tokenizer of texts with markers, and its helper that computes all of it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

import llama_cpp.llama_cpp as lib
import llama_cpp.mtmd_cpp as mtmd
import numpy as np
from numpy.typing import NDArray

from dragoman.engines.base import EngineImage
from support.llama_log import silence


def mtmd_answer(
    model_file: Path, projector_file: Path, texts: Sequence[str], images: Sequence[EngineImage], count: int
) -> tuple[list[int], NDArray[np.float32]]:
    """The greedy answer of ``count`` tokens at most to the texts with the images between them, and the logits of the first."""
    silence(mtmd.mtmd_log_set, mtmd.mtmd_helper_log_set)
    model = lib.llama_model_load_from_file(os.fsencode(model_file), lib.llama_model_default_params())
    assert model is not None
    params = lib.llama_context_default_params()
    params.n_ctx, params.n_threads, params.n_threads_batch, params.flash_attn_type = 1024, 1, 1, 0
    context = lib.llama_init_from_model(model, params)
    eyes = mtmd.mtmd_init_from_file(os.fsencode(projector_file), model, mtmd.mtmd_context_params_default())
    assert context is not None
    assert eyes is not None
    try:
        return _answer(model, context, eyes, texts, images, count)
    finally:
        mtmd.mtmd_free(eyes)
        lib.llama_free(context)
        lib.llama_model_free(model)


def _answer(
    model: lib.llama_model_p,
    context: lib.llama_context_p,
    eyes: mtmd.mtmd_context_p,
    texts: Sequence[str],
    images: Sequence[EngineImage],
    count: int,
) -> tuple[list[int], NDArray[np.float32]]:
    marked = mtmd.mtmd_default_marker().join(text.encode() for text in texts)
    bitmaps = (mtmd.mtmd_bitmap_p_ctypes * len(images))()
    for index, image in enumerate(images):
        pixels = (ctypes.c_uint8 * len(image.rgb)).from_buffer_copy(image.rgb)
        bitmaps[index] = mtmd.mtmd_bitmap_init(image.width, image.height, pixels)
    chunks = mtmd.mtmd_input_chunks_init()
    assert chunks is not None
    text = mtmd.mtmd_input_text(text=marked, text_len=len(marked), add_special=True, parse_special=True)
    assert mtmd.mtmd_tokenize(eyes, chunks, ctypes.byref(text), bitmaps, len(images)) == 0
    past = lib.llama_pos(0)
    assert mtmd.mtmd_helper_eval_chunks(eyes, context, chunks, 0, 0, 512, True, ctypes.byref(past)) == 0
    vocab = lib.llama_model_get_vocab(model)
    assert vocab is not None
    size = lib.llama_vocab_n_tokens(vocab)
    answer: list[int] = []
    first = np.array(np.ctypeslib.as_array(lib.llama_get_logits_ith(context, -1), (size,)))
    while len(answer) < count:
        logits = lib.llama_get_logits_ith(context, -1)
        answer.append(max(range(size), key=lambda token: logits[token]))
        if lib.llama_vocab_is_eog(vocab, answer[-1]):
            break
        token = (lib.llama_token * 1)(answer[-1])
        assert lib.llama_decode(context, lib.llama_batch_get_one(token, 1)) == 0
    mtmd.mtmd_input_chunks_free(chunks)
    return answer, first
