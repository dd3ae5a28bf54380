"""Runs a compiled chat template. It is a stranger's program, so what it writes is bounded and whatever it raises is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from jinja2 import Template, TemplateError

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.limits import MAX_PROMPT_BYTES
from dragoman.core.request import Message


def run(template: Template, variables: Mapping[str, object]) -> str:
    """What the template writes. Raises ``InvalidRequest`` when it fails or writes too much."""
    with named_failures():
        return "".join(_bounded(template.generate(variables)))


@contextmanager
def named_failures() -> Iterator[None]:
    """Turns whatever is raised inside into ``InvalidRequest``: templates may raise whatever Python can."""
    try:
        yield
    except InvalidRequest:
        raise
    except TemplateError as error:
        raise failed(error.message or type(error).__name__) from error
    except Exception as error:
        raise failed(f"{type(error).__name__}: {error}") from error


def failed(reason: str) -> InvalidRequest:
    """The refusal of a conversation that a template cannot write."""
    return InvalidRequest(
        f"the model's chat template cannot render these messages: {reason}",
        code=Code.TEMPLATE_FAILED,
        feature="messages",
    )


def check_prompt(text: str, messages: tuple[Message, ...]) -> None:
    """Raises ``InvalidRequest`` for a prompt that is too long or no valid text (seeds.md 2.6, rule 5)."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "the messages contain half of a surrogate pair, which is no character",
            code=Code.INVALID_VALUE,
            feature="messages",
        ) from error
    if size > MAX_PROMPT_BYTES:
        raise failed(f"it writes {size} bytes, and a prompt may have {MAX_PROMPT_BYTES}")
    if "\0" in text:
        where = next((f"message {i}" for i, message in enumerate(messages) if "\0" in message.text), "the prompt")
        raise InvalidRequest(f"{where} contains a NUL character", code=Code.INVALID_VALUE, feature="messages")


def _bounded(pieces: Iterator[str]) -> Iterator[str]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_PROMPT_BYTES:
            raise TemplateError(f"it writes more than {MAX_PROMPT_BYTES} bytes")
        yield piece
