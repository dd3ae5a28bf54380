"""What a client wants, said once in our own words.

Surfaces parse into these types and into nothing else; the types know no wire format, no model family and no
engine. Every value is frozen and already valid: whoever builds one has checked the client's input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from dragoman.core.json import JsonObject


class Role(StrEnum):
    """Who speaks in a conversation."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A piece of a message's text."""

    text: str


Part: TypeAlias = TextPart


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the assistant made in an earlier turn; ``arguments`` is the JSON text as it was sent."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation. ``parts`` is empty for an assistant turn that only calls tools."""

    role: Role
    parts: tuple[Part, ...] = ()
    name: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """All text of the turn, joined without a separator."""
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages that a dialect renders into a prompt."""

    messages: tuple[Message, ...]
    add_generation_prompt: bool = True
    template_args: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPrompt:
    """Text for the model, as it stands.

    ``plain`` holds the half-open character ranges in which special tokens must not be recognised (text that a
    user wrote), in order and disjoint. With ``parse_special`` false there are none anywhere. ``add_special``
    lets the tokenizer add the tokens that the model expects around every text, such as BOS.
    """

    text: str
    plain: tuple[tuple[int, int], ...] = ()
    parse_special: bool = True
    add_special: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrompt:
    """Token ids for the model, as they stand."""

    ids: tuple[int, ...]


Prompt: TypeAlias = TextPrompt | TokenPrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How the next token is drawn. The defaults are OpenAI's: the model's own distribution.

    ``temperature`` 0 is greedy; ``top_k`` 0 and ``min_p`` 0 are off; ``seed`` None draws a fresh one.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLimits:
    """When to end. ``max_tokens`` is a ceiling; None means the rest of the context."""

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate:
    """Continue a conversation or a raw prompt."""

    prompt: Conversation | Prompt
    model: str | None = None
    sampling: SamplingParams = SamplingParams()
    limits: OutputLimits = OutputLimits()
    cache_slot: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenize:
    """Count and list the tokens of a text, or of a conversation as it would be rendered."""

    source: Conversation | TextPrompt
    model: str | None = None
    return_token_strs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Detokenize:
    """Turn token ids back into text."""

    ids: tuple[int, ...]
    model: str | None = None
    skip_special_tokens: bool = False


Operation: TypeAlias = Generate | Tokenize | Detokenize
