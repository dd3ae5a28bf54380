"""A model's own chat template, and as few repairs of a conversation as it takes for that to be written whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import Conversation, Message, Role, TextPart, TextPrompt, ToolCall
from dragoman.dialects.failures import failed
from dragoman.dialects.losses import endangers, marked
from dragoman.dialects.pictures import loses_pictures
from dragoman.dialects.repair import (
    DEVELOPER_AS_SYSTEM,
    SYSTEM_IN_PLACE,
    Messages,
    Repair,
    Repaired,
    first_change,
    least_repaired,
    repaired,
)
from dragoman.dialects.runner import TemplateRunner, Written
from dragoman.dialects.thinking import unused

_LATE_SYSTEM: Final = Conversation(
    messages=tuple(
        Message(role=role, parts=(TextPart(text=text),))
        for role, text in (
            (Role.USER, "Which word comes first?"),
            (Role.ASSISTANT, "One that asks."),
            (Role.SYSTEM, "Speak of birds from now on."),
            (Role.USER, "Which comes last?"),
        )
    )
)
_CALL: Final = ToolCall(id="call_1_of_the_first_turn", name="look_up", arguments='{"word":{"of":["dragoman",1]}}')
_SPACED: Final = '{"of": ["dragoman", 1]}'
_CALLED: Final = Conversation(
    messages=(
        Message(role=Role.USER, parts=(TextPart(text="What is it?"),)),
        Message(role=Role.ASSISTANT, tool_calls=(_CALL,)),
        Message(role=Role.TOOL, parts=(TextPart(text="An interpreter."),), tool_call_id=_CALL.id),
    )
)
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)


class ChatTemplate:
    """A compiled template. Keeps nothing between renders."""

    def __init__(
        self, source: str, *, bos_token: str, eos_token: str, specials: tuple[str, ...], strict: bool = False
    ) -> None:
        """Raises ``ValueError`` when ``source`` is not a template. ``specials`` are the texts of the control tokens.

        ``strict``: what needs a repair is refused.
        """
        self._runner = TemplateRunner(source, bos_token=bos_token, eos_token=eos_token, specials=specials)
        self._standing = tuple(self._needed_always("developer" in source))
        self._strict = strict

    @property
    def knows_tools(self) -> bool:
        """Whether the template reads what ``render`` tells it of tools."""
        return "tools" in self._runner.reads

    @property
    def spaces_json(self) -> bool:
        """Whether the arguments of an earlier call are written with a space behind each comma and colon."""
        with suppress(InvalidRequest):
            return _SPACED in self._runner.attempt(_CALLED, now=_ANY_DAY)
        return False

    def ignores(self, conversation: Conversation, *, now: datetime) -> tuple[str, ...]:
        """What has no effect, as ``Dialect.ignores`` names it. An argument also takes the place of what it overrides.

        Asks of a conversation that ``render`` takes; of another, it may say anything.
        """
        args, reads = conversation.template_args, self._runner.reads
        wishes = unused(conversation.thinking, reads - args.keys())
        return (
            *(() if self._stays_open(conversation, now) else ("continue_final",)),
            *wishes,
            *(f"template_args.{name}" for name in args if name not in reads),
        )

    def render(self, conversation: Conversation, *, now: datetime) -> TextPrompt:
        """Write the prompt; ``now`` is the local time, for templates that ask.

        A conversation whose end cannot stay open in this template is answered in a new turn (S66). Raises ``InvalidRequest`` as
        ``TemplateRunner.write`` does when no repair helps, or names the message where one would and the template is strict.
        """
        written, repairs = self._fitted(conversation, now)
        return replace(written.prompt, repairs=repairs)

    def _stays_open(self, conversation: Conversation, now: datetime) -> bool:
        if conversation.continue_final:
            with suppress(InvalidRequest):
                return self._fitted(conversation, now)[0].stays_open
        return True

    def _fitted(self, conversation: Conversation, now: datetime) -> tuple[Written, tuple[str, ...]]:
        """What the template writes of the conversation, and the words for what had to be repaired before it could."""

        def spoken(messages: Messages) -> Conversation:
            return replace(conversation, messages=messages)

        def fits(messages: Messages) -> bool:
            return self._writes_all(spoken(messages), now, sent=known.messages)

        known = Repaired(conversation.messages)
        for repair, reason in self._standing:
            known = self._also(known, self._allowed(conversation, repaired(known.messages, (repair,)), reason))
        outcome = self._outcome(spoken(known.messages), now)
        doubtful = (
            isinstance(outcome, InvalidRequest)
            or loses_pictures(known.messages, outcome.prompt)
            or endangers(known.messages, prompt=outcome.prompt.text)
        )
        better = least_repaired(known.messages, fits) if doubtful and not fits(known.messages) else None
        if better is not None:
            reason = outcome.message if isinstance(outcome, InvalidRequest) else "it leaves out some of the text"
            known = self._also(known, self._allowed(conversation, better, reason))
            outcome = self._runner.write(spoken(known.messages), now=now)
        if isinstance(outcome, InvalidRequest):
            raise outcome
        if loses_pictures(known.messages, outcome.prompt):
            raise failed("it leaves out a picture")
        return outcome, known.words

    def _needed_always(self, knows_developer: bool) -> Iterator[tuple[Repair, str]]:
        """Repairs of what this template would write, and its model has never seen or a cache could not keep; and why."""
        if not knows_developer:
            # Most templates write the name of any role, so this one would not fail.
            yield DEVELOPER_AS_SYSTEM, "it knows no developer"
        if not self._keeps_late_systems():
            yield SYSTEM_IN_PLACE, "it knows no system turn behind others"

    def _keeps_late_systems(self) -> bool:
        """Whether a system turn is written where it stands.

        Some templates gather all of them in front: a new one would change the prompt's beginning, and all that was said since would have
        to be read again (wire.md, finding 8). Some leave it out, and some have a place for it only where a turn of the model would stand.
        """
        with suppress(InvalidRequest):
            written = self._runner.attempt(_LATE_SYSTEM, now=_ANY_DAY)
            places = [written.find(message.text) for message in _LATE_SYSTEM.messages]
            return places == sorted(places) and -1 not in places
        return False

    def _outcome(self, conversation: Conversation, now: datetime) -> Written | InvalidRequest:
        """What the template writes, or why it does not. Raises what is no fault of the template."""
        try:
            return self._runner.write(conversation, now=now)
        except InvalidRequest as refusal:
            if refusal.code is not Code.TEMPLATE_FAILED:
                raise
            return refusal

    def _writes_all(self, conversation: Conversation, now: datetime, *, sent: Messages) -> bool:
        with suppress(InvalidRequest):
            free = self._runner.free_characters(conversation, now=now)
            probe = marked(conversation.messages, free, sent=sent)
            with suppress(InvalidRequest):
                written = self._runner.attempt(replace(conversation, messages=probe.messages), now=now)
                return probe.marks.issubset(written)
            # It minds the marks, so what it leaves out is not to be found out.
            self._runner.attempt(conversation, now=now)
            return True
        return False

    @staticmethod
    def _also(known: Repaired, mended: Repaired) -> Repaired:
        return Repaired(mended.messages, (*known.words, *mended.words))

    def _allowed(self, conversation: Conversation, mended: Repaired, reason: str) -> Repaired:
        """``mended``; raises ``InvalidRequest`` where nothing may be repaired, and would be."""
        if self._strict and mended.words:
            index = first_change(conversation.messages, mended.messages)
            raise InvalidRequest(
                f"message {index} does not suit the model's chat template: {reason}. "
                f"A repair is possible ({', '.join(mended.words)}), but this server is set to make none",
                code=Code.TEMPLATE_FAILED,
                feature="messages",
            )
        return mended
