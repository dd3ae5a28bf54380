"""A real compiler of grammars for the hash backend: llguidance over its bytes, so that tests see real masks without a model."""

from __future__ import annotations

from llguidance import LLTokenizer
from llguidance._tokenizer import TokenizerWrapper

from dragoman.engines.llama.grammar_compiler import GrammarCompiler
from support.hash_backend import END, END_TEXT, SIZE


class _Bytes:
    eos_token_id = END
    bos_token_id = None
    tokens = (*(bytes([byte]) for byte in range(256)), END_TEXT.encode())
    special_token_ids = (END,)

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


def byte_tokenizer() -> LLTokenizer:
    """The hash backend's vocabulary."""
    return LLTokenizer(TokenizerWrapper(_Bytes()))


def byte_grammars() -> GrammarCompiler:
    """Its tokens are one byte each, so what is forced can be seen in a grammar by eye."""
    return GrammarCompiler(byte_tokenizer, SIZE)
