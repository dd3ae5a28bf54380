"""Runs a model's own chat template, so that no text of a client can become a control token (law 7).

The prompt is, byte for byte, what the template writes by itself. Beside it stand the ranges in which an engine must not recognise
control tokens; ``veil`` says how they are found. Where they cannot be found, because the template changes or inspects just
the characters in question, the request is refused: a client can be told so, a forged turn cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import JsonObject
from dragoman.core.request import Conversation, Message, Role, TextPart, TextPrompt, ToolCall
from dragoman.dialects.continuation import NoOpenTurnError, bookmark, check_end, cut, last_said, marked
from dragoman.dialects.control import ControlTexts
from dragoman.dialects.environment import chat_environment
from dragoman.dialects.failures import check_prompt, failed, named_failures, run
from dragoman.dialects.literals import any_of
from dragoman.dialects.messages import (
    SHAPES,
    CallShape,
    Pen,
    Write,
    in_parts,
    rewritten,
    template_messages,
    template_tools,
)
from dragoman.dialects.pictures import shows_pictures, stand_in
from dragoman.dialects.thinking import variables
from dragoman.dialects.veil import Veil, free_characters

OURS: Final = frozenset({"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "strftime_now"})
"""Variables of every template that a client's ``template_args`` cannot set."""

_SAID: Final = "What is it?"
_CALL: Final = ToolCall(id="call_1_of_the_first_turn", name="look_up", arguments='{"word": "dragoman"}')
_WITH_CALL: Final = Conversation(
    messages=(
        Message(role=Role.USER, parts=(TextPart(text=_SAID),)),
        Message(role=Role.ASSISTANT, tool_calls=(_CALL,)),
        Message(role=Role.TOOL, parts=(TextPart(text="An interpreter."),), tool_call_id=_CALL.id),
    )
)
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a template made of a conversation; ``stays_open`` is false where a turn was to go on and could not (S66)."""

    prompt: TextPrompt
    stays_open: bool = True


class TemplateRunner:
    """A compiled template, which takes conversations as they are. Keeps nothing between renders."""

    def __init__(self, source: str, *, bos_token: str, eos_token: str, specials: tuple[str, ...]) -> None:
        """Raises ``ValueError`` when ``source`` is not a template. ``specials`` are the texts of the control tokens."""
        environment = chat_environment()
        try:
            self._template: Template = environment.from_string(source)
            tree = environment.parse(source)
            literals = {node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)}
            self.reads = frozenset(find_undeclared_variables(tree))
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
        self._shape = SHAPES[0]
        self._takes_parts = False
        self._takes_parts = self._only_takes_parts()
        self._shape = self._learned_shape()

    def write(self, conversation: Conversation, *, now: datetime) -> Written:
        """Write the prompt; ``now`` is the local time, for templates that ask. Where no turn can stay open, a new one begins (S66).

        Raises ``InvalidRequest`` when the template refuses the conversation, when the prompt is too long or no valid text (seeds.md 2.6,
        rule 5), and when a client's text cannot be kept apart from control tokens. A picture that the template leaves out is not in
        the prompt.
        """
        if not shows_pictures(conversation.messages):
            return self._write(conversation, now)
        shown = stand_in(conversation.messages, self.free_characters(conversation, now=now))
        written = self._write(replace(conversation, messages=shown.messages), now)
        return replace(written, prompt=shown.prompt(written.prompt))

    def attempt(self, conversation: Conversation, *, now: datetime) -> str:
        """What the template writes, with nothing checked and all turns closed. Raises ``InvalidRequest`` when it fails."""
        return self._run(self._draft(replace(conversation, continue_final=False), now, _Said().pen), None)

    def free_characters(self, conversation: Conversation, *, now: datetime) -> Iterator[str]:
        """Characters that occur nowhere in the conversation or the template. Raises ``InvalidRequest`` as ``attempt`` does."""
        said = _Said()
        self._draft(conversation, now, said.pen)
        return free_characters([self._source, *said.all])

    def _write(self, conversation: Conversation, now: datetime) -> Written:
        if conversation.continue_final:
            try:
                return Written(prompt=self._prompt(conversation, now))
            except NoOpenTurnError:
                closed = replace(conversation, continue_final=False, add_generation_prompt=True)
                return Written(prompt=self._prompt(closed, now), stays_open=False)
        return Written(prompt=self._prompt(conversation, now))

    def _only_takes_parts(self) -> bool:
        """Whether this template writes what a user says in an array of parts, and leaves out what stands there as a string."""
        asked = Conversation(messages=(Message(role=Role.USER, parts=(TextPart(text=_SAID),)),))
        with suppress(InvalidRequest):
            if _SAID in self.attempt(asked, now=_ANY_DAY):
                return False
        self._takes_parts = True
        with suppress(InvalidRequest):
            written = self.attempt(asked, now=_ANY_DAY)
            # Between quotes it is the array itself that was written, by a template that takes it for a string.
            return _SAID in written and not any(f"{quote}{_SAID}{quote}" in written for quote in "'\"")
        return False

    def _learned_shape(self) -> CallShape:
        """How this template wants earlier calls: in the first shape in which it writes one."""
        for shape in SHAPES if "tool_calls" in self._source else ():
            self._shape = shape
            with suppress(InvalidRequest):
                written = self.attempt(_WITH_CALL, now=_ANY_DAY)
                if _CALL.name in written and "dragoman" in written:
                    return shape
        return SHAPES[0]

    def _prompt(self, conversation: Conversation, now: datetime) -> TextPrompt:
        said = _Said()
        draft = self._draft(conversation, now, said.pen)
        mark = bookmark([self._source, *said.all]) if conversation.continue_final else None
        text = self._run(draft, mark)
        if mark is not None:
            check_end(text, last_said(conversation.messages[-1]), tags=self._tags)
        check_prompt(text, conversation.messages)
        plain = self._plain(text, mark, conversation, now, said.all) if self._is_suspect(said) else ()
        return TextPrompt(text=text, plain=plain, add_special=False)

    def _is_suspect(self, said: _Said) -> bool:
        control = self._control
        return (
            any(map(control.has_mark, said.prose))
            or any(map(control.may_be_part, said.prose))
            or any(word and not control.is_plain_word(word) for word in said.words)
            or any(control.has_mark(term) and not control.is_plain_word(term) for term in said.terms)
        )

    def _plain(
        self, text: str, mark: str | None, conversation: Conversation, now: datetime, clients: list[str]
    ) -> tuple[tuple[int, int], ...]:
        control = self._control
        try:
            veil = Veil(control, texts=[*clients, self._source, text, mark or ""], spared=self._spared)
        except ValueError as error:
            raise failed(str(error)) from error

        def word(text: str) -> str:
            return text if control.is_plain_word(text) else veil.cover(text)

        def term(text: str) -> str:
            return word(text) if control.has_mark(text) else text

        def veiled_by(pen: Pen) -> str:
            return self._run(self._draft(conversation, now, pen), mark)

        veiled = veiled_by(Pen(prose=veil.cover, word=word, term=term))
        if veil.lift(veiled) == text:
            return veil.plain_spans(text, veiled)
        # A template may sort names, or compare them. If they make no token when they stand there openly, they can.
        open_words = veiled_by(Pen(prose=veil.cover, word=_as_it_is, term=term))
        if veil.lift(open_words) == text and sorted(control.sequence(open_words)) == sorted(control.sequence(veiled)):
            return veil.plain_spans(text, open_words)
        # The template looks into the text or rewrites it. That is harmless if the prompt has just the control tokens that the
        # template writes by itself, and no client's text holds one that could have taken the place of another.
        if control.sequence(veiled) == control.sequence(text) and not any(map(control.has_whole, clients)):
            return ()
        raise failed(
            "it changes or inspects text that looks like this model's control tokens, so that they cannot be told apart"
        )

    def _draft(self, conversation: Conversation, now: datetime, pen: Pen) -> _Draft:
        arguments = {**variables(conversation.thinking), **_template_args(conversation.template_args)}
        with named_failures():
            return _Draft(
                messages=template_messages(conversation.messages, pen=pen, shape=self._shape),
                variables={
                    "documents": None,
                    **{name: rewritten(value, pen.term) for name, value in arguments.items()},
                    **self._tokens,
                    "tools": template_tools(conversation, pen=pen),
                    "add_generation_prompt": conversation.add_generation_prompt and not conversation.continue_final,
                    "strftime_now": now.strftime,
                },
            )

    def _run(self, draft: _Draft, mark: str | None) -> str:
        """What the template makes of a draft; with a ``mark``, what it writes before that."""
        messages = draft.messages if mark is None else marked(draft.messages, mark)
        if self._takes_parts:
            messages = [in_parts(message) for message in messages]
        written = run(self._template, {**draft.variables, "messages": messages})
        return written if mark is None else cut(written, mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What a template is given."""

    messages: list[JsonObject]
    variables: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Said:
    """The texts of a client, by kind, noted as they are written."""

    prose: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)

    @property
    def pen(self) -> Pen:
        """Writes a text as it is, and notes it."""
        return Pen(prose=_noting(self.prose), word=_noting(self.words), term=_noting(self.terms))

    @property
    def all(self) -> list[str]:
        """All texts."""
        return [*self.prose, *self.words, *self.terms]


def _as_it_is(text: str) -> str:
    return text


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
