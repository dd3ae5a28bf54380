"""Token records as clients of OpenAI's surfaces know them: chat's rows, completions' arrays, vLLM's prompt tables.

A token is spelled by its share of the text that the client got, also among its own alternatives, so that what is joined is the
text and what is looked up by the token is found. Other alternatives are spelled by their bytes alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Final

from dragoman.core.events import Alternative, PromptRead, TokenRecord, Visibility
from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Readout

_BYTES: Final = "bytes:"
"""What OpenAI's completions put before a token that is not text by itself, as in ``bytes:\\xe2\\x80``."""


def chat_rows(tokens: Iterable[TokenRecord], count: int) -> list[Json]:
    """``logprobs.content`` of a chat's delta, with ``count`` alternatives each: its shown tokens alone (S71, S82, S83)."""
    return [_chat_row(record, count) for record in tokens if record.visibility is Visibility.SHOWN]


class CompletionLogprobs:
    """``logprobs`` of one Completions choice as it grows (S76, S77). ``whole`` is what was added, in the four arrays.

    Control tokens are in it, with no text: who scores an answer needs its end token, too.
    """

    def __init__(self, count: int) -> None:
        self.whole = _arrays()
        self._count = count
        self._offset = 0

    def add(self, tokens: Iterable[TokenRecord]) -> dict[str, list[Json]]:
        """The arrays of these tokens alone; their offsets go on from the text before, in characters."""
        part = _arrays()
        for record in tokens:
            if record.visibility in (Visibility.SHOWN, Visibility.CONTROL):
                part["tokens"].append(record.text)
                part["token_logprobs"].append(_finite(record.logprob))
                part["top_logprobs"].append(_completion_table(record, self._count))
                part["text_offset"].append(self._offset)
                self._offset += len(record.text)
        for name, values in part.items():
            self.whole[name] += values
        return part


def prompt_fields(prompt: PromptRead, readout: Readout) -> dict[str, Json]:
    """The ``prompt_logprobs`` and ``prompt_token_ids`` of vLLM, those that were asked for."""
    fields: dict[str, Json] = {}
    if readout.prompt_logprobs is not None:
        fields["prompt_logprobs"] = [_prompt_table(record, readout.prompt_logprobs) for record in prompt.tokens]
    if readout.token_ids:
        fields["prompt_token_ids"] = list(prompt.ids)
    return fields


def token_ids(tokens: Iterable[TokenRecord]) -> list[Json]:
    """The ``token_ids`` of vLLM: of all that was generated, shown or not."""
    return [record.id for record in tokens if record.id is not None]


def _arrays() -> dict[str, list[Json]]:
    return {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}


def _chat_row(record: TokenRecord, count: int) -> JsonObject:
    others = _alternatives(record, count) if count else ()
    top = [_chat_entry(_spelled(other, record), other.data, other.logprob) for other in others]
    return {**_chat_entry(record.text, record.data, record.logprob), "top_logprobs": top}


def _chat_entry(text: str, data: bytes, logprob: float | None) -> JsonObject:
    return {"token": text, "logprob": _finite(logprob), "bytes": list(data)}


def _completion_table(record: TokenRecord, count: int) -> Json:
    """Text to log-probability, the likeliest first; null where there is none, as at the start of a prompt (S78)."""
    if record.logprob is None:
        return None
    table: dict[str, Json] = {}
    for other in _alternatives(record, count):
        text = _spelled(other, record, _BYTES)
        if other.id != record.id and (text == record.text or text in table):
            text = f"token_id:{other.id}"  # as vLLM names a token whose text says too little
        table[text] = _finite(other.logprob)
    return table


def _prompt_table(record: TokenRecord, count: int) -> Json:
    """One position as vLLM tells it: token id to value, rank from 1 where it is known, and text."""
    if record.logprob is None:
        return None
    ranked = min(count, len(record.alternatives))
    table: dict[str, Json] = {}
    for place, other in enumerate(_alternatives(record, count), start=1):
        table[str(other.id)] = {
            "logprob": _finite(other.logprob),
            "rank": place if place <= ranked else None,
            "decoded_token": other.data.decode(errors="replace"),
        }
    return table


def _alternatives(record: TokenRecord, count: int) -> tuple[Alternative, ...]:
    """The ``count`` likeliest, and the token itself where it is none of them. Its value is its record's own (S79)."""
    if record.id is None or record.logprob is None:
        return record.alternatives[:count]
    itself = Alternative(record.id, record.data, record.logprob)
    first = tuple(itself if other.id == record.id else other for other in record.alternatives[:count])
    return first if itself in first else (*first, itself)


def _spelled(token: Alternative, of: TokenRecord, mark: str = "") -> str:
    """The text of an alternative; ``mark`` goes before bytes that are not text by themselves."""
    if token.id == of.id:
        return of.text
    try:
        return token.data.decode()
    except UnicodeDecodeError:
        return mark + token.data.decode(errors="backslashreplace")


def _finite(value: float | None) -> float | None:
    """JSON has no NaN and no infinity; they are null, never a number that looks like one (S81)."""
    return value if value is not None and isfinite(value) else None
