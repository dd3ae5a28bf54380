"""The model's vocabulary, through llama.cpp: text to tokens with protected spans, and tokens to bytes.

Special tokens are found by ourselves, outside the plain spans of a prompt, and the text between them goes to llama.cpp with
special parsing off. So the pieces that text splits into are those of llama.cpp and Transformers, and text that a user wrote cannot
become a control token, whatever stands next to it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import llama_cpp.llama_cpp as lib

from dragoman.core.request import TextPrompt
from dragoman.engines.base import FillInTokens, SpecialToken

_ATTR_UNKNOWN, _ATTR_CONTROL, _ATTR_LSTRIP, _ATTR_RSTRIP = 1 << 0, 1 << 3, 1 << 7, 1 << 8


@dataclass(frozen=True, slots=True)
class _Special:
    id: int
    text: str
    strip_left: bool
    strip_right: bool


class LlamaVocabulary:
    """Implements ``engines.backend.Vocabulary``."""

    def __init__(self, model: lib.llama_model_p) -> None:
        vocab = lib.llama_model_get_vocab(model)
        assert vocab is not None
        self._vocab = vocab
        self.size: int = lib.llama_vocab_n_tokens(vocab)
        self._pieces: dict[int, bytes] = {}

    @property
    def pointer(self) -> int:
        """llama.cpp's own handle, for libraries that call it themselves."""
        return int(self._vocab)

    @cached_property
    def specials(self) -> tuple[SpecialToken, ...]:
        """Every control token."""
        return tuple(SpecialToken(id=special.id, text=special.text) for special in self._specials.values())

    @property
    def bos(self) -> str | None:
        """Text of the token that begins a text, if the model has one."""
        return self._text_or_none(lib.llama_vocab_bos(self._vocab))

    @property
    def eos(self) -> str | None:
        """Text of the token that ends a text, if the model has one."""
        return self._text_or_none(lib.llama_vocab_eos(self._vocab))

    @cached_property
    def fill_in(self) -> FillInTokens | None:
        """Texts of the tokens around a gap, if the model has all three."""
        prefix, suffix, middle = map(self._text_or_none, self._gap)
        if not (prefix and suffix and middle):
            return None
        return FillInTokens(prefix=prefix, suffix=suffix, middle=middle)

    def piece(self, token: int) -> bytes:
        """The bytes of a token, looked up once. Raises ``IndexError`` for an id outside the vocabulary."""
        known = self._pieces.get(token)
        if known is None:
            if not 0 <= token < self.size:
                raise IndexError(token)
            known = self._pieces[token] = self._read_piece(token)
        return known

    def is_control(self, token: int) -> bool:
        """Whether a token is never text."""
        return token in self._control

    def ends(self, token: int) -> bool:
        """Whether a token ends the generation (llama.cpp's end-of-generation set)."""
        return token in self._ends

    @property
    def end_tokens(self) -> frozenset[int]:
        """llama.cpp's end-of-generation set."""
        return self._ends

    def tokenize(self, prompt: TextPrompt) -> list[int]:
        """Ids of a text. Special tokens are recognised where they lie wholly outside the plain spans."""
        ids = [lib.llama_vocab_bos(self._vocab)] if prompt.add_special and self._adds_bos else []
        position = 0
        strip_left = False
        for start, end, special in self._find_specials(prompt):
            text = prompt.text[position:start]
            text = text.lstrip() if strip_left else text
            ids += self._plain(text.rstrip() if special.strip_left else text)
            ids.append(special.id)
            position, strip_left = end, special.strip_right
        rest = prompt.text[position:]
        ids += self._plain(rest.lstrip() if strip_left else rest)
        if prompt.add_special and lib.llama_vocab_get_add_eos(self._vocab):
            ids.append(lib.llama_vocab_eos(self._vocab))
        return ids

    # --- reading the library's tables ---------------------------------------------------------------------------------

    @cached_property
    def _adds_bos(self) -> bool:
        return bool(lib.llama_vocab_get_add_bos(self._vocab)) and lib.llama_vocab_bos(self._vocab) >= 0

    @cached_property
    def _control(self) -> frozenset[int]:
        return frozenset(special.id for special in self._specials.values())

    @cached_property
    def _ends(self) -> frozenset[int]:
        return frozenset(token for token in range(self.size) if lib.llama_vocab_is_eog(self._vocab, token))

    @cached_property
    def _gap(self) -> tuple[int, int, int]:
        """Ids around a gap (fill-in-the-middle), -1 for each that the model lacks."""
        return (
            lib.llama_vocab_fim_pre(self._vocab),
            lib.llama_vocab_fim_suf(self._vocab),
            lib.llama_vocab_fim_mid(self._vocab),
        )

    @cached_property
    def _specials(self) -> dict[str, _Special]:
        found = {}
        for token in range(self.size):
            attributes = lib.llama_vocab_get_attr(self._vocab, token)
            if attributes & (_ATTR_CONTROL | _ATTR_UNKNOWN) or token in self._ends or token in self._gap:
                text = (lib.llama_vocab_get_text(self._vocab, token) or b"").decode("utf-8", "replace")
                if text:
                    found[text] = _Special(
                        token, text, bool(attributes & _ATTR_LSTRIP), bool(attributes & _ATTR_RSTRIP)
                    )
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        """Longest first, as llama.cpp and Transformers match them."""
        texts = sorted(self._specials, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, texts))) if texts else None

    def _find_specials(self, prompt: TextPrompt) -> Iterator[tuple[int, int, _Special]]:
        if not prompt.parse_special or self._pattern is None:
            return
        spans = iter(prompt.plain)
        span = next(spans, None)
        position = 0
        while match := self._pattern.search(prompt.text, position):
            start, end = match.span()
            while span is not None and span[1] <= start:
                span = next(spans, None)
            if span is not None and span[0] < end:
                position = start + 1
                continue
            yield start, end, self._specials[match.group()]
            position = end

    def _plain(self, text: str) -> list[int]:
        if not text:
            return []
        data = text.encode("utf-8")
        room = len(data) + 16
        while True:
            tokens = (lib.llama_token * room)()
            count = lib.llama_tokenize(self._vocab, data, len(data), tokens, room, False, False)
            if count >= 0:
                return tokens[:count]
            room = -count

    def _read_piece(self, token: int) -> bytes:
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = lib.llama_token_to_piece(self._vocab, token, buffer, room, 0, True)
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def _text_or_none(self, token: int) -> str | None:
        if token < 0:
            return None
        return (lib.llama_vocab_get_text(self._vocab, token) or b"").decode("utf-8", "replace")
