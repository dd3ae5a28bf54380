"""llama.cpp's own samplers as functions from a row of logits to what is left of it: an independent implementation to compare with."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as lib
import numpy as np
from numpy.typing import NDArray

from support.llama_log import silence

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def left_by(samplers: Iterable[Any], row: NDArray[np.float32], history: Sequence[int] = ()) -> dict[int, float]:
    """Logit of each token that is left after the samplers, one after another, each of which has seen ``history``. Frees them."""
    data = (lib.llama_token_data * len(row))()
    table = np.frombuffer(data, _TOKEN_DATA)
    table["id"] = np.arange(len(row))
    table["logit"] = row
    candidates = lib.llama_token_data_array(data=data, size=len(row), selected=-1, sorted=False)
    for sampler in samplers:
        for token in history:
            lib.llama_sampler_accept(sampler, token)
        lib.llama_sampler_apply(sampler, ctypes.byref(candidates))
        lib.llama_sampler_free(sampler)
    left = ctypes.cast(candidates.data, ctypes.POINTER(lib.llama_token_data * candidates.size)).contents
    table = np.frombuffer(left, _TOKEN_DATA)
    return dict(zip(table["id"].tolist(), table["logit"].tolist(), strict=True))


def probabilities(left: dict[int, float]) -> dict[int, float]:
    """The softmax of what is left."""
    peak = max(left.values())
    weights = {token: float(np.exp(np.float64(logit) - peak)) for token, logit in left.items()}
    total = sum(weights.values())
    return {token: weight / total for token, weight in weights.items()}


def penalties(size: int, window: int, *, repeat: float = 1.0, frequency: float = 0.0, presence: float = 0.0) -> Any:
    return lib.llama_sampler_init_penalties(size, window, repeat, frequency, presence)


def dry(
    multiplier: float,
    base: float,
    allowed_length: int,
    window: int,
    breakers: Sequence[str] = (),
    vocabulary: Any = None,
) -> Any:
    """``vocabulary``, a ``llama_vocab *``, is needed for breakers alone."""
    texts = (ctypes.c_char_p * len(breakers))(*(breaker.encode() for breaker in breakers))
    return lib.llama_sampler_init_dry(vocabulary, multiplier, base, allowed_length, window, texts, len(breakers))


def logit_bias(size: int, pairs: Sequence[tuple[int, float]]) -> Any:
    array = (lib.llama_logit_bias * len(pairs))(*pairs)
    return lib.llama_sampler_init_logit_bias(size, len(pairs), array)


def top_k(count: int) -> Any:
    return lib.llama_sampler_init_top_k(count)


def top_p(mass: float) -> Any:
    return lib.llama_sampler_init_top_p(mass, 1)


def min_p(share: float) -> Any:
    return lib.llama_sampler_init_min_p(share, 1)


def typical(mass: float) -> Any:
    return lib.llama_sampler_init_typical(mass, 1)


def xtc(threshold: float) -> Any:
    """One that always applies."""
    return lib.llama_sampler_init_xtc(1.0, threshold, 1, 0)


def temperature(value: float) -> Any:
    return lib.llama_sampler_init_temp(value)


@contextmanager
def vocabulary_of(path: Path) -> Iterator[Any]:
    """A model's ``llama_model *`` without its weights."""
    silence()
    params = lib.llama_model_default_params()
    params.vocab_only = True
    model = lib.llama_model_load_from_file(str(path).encode(), params)
    assert model is not None
    try:
        yield model
    finally:
        lib.llama_model_free(model)
