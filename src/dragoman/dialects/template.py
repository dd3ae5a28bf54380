"""Runs a model's own chat template, so that no text of a client can become a control token (law 7).

The prompt is, byte for byte, what the template writes by itself. Beside it stand the ranges in which an engine must not recognise
control tokens; ``veil`` says how they are found. Where they cannot be found, because the template changes or inspects just
the characters in question, the request is refused: a client can be told so, a forged turn cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import JsonObject
from dragoman.core.limits import MAX_PROMPT_BYTES
from dragoman.core.request import Conversation, TextPrompt
from dragoman.dialects.continuation import NoOpenTurnError, bookmark, check_end, cut, marked
from dragoman.dialects.control import ControlTexts
from dragoman.dialects.environment import chat_environment
from dragoman.dialects.literals import any_of
from dragoman.dialects.messages import Write, rewritten, template_messages
from dragoman.dialects.thinking import unused, variables
from dragoman.dialects.veil import Veil

OURS: Final = frozenset({"messages", "add_generation_prompt", "bos_token", "eos_token", "strftime_now"})
"""Variables of every template that a client's ``template_args`` cannot set."""


class ChatTemplate:
    """A compiled template. Keeps nothing between renders."""

    def __init__(self, source: str, *, bos_token: str, eos_token: str, specials: tuple[str, ...]) -> None:
        """Raises ``ValueError`` when ``source`` is not a template. ``specials`` are the texts of the control tokens."""
        environment = chat_environment()
        try:
            self._template: Template = environment.from_string(source)
            tree = environment.parse(source)
            literals = {node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)}
            self._reads = frozenset(find_undeclared_variables(tree))
        except TemplateSyntaxError as error:
            raise ValueError(f"chat template, line {error.lineno}: {error.message}") from error
        except (TemplateError, SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError(f"chat template: {error}") from error
        self._source = source
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        self._control = ControlTexts(specials)
        # A template may look for these in a message (``'</think>' in content``), and must find them there.
        self._spared = any_of(
            text
            for text in literals
            if not self._control.alphabet.isdisjoint(text) and self._control.is_apart_from(text)
        )
        self._tags = any_of(text for text in literals if len(text.strip()) > 2 and not text.strip().isalnum())

    def ignores(self, conversation: Conversation, *, now: datetime) -> tuple[str, ...]:
        """What has no effect, as ``Dialect.ignores`` names it. An argument also takes the place of what it overrides.

        Asks of a conversation that ``render`` takes; of another, it may say anything.
        """
        args = conversation.template_args
        wishes = unused(conversation.thinking, self._reads - args.keys())
        closed = () if self._follows(conversation, now) else ("continue_final",)
        return (*closed, *wishes, *(f"template_args.{name}" for name in args if name not in self._reads))

    def render(self, conversation: Conversation, *, now: datetime) -> TextPrompt:
        """Write the prompt; ``now`` is the local time, for templates that ask.

        A conversation whose end cannot stay open in this template is answered in a new turn (S66). Raises ``InvalidRequest`` when the
        template refuses the conversation, when the prompt is too long or no valid text (seeds.md 2.6, rule 5), and when a client's text
        cannot be kept apart from control tokens.
        """
        if conversation.continue_final:
            try:
                return self._prompt(conversation, now)
            except NoOpenTurnError:
                conversation = replace(conversation, continue_final=False, add_generation_prompt=True)
        return self._prompt(conversation, now)

    def _follows(self, conversation: Conversation, now: datetime) -> bool:
        """Whether the last message stays open where that is asked for."""
        if not conversation.continue_final:
            return True
        with suppress(InvalidRequest):
            try:
                self._text(conversation, now, prose=[], arguments=[])
            except NoOpenTurnError:
                return False
        return True

    def _text(
        self, conversation: Conversation, now: datetime, *, prose: list[str], arguments: list[str]
    ) -> tuple[str, str | None]:
        """The prompt, and the bookmark by which its end was found. Adds the client's texts to the two lists."""
        draft = self._draft(conversation, now, prose=_noting(prose), argument=_noting(arguments))
        if not conversation.continue_final:
            return self._write(draft, None), None
        mark = bookmark([self._source, *prose, *arguments])
        text = self._write(draft, mark)
        check_end(text, conversation.messages[-1].text, tags=self._tags)
        return text, mark

    def _prompt(self, conversation: Conversation, now: datetime) -> TextPrompt:
        prose: list[str] = []
        arguments: list[str] = []
        text, mark = self._text(conversation, now, prose=prose, arguments=arguments)
        _check(text, conversation)
        if not self._is_suspect(prose, arguments):
            return TextPrompt(text=text, add_special=False)
        plain = self._plain(text, mark, conversation, now, prose + arguments)
        return TextPrompt(text=text, plain=plain, add_special=False)

    def _is_suspect(self, prose: list[str], arguments: list[str]) -> bool:
        return any(map(self._control.has_mark, prose + arguments)) or any(map(self._control.may_be_inside, prose))

    def _plain(
        self, text: str, mark: str | None, conversation: Conversation, now: datetime, clients: list[str]
    ) -> tuple[tuple[int, int], ...]:
        control = self._control
        try:
            veil = Veil(control, texts=[*clients, self._source, text, mark or ""], spared=self._spared)
        except ValueError as error:
            raise _failed(str(error)) from error

        def argument(value: str) -> str:
            # Arguments are often words that a template compares, so only those that could forge something are veiled.
            return veil.cover(value) if control.has_mark(value) else value

        veiled = self._write(self._draft(conversation, now, prose=veil.cover, argument=argument), mark)
        if veil.lift(veiled) == text:
            return veil.plain_spans(text, veiled)
        # The template looks into the text or rewrites it. That is harmless if the prompt has just the control tokens that the
        # template writes by itself, and no client's text holds one that could have taken the place of another.
        if control.sequence(veiled) == control.sequence(text) and not any(map(control.has_whole, clients)):
            return ()
        raise _failed(
            "it changes or inspects text that looks like this model's control tokens, so that they cannot be told apart"
        )

    def _draft(self, conversation: Conversation, now: datetime, *, prose: Write, argument: Write) -> _Draft:
        arguments = {**variables(conversation.thinking), **_template_args(conversation.template_args)}
        with _template_errors():
            return _Draft(
                messages=template_messages(
                    conversation.messages, knows_developer="developer" in self._source, write=prose
                ),
                variables={
                    "tools": None,
                    "documents": None,
                    **{name: rewritten(value, argument) for name, value in arguments.items()},
                    **self._tokens,
                    "add_generation_prompt": conversation.add_generation_prompt and not conversation.continue_final,
                    "strftime_now": now.strftime,
                },
            )

    def _write(self, draft: _Draft, mark: str | None) -> str:
        """What the template makes of a draft; with a ``mark``, what it writes before that."""
        messages = draft.messages if mark is None else marked(draft.messages, mark)
        with _template_errors():
            written = "".join(_bounded(self._template.generate({**draft.variables, "messages": messages})))
        return written if mark is None else cut(written, mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What a template is given."""

    messages: list[JsonObject]
    variables: Mapping[str, object]


def _noting(texts: list[str]) -> Write:
    def write(text: str) -> str:
        texts.append(text)
        return text

    return write


def _template_args(args: JsonObject) -> JsonObject:
    if taken := OURS.intersection(args):
        raise InvalidRequest(
            f"{min(taken)!r} is set by the server and cannot be passed to the chat template",
            code=Code.INVALID_VALUE,
            feature="template_args",
        )
    return args


def _bounded(pieces: Iterator[str]) -> Iterator[str]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_PROMPT_BYTES:
            raise TemplateError(f"it writes more than {MAX_PROMPT_BYTES} bytes")
        yield piece


@contextmanager
def _template_errors() -> Iterator[None]:
    try:
        yield
    except TemplateError as error:
        raise _failed(error.message or type(error).__name__) from error
    except Exception as error:  # a template is a stranger's program, and may raise whatever Python can
        raise _failed(f"{type(error).__name__}: {error}") from error


def _failed(reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"the model's chat template cannot render these messages: {reason}",
        code=Code.TEMPLATE_FAILED,
        feature="messages",
    )


def _check(text: str, conversation: Conversation) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "the messages contain half of a surrogate pair, which is no character",
            code=Code.INVALID_VALUE,
            feature="messages",
        ) from error
    if size > MAX_PROMPT_BYTES:
        raise _failed(f"it writes {size} bytes, and a prompt may have {MAX_PROMPT_BYTES}")
    if "\0" in text:
        where = next(
            (f"message {i}" for i, message in enumerate(conversation.messages) if "\0" in message.text), "the prompt"
        )
        raise InvalidRequest(f"{where} contains a NUL character", code=Code.INVALID_VALUE, feature="messages")
