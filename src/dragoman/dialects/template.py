"""A model's own chat template, and as few repairs of a conversation as it takes for that to be written whole."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import Conversation, TextPrompt
from dragoman.dialects.failures import failed
from dragoman.dialects.losses import endangers, marked
from dragoman.dialects.pictures import loses_pictures
from dragoman.dialects.repair import DEVELOPER_AS_SYSTEM, Messages, Repaired, first_change, least_repaired, repaired
from dragoman.dialects.runner import TemplateRunner, Written
from dragoman.dialects.thinking import unused


class ChatTemplate:
    """A compiled template. Keeps nothing between renders."""

    def __init__(
        self, source: str, *, bos_token: str, eos_token: str, specials: tuple[str, ...], strict: bool = False
    ) -> None:
        """Raises ``ValueError`` when ``source`` is not a template. ``specials`` are the texts of the control tokens.

        ``strict``: what needs a repair is refused.
        """
        self._runner = TemplateRunner(source, bos_token=bos_token, eos_token=eos_token, specials=specials)
        self._knows_developer = "developer" in source
        self._strict = strict

    @property
    def knows_tools(self) -> bool:
        """Whether the template reads what ``render`` tells it of tools."""
        return "tools" in self._runner.reads

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
        if not self._knows_developer:
            # Most templates write the name of any role, so this one would not fail: its model has only never seen the name.
            known = self._allowed(
                conversation, repaired(known.messages, (DEVELOPER_AS_SYSTEM,)), "it knows no developer"
            )
        outcome = self._outcome(spoken(known.messages), now)
        doubtful = (
            isinstance(outcome, InvalidRequest)
            or loses_pictures(known.messages, outcome.prompt)
            or endangers(known.messages, prompt=outcome.prompt.text)
        )
        better = least_repaired(known.messages, fits) if doubtful and not fits(known.messages) else None
        if better is not None:
            reason = outcome.message if isinstance(outcome, InvalidRequest) else "it leaves out some of the text"
            mended = self._allowed(conversation, better, reason)
            known = Repaired(mended.messages, (*known.words, *mended.words))
            outcome = self._runner.write(spoken(known.messages), now=now)
        if isinstance(outcome, InvalidRequest):
            raise outcome
        if loses_pictures(known.messages, outcome.prompt):
            raise failed("it leaves out a picture")
        return outcome, known.words

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
