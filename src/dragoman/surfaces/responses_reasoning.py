"""How the model shall think on the Responses surface, and what of it and of its tokens is told: ``reasoning`` and ``include``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record
from dragoman.surfaces.openai_conversation import EFFORT_NAMES
from dragoman.surfaces.readers import TEXT, Place, Reader, array, word

ENCRYPTED: Final = "reasoning.encrypted_content"
LOGPROBS: Final = "message.output_text.logprobs"

_ELSEWHERE: Final = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
)
"""The rest of OpenAI's ``ResponseIncludable``: of tools that are not run here, and of what the client knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningWish:
    """What ``reasoning`` says. ``summary``: the client asked for one, and in which manner."""

    effort: str | None = None
    summary: str | None = None

    @property
    def echo(self) -> JsonObject:
        """The field as the response object repeats it."""
        return {"effort": self.effort, "summary": self.summary}


@dataclass(frozen=True, slots=True, kw_only=True)
class Included:
    """What a response tells beside its text."""

    words: frozenset[str] = field(default_factory=frozenset)

    @property
    def encrypted(self) -> bool:
        """Reasoning in a form that the client can give back."""
        return ENCRYPTED in self.words

    @property
    def logprobs(self) -> bool:
        """Log-probabilities of the output text."""
        return LOGPROBS in self.words


def _reasoning(form: Form) -> ReasoningWish:
    summary, older = form.read(SUMMARY, None), form.read(GENERATE_SUMMARY, None)
    if summary is not None:
        form.ignore(GENERATE_SUMMARY)
    return ReasoningWish(effort=form.read(EFFORT, None), summary=summary or older)


def _included(value: Json, at: Place) -> Included:
    words = _WORDS.read(value, at)
    for index, name in enumerate(words):
        if name not in (ENCRYPTED, LOGPROBS):
            place = at.child(index)
            if at.strict and name not in _ELSEWHERE:
                raise InvalidRequest(
                    f"{place.path} is nothing that can be included", code=Code.UNKNOWN_FIELD, param=place.path
                )
            place.child(name).ignore()
    return Included(words=frozenset(words))


_SUMMARIES: Final = word("auto", "concise", "detailed")
EFFORT: Final = honoured("effort", EFFORT_NAMES, "How much the model thinks; all but `none` turn thinking on (S62).")
SUMMARY: Final = honoured(
    "summary", _SUMMARIES, "With any of them, reasoning is told as a summary, which is all of it; else as it is."
)
GENERATE_SUMMARY: Final = honoured("generate_summary", _SUMMARIES, "The older name of `summary`, which wins.")
REASONING_FIELDS: Final = Table(
    EFFORT,
    SUMMARY,
    GENERATE_SUMMARY,
    ignored("context", "The model sees what reasoning the input holds, where its template shows any."),
    ignored("mode", "There is one."),
)
REASONING: Final = honoured("reasoning", record(REASONING_FIELDS, _reasoning), "See below.")

_WORDS: Final = array(TEXT, of="strings")
INCLUDE: Final = honoured(
    "include",
    Reader(_WORDS.wants, _included, _WORDS.schema),
    f"`{ENCRYPTED}` and `{LOGPROBS}`; others are of tools that are not run here, and listed.",
)
