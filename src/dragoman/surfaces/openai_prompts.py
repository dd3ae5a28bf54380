"""What Completions continues: the four forms of ``prompt``, and ``suffix`` (S48, S90 to S102).

A string, or an array of token ids, is one prompt. An array of strings, or of arrays of ids, is a batch, unless it holds one member:
that is the one prompt which it holds (S91). Members are looked at late, since the options of a batch are checked before (S101).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.json import Json
from dragoman.core.limits import (
    MAX_BATCH_COMPLETION_TOKENS,
    MAX_BATCH_PROMPT_TOKENS,
    MAX_BATCH_PROMPTS,
    MAX_TOKEN_ID,
)
from dragoman.core.request import FillIn, Prompt, PromptBatch, TextPrompt, TokenPrompt
from dragoman.surfaces.fields import Form, Table, honoured, refused
from dragoman.surfaces.readers import BOOLEAN, PROMPT_TEXT, Place, Reader, is_token_ids

_Single: TypeAlias = str | tuple[int, ...]
_ID: Final[Json] = {"type": "integer", "minimum": 0, "maximum": MAX_TOKEN_ID}
_IDS: Final[Json] = {"type": "array", "items": _ID, "minItems": 1}
_FORMS: Final[list[Json]] = [
    {"type": "string"},
    _IDS,
    {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_BATCH_PROMPTS},
    {"type": "array", "items": _IDS, "minItems": 1, "maxItems": MAX_BATCH_PROMPTS},
]


@dataclass(frozen=True, slots=True)
class _Members:
    """Two or more prompts that nobody has looked at yet."""

    values: Sequence[Json]
    at: Place

    def read(self) -> tuple[_Single, ...]:
        """All of them. Raises ``InvalidRequest``: about all as ``prompt``, about one as ``prompt[k]`` (S92, S94)."""
        if len(self.values) > MAX_BATCH_PROMPTS:
            raise _over(
                f"{self.at.path} holds {len(self.values)} prompts; at most {MAX_BATCH_PROMPTS} are taken",
                Code.BATCH_TOO_LONG,
            )
        kinds = {type(value) for value in self.values}
        if kinds not in ({str}, {list}):
            raise self.at.wrong(f"{self.at.path} must hold strings alone, or arrays of token ids alone")
        members = tuple(
            _single(value, Place().child(f"{self.at.path}[{k}]"), "a non-empty array of token ids")
            for k, value in enumerate(self.values)
        )
        total = sum(_weight(member) for member in members)
        if total > MAX_BATCH_PROMPT_TOKENS:
            raise _over(
                f"{self.at.path} holds {total} tokens, with each byte of a string counted as one; at most "
                f"{MAX_BATCH_PROMPT_TOKENS} are taken in one request",
                Code.BATCH_PROMPT_TOKENS,
            )
        return members


def _prompt(value: Json, at: Place) -> _Single | _Members:
    if isinstance(value, list) and value and isinstance(value[0], str | list):
        return _Members(value, at) if len(value) > 1 else _single(value[0], at)
    return _single(value, at)


def _single(value: Json, at: Place, wants: str | None = None) -> _Single:
    if isinstance(value, str):
        return PROMPT_TEXT.read(value, at)
    if value and is_token_ids(value):
        return tuple(value)
    raise at.invalid(wants or PROMPTS.wants, value)


def _weight(member: _Single) -> int:
    return len(member.encode()) if isinstance(member, str) else len(member)


PROMPTS: Final = Reader(
    "a string, or a non-empty array of token ids, or an array of such prompts of one kind", _prompt, {"anyOf": _FORMS}
)

PROMPT: Final = honoured(
    "prompt",
    PROMPTS,
    f"Required. An array of 2 to {MAX_BATCH_PROMPTS} strings or id arrays is a batch: one choice for each, all or none (S90 to S99).",
    required=True,
)
SUFFIX: Final = honoured(
    "suffix",
    PROMPT_TEXT,
    "Text behind a gap that the model fills, where its vocabulary can say so (S48). For one prompt of text; empty is none.",
)
PARSE_SPECIAL: Final = honoured(
    "parse_special", BOOLEAN, "Default true: the text of a control token in `prompt` is that token."
)
ADD_SPECIAL_TOKENS: Final = honoured(
    "add_special_tokens", BOOLEAN, "Default true: the tokenizer adds what the model expects, such as BOS."
)

PROMPT_FIELDS: Final = Table(
    PROMPT, SUFFIX, PARSE_SPECIAL, ADD_SPECIAL_TOKENS, refused("prompt_embeds", "send text, or token ids")
)
"""The rows that this module reads."""

PROMPT_SPELLING: Final = {
    "ids": PROMPT.name,
    "fill_in": SUFFIX.name,
    "add_special": ADD_SPECIAL_TOKENS.name,
}
"""Features of a prompt that errors may name, where a client spells them otherwise."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompt of one body, in two steps: what it is, and what it says."""

    form: Form
    found: _Single | _Members

    @property
    def is_batch(self) -> bool:
        """Whether there are two or more."""
        return isinstance(self.found, _Members)

    def neutral(self) -> FillIn | PromptBatch | Prompt:
        """What the service is asked to continue. Raises ``InvalidRequest`` naming the field or the member."""
        suffix = self.form.read(SUFFIX, "")
        match self.found:
            case _Members() as members:
                self._refuse_suffix(suffix, "an array of prompts")
                return PromptBatch(prompts=tuple(self._one(member) for member in members.read()))
            case str() as text if suffix:
                return FillIn(before=self._text(text), after=suffix)
            case str() | tuple() as single:
                self._refuse_suffix(suffix, "token ids")
                return self._one(single)
            case _:
                assert_never(self.found)

    def _one(self, single: _Single) -> Prompt:
        if isinstance(single, str):
            return self._text(single)
        self.form.ignore(PARSE_SPECIAL)
        self.form.ignore(ADD_SPECIAL_TOKENS)
        return TokenPrompt(ids=single)

    def _text(self, text: str) -> TextPrompt:
        parse_special = self.form.read(PARSE_SPECIAL, True)
        return TextPrompt(text=text, parse_special=parse_special, add_special=self.form.read(ADD_SPECIAL_TOKENS, True))

    def _refuse_suffix(self, suffix: str, with_what: str) -> None:
        if suffix:
            raise Unsupported(
                f"{SUFFIX.name} can not go together with {with_what}: send one prompt of text",
                code=Code.UNSUPPORTED_VALUE,
                param=SUFFIX.name,
            )


def prompts(form: Form) -> Prompts:
    """The first step. Raises ``InvalidRequest`` for a single prompt that is none; a batch is not looked into."""
    return Prompts(form, form.require(PROMPT))


def check_batch_budget(batch: PromptBatch, max_tokens: int, budget_field: str) -> None:
    """Raise ``InvalidRequest`` where the members could generate too much between them (S99, S100)."""
    members = len(batch.prompts)
    if members * max_tokens > MAX_BATCH_COMPLETION_TOKENS:
        raise InvalidRequest(
            f"{members} prompts with {budget_field} {max_tokens} may generate {members * max_tokens} tokens; at most "
            f"{MAX_BATCH_COMPLETION_TOKENS} are generated in one request: send a lower {budget_field}",
            code=Code.BATCH_COMPLETION_TOKENS,
            param=budget_field,
        )


def _over(message: str, code: Code) -> InvalidRequest:
    return InvalidRequest(message, code=code, param=PROMPT.name)
