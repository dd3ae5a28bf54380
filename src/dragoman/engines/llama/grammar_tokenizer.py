"""The model's vocabulary as llguidance wants it: the bytes of every token, with those marked that no text spells.

Marked are just the tokens that ``EngineInfo.special_tokens`` lists. A grammar names them (``<|im_end|>`` or ``<[2]>``) and spells all
others, also those that look like markup but are text to the model, such as ``<tool_call>`` in many.
"""

from __future__ import annotations

import ctypes
from typing import Final

import llama_cpp.llama_cpp as lib
from llguidance import LLTokenizer

from dragoman.engines.llama.vocabulary import LlamaVocabulary

_MARK: Final = b"\xff"
"""No UTF-8 has this byte, and llguidance takes what follows for the name of a special token."""


def grammar_tokenizer(vocabulary: LlamaVocabulary) -> LLTokenizer:
    """Takes a tenth of a second for 49,152 tokens, and about a second for 262,144. The vocabulary has an end token."""
    pieces = map(vocabulary.piece, range(vocabulary.size))
    tokens = [_MARK + piece if vocabulary.is_control(token) else piece for token, piece in enumerate(pieces)]
    tokenize = ctypes.cast(lib._lib.llama_tokenize, ctypes.c_void_p).value  # noqa: SLF001 - as llguidance's own adapter does
    return LLTokenizer.from_llamacpp(  # type: ignore[attr-defined]  # missing in its stubs
        tokens=tokens,
        vocab_ptr=vocabulary.pointer,
        tokenize_fptr=tokenize,
        eos_token=sorted(vocabulary.end_tokens),
    )
