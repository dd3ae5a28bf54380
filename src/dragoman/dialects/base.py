"""What a model family must answer: how its prompt is written, and how its output is read. Pure.

``render`` and a parser's ``feed`` do no I/O and keep nothing between requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from dragoman.core.request import Conversation, OutputFormat, TextPrompt


class Channel(StrEnum):
    """Where a piece of an answer belongs: what the client reads, what the model thought, or syntax that is neither."""

    TEXT = "text"
    REASONING = "reasoning"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of the output that belong together."""

    channel: Channel
    text: str


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A tool's name is known; what led to it was ``HIDDEN`` syntax, as is all of a call."""

    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    """More of the call's arguments as JSON text, whatever the family's syntax for them is. Never taken back."""

    text: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The call was closed as the family closes it."""


Parsed: TypeAlias = Piece | CallBegun | CallArguments | CallEnded
"""What a parser makes of the output. A call stands behind the ``HIDDEN`` piece whose characters completed that part of it."""


class OutputParser(Protocol):
    """Sorts one answer into channels as it grows, and changes nothing: all pieces joined are the output, each character once.

    That is what lets a token's record follow its text. What is not decided yet is held back. For every split of the same output, the
    joined pieces of each channel are equal.
    """

    def feed(self, text: str, *, special: bool) -> Sequence[Parsed]:
        """Take output and return what is decided now.

        ``special``: the text of one control token. It is the last piece by itself, and neither it nor what came before is held back;
        the parts of calls that it completes stand behind it.
        """
        ...

    def finish(self) -> Sequence[Parsed]:
        """The output has ended; return what was held back."""
        ...


class Dialect(Protocol):
    """One model family's language."""

    @property
    def name(self) -> str:
        """The registry's key."""
        ...

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end a turn even when the model writes them as plain tokens; never shown (S28)."""
        ...

    def render(self, conversation: Conversation) -> TextPrompt:
        """Write the prompt; client text is covered by ``plain`` spans. Raises ``InvalidRequest``, naming the message."""
        ...

    def ignores(self, conversation: Conversation) -> tuple[str, ...]:
        """What the conversation asks for and this model has no use for.

        ``continue_final`` (S66), ``reasoning_effort``, ``enable_thinking``, ``preserve_thinking``, ``thinking_budget``, or ``template_args.<name>``.
        """
        ...

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        """What the answer must follow, as Lark for llguidance: the budget for reasoning, the tool choice in the family's syntax, ``output``.

        None where anything goes. Reasoning, where the prompt lets the model reason, comes before what is constrained. Raises
        ``Unsupported`` naming the feature (``tool_choice``, ``tools``, ``output``) that this family can not be held to.
        """
        ...

    def parser(self, conversation: Conversation, prompt: TextPrompt) -> OutputParser:
        """A new parser for one answer to this prompt, which may have opened the reasoning, or an answer that is continued."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraits:
    """What is known of a model before its first prompt, and all that a dialect is built from.

    ``specials`` are the texts of its control tokens, those that an engine recognises outside ``plain`` spans, and ``special_ids`` their
    ids; ``single_ids`` are those of other texts that are one token in this model (``registry.ENDS_OF_THOUGHT``). ``architecture`` is what
    its file calls its own, empty where that is unknown. ``strict_messages``: a conversation that its template cannot take as it is is
    refused. ``clock`` tells the local time to templates that date their prompt.
    """

    template: str | None
    specials: tuple[str, ...]
    bos_token: str
    eos_token: str
    architecture: str = ""
    strict_messages: bool = False
    clock: Callable[[], datetime]
    special_ids: Mapping[str, int] = field(default_factory=dict)
    single_ids: Mapping[str, int] = field(default_factory=dict)
