"""Tokens around a gap, as llama.cpp finds them: in vocabularies that are written here, of letters and a few control tokens."""

from __future__ import annotations

import importlib
import string
import struct
from pathlib import Path

import pytest

from dragoman.core.request import TextPrompt
from dragoman.engines.base import FillInTokens

lib = pytest.importorskip("llama_cpp.llama_cpp")

from dragoman.engines.llama.vocabulary import LlamaVocabulary  # noqa: E402 - only where the library is there

STARCODER = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4


@pytest.fixture
def vocabulary(tmp_path: Path):
    """Makes vocabularies; their models are freed at the end."""
    models = []

    importlib.import_module("support.llama_log").silence()

    def load(*more: str, kind: int = CONTROL, ids: dict[str, int] | None = None) -> LlamaVocabulary:
        path = tmp_path / "vocabulary.gguf"
        path.write_bytes(gguf([*string.ascii_lowercase, "<", ">", "_", "Ċ", "<end>"], more, kind, ids or {}))
        params = lib.llama_model_default_params()
        params.vocab_only = True
        models.append(lib.llama_model_load_from_file(str(path).encode(), params))
        assert models[-1], "llama.cpp does not take the file"
        return LlamaVocabulary(models[-1])

    yield load
    for model in models:
        lib.llama_model_free(model)


def gguf(letters: list[str], more: tuple[str, ...], kind: int, ids: dict[str, int]) -> bytes:
    """A byte-level vocabulary without merges: magic, version 3, no tensors, then entries of key, type and value."""
    tokens = [*letters, *more]
    kinds = [NORMAL] * (len(letters) - 1) + [CONTROL] + [kind] * len(more)
    entries = [
        text("general.architecture") + scalar(8, text("llama")),
        text("tokenizer.ggml.model") + scalar(8, text("gpt2")),
        text("tokenizer.ggml.pre") + scalar(8, text("default")),
        text("tokenizer.ggml.tokens") + array(8, [text(token) for token in tokens]),
        text("tokenizer.ggml.token_type") + array(5, [struct.pack("<i", each) for each in kinds]),
        text("tokenizer.ggml.merges") + array(8, [text("a b")]),
        text("tokenizer.ggml.eos_token_id") + scalar(4, struct.pack("<I", len(letters) - 1)),
        *(text(f"tokenizer.ggml.{key}_token_id") + scalar(4, struct.pack("<I", value)) for key, value in ids.items()),
    ]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries)


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(kind: int, value: bytes) -> bytes:
    return struct.pack("<I", kind) + value


def array(kind: int, values: list[bytes]) -> bytes:
    return struct.pack("<IIQ", 9, kind, len(values)) + b"".join(values)


@pytest.mark.seeds("S48")
def test_three_tokens_that_go_by_a_usual_name_are_found(vocabulary):
    found = vocabulary(*STARCODER).fill_in
    assert found == FillInTokens(prefix="<fim_prefix>", suffix="<fim_suffix>", middle="<fim_middle>")


@pytest.mark.parametrize("missing", STARCODER)
def test_two_of_them_are_none(vocabulary, missing):
    assert vocabulary(*(text for text in STARCODER if text != missing)).fill_in is None
    assert vocabulary().fill_in is None


@pytest.mark.parametrize("kind", [NORMAL, CONTROL, USER_DEFINED])
def test_tokens_that_the_file_points_to_are_control_tokens_whatever_it_calls_them(vocabulary, kind):
    """Else their text in a prompt would be read as letters."""
    ids = {"fim_pre": 31, "fim_suf": 32, "fim_mid": 33}
    made = vocabulary("<before>", "<after>", "<between>", kind=kind, ids=ids)
    assert made.fill_in == FillInTokens(prefix="<before>", suffix="<after>", middle="<between>")
    assert made.tokenize(TextPrompt(text="<before>a<after>b<between>")) == [31, 0, 32, 1, 33]
    assert all(made.is_control(token) for token in ids.values())


@pytest.mark.parametrize("kind", [NORMAL, CONTROL])
def test_what_a_user_writes_around_a_gap_is_letters(vocabulary, kind):
    """Not so for a token that the file calls user-defined: llama.cpp sees such a one in any text, as Transformers does."""
    made = vocabulary("<before>", "<after>", "<between>", kind=kind, ids={"fim_pre": 31, "fim_suf": 32, "fim_mid": 33})
    as_letters = made.tokenize(TextPrompt(text="<before>", plain=((0, 8),)))
    assert b"".join(made.piece(token) for token in as_letters) == b"<before>"
    assert 31 not in as_letters
