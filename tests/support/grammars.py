"""Whether a text is a sentence of a Lark grammar, decided by llguidance over a vocabulary of bytes and control tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random

import pytest

from support.dialect_tapes import tokens

llguidance = pytest.importorskip("llguidance")

END = "<end of the answer>"

_ENDS = frozenset(b'"}]')
_LIKELY = frozenset(b'"}],:{[0123456789abcd')


@dataclass(slots=True)
class Bytes:
    """A token for each byte, each of the ``specials``, and the end: what llguidance asks of a tokenizer."""

    specials: tuple[str, ...]
    tokens: list[bytes] = field(init=False)
    special_token_ids: list[int] = field(init=False)
    eos_token_id: int = field(init=False)
    bos_token_id: int | None = None

    def __post_init__(self) -> None:
        self.tokens = [bytes([byte]) for byte in range(256)] + [text.encode() for text in (*self.specials, END)]
        self.special_token_ids = list(range(256, len(self.tokens)))
        self.eos_token_id = len(self.tokens) - 1

    def __call__(self, data: bytes | str) -> list[int]:
        text = data if isinstance(data, str) else data.decode("utf-8", "surrogateescape")
        return [
            token
            for part, special in tokens(text, self.specials)
            for token in ([256 + self.specials.index(part)] if special else part.encode("utf-8", "surrogateescape"))
        ]


@lru_cache(maxsize=64)
def _vocabulary(specials: tuple[str, ...]) -> tuple[Bytes, object]:
    vocabulary = Bytes(specials)
    return vocabulary, llguidance.LLTokenizer(llguidance.TokenizerWrapper(vocabulary))


def longest_beginning(grammar: str, text: str, *, specials: Sequence[str] = ()) -> tuple[str, bool]:
    """How much of ``text`` the grammar lets a model write, and whether the answer may end there. Fails for a grammar that is none."""
    vocabulary, tokenizer = _vocabulary(tuple(specials))
    matcher = llguidance.LLMatcher(tokenizer, grammar)
    assert not matcher.is_error(), f"{matcher.get_error()}\n{grammar}"
    ids = vocabulary(text)
    taken = matcher.try_consume_tokens(ids)
    written = b"".join(vocabulary.tokens[token] for token in ids[:taken]).decode("utf-8", "replace")
    return written, matcher.is_accepting()


def accepts(grammar: str, text: str, *, specials: Sequence[str] = ()) -> bool:
    """Whether ``text`` may be the whole answer; ``␟`` splits what would be a control token, as in tapes."""
    written, may_end = longest_beginning(grammar, text, specials=specials)
    return may_end and written == text.replace("␟", "")


def random_sentence(grammar: str, rng: Random, *, at_most: int) -> str | None:
    """An answer drawn byte by byte from what the grammar allows, inclined to come to an end; None where it did not."""
    vocabulary, tokenizer = _vocabulary(())
    matcher = llguidance.LLMatcher(tokenizer, grammar)
    assert not matcher.is_error(), f"{matcher.get_error()}\n{grammar}"
    written = bytearray()
    for _ in range(at_most):
        mask = matcher.compute_bitmask()
        allowed = [token for token in range(len(vocabulary.tokens)) if mask[token >> 3] >> (token & 7) & 1]
        assert allowed, f"nothing may come after {bytes(written)!r}"
        if vocabulary.eos_token_id in allowed and (len(allowed) == 1 or rng.random() < 0.3):
            return written.decode()
        letters = [token for token in allowed if token < 256]
        likely = [token for token in letters if token in _LIKELY]
        ends = [token for token in letters if token in _ENDS]
        chance = rng.random()
        pool = ends if ends and chance < 0.25 else likely if likely and chance < 0.75 else letters
        written.append(rng.choice(pool))
        assert matcher.consume_token(written[-1])
    return None


def led(grammar: str, text: str, *, specials: Sequence[str] = ()) -> list[tuple[str, bool]]:
    """An answer that a model writes which wants to write ``text`` and is held to the grammar; control tokens are marked.

    It leaves out white space that is not allowed, and writes what is forced. It ends at a control token with which the grammar has nothing to do
    where the answer may end. Fails where the grammar wants something else than ``text``.
    """
    vocabulary, tokenizer = _vocabulary(tuple(specials))
    matcher = llguidance.LLMatcher(tokenizer, grammar)
    assert not matcher.is_error(), f"{matcher.get_error()}\n{grammar}"
    written: list[int] = []

    def write(token: int) -> bool:
        allowed = bool(matcher.validate_tokens([token]))
        if allowed:
            assert matcher.consume_token(token)
            written.append(token)
        return allowed

    for token in vocabulary(text):
        if write(token):
            continue
        if token >= 256 and matcher.is_accepting():
            break
        if vocabulary.tokens[token].isspace():
            continue
        while (forced := matcher.compute_ff_tokens()) and write(forced[0]) and not matcher.validate_tokens([token]):
            pass
        said = _marked(vocabulary, written)
        assert write(token), f"{vocabulary.tokens[token]!r} is not allowed behind {said}\n{grammar}"
    while not matcher.is_accepting() and (forced := matcher.compute_ff_tokens()):
        write(forced[0])
    assert matcher.is_accepting(), f"it may not end behind {_marked(vocabulary, written)}\n{grammar}"
    return _marked(vocabulary, written)


def _marked(vocabulary: Bytes, ids: Sequence[int]) -> list[tuple[str, bool]]:
    parts: list[tuple[bytes, bool]] = []
    for token in ids:
        if token < 256 and parts and not parts[-1][1]:
            parts[-1] = (parts[-1][0] + vocabulary.tokens[token], False)
        else:
            parts.append((vocabulary.tokens[token], token >= 256))
    return [(data.decode(), special) for data, special in parts]
