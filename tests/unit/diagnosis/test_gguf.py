"""The head of a GGUF file, written here by hand from ggml's description of the format."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dragoman.diagnosis.gguf import NotGguf, read_header


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def number(key: str, value: int) -> bytes:
    return pair(key, 4, struct.pack("<I", value))


LLAMA = (
    pair("general.architecture", 8, text("llama")),
    pair("general.name", 8, text("Tiny")),
    number("llama.block_count", 30),
    number("llama.context_length", 8192),
    number("llama.embedding_length", 576),
    number("llama.attention.head_count", 9),
    number("llama.attention.head_count_kv", 3),
    pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("b")),
    pair("tokenizer.ggml.add_bos_token", 7, b"\x00"),
)


def gguf(*pairs: bytes, version: int = 3, data: bytes = bytes(64)) -> bytes:
    tensor = text("output.weight") + struct.pack("<IQIQ", 1, 16, 0, 0)
    return b"GGUF" + struct.pack("<IQQ", version, 1, len(pairs)) + b"".join(pairs) + tensor + data


def save(folder: Path, content: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return path


def test_names_and_numbers_are_read_past_arrays_of_texts(tmp_path: Path) -> None:
    header = read_header(save(tmp_path, gguf(*LLAMA)))
    assert (header.architecture, header.name, header.context_length) == ("llama", "Tiny", 8192)
    assert header.metadata["tokenizer.ggml.add_bos_token"] is False


def test_the_cache_costs_keys_and_values_of_every_layer(tmp_path: Path) -> None:
    header = read_header(save(tmp_path, gguf(*LLAMA)))
    # SmolLM2 135M: 30 layers, 3 key-value heads of 64 numbers each, for keys and for values.
    assert header.kv_bytes(cell_bytes=4) == 30 * 3 * 64 * 2 * 4 == 46_080
    assert header.kv_bytes(cell_bytes=2) == 23_040


def test_heads_may_differ_from_layer_to_layer(tmp_path: Path) -> None:
    per_layer = pair("llama.attention.head_count_kv", 9, struct.pack("<IQ3I", 4, 3, 1, 0, 2))
    pairs = [each for each in LLAMA if b"head_count_kv" not in each]
    header = read_header(save(tmp_path, gguf(*pairs, per_layer)))
    assert header.kv_bytes(cell_bytes=1) == (1 + 0 + 2) * (64 + 64)


def test_a_model_that_does_not_tell_its_shape_has_no_known_cache(tmp_path: Path) -> None:
    header = read_header(save(tmp_path, gguf(pair("general.architecture", 8, text("new")))))
    assert header.kv_bytes(cell_bytes=4) is None
    assert header.context_length is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "does not start with the letters GGUF"),
        (b"PK\x03\x04 a zip file", "does not start with the letters GGUF"),
        (gguf(*LLAMA, version=1), "version is 1"),
        (gguf(*LLAMA)[:40], "ends within its head"),
        (gguf(*LLAMA, data=b""), "cut short"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 2**40), "head is damaged"),
        (gguf(pair("x", 99, b"")), "unknown type 99"),
        (gguf(pair("x", 8, struct.pack("<Q", 2**60))), "head is damaged"),
    ],
)
def test_what_is_no_whole_gguf_file_is_refused_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(NotGguf, match=reason):
        read_header(save(tmp_path, content))
