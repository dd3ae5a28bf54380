"""What a client wants, said once in our own words.

Surfaces parse into these types and into nothing else; the types know no wire format, no model family and no
engine. Every value is frozen and already valid: whoever builds one has checked the client's input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePart:
    """A picture in a message: the bytes of a file of this type. ``place`` is where the client put it, for errors."""

    data: bytes = field(repr=False)
    media_type: Literal["image/png", "image/jpeg"]
    place: str = field(default="", compare=False)


Part: TypeAlias = TextPart | ImagePart


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
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def images(self) -> tuple[ImagePart, ...]:
        """The pictures of the turn, in their order."""
        return tuple(part for part in self.parts if isinstance(part, ImagePart))


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """How the client steers a model's reasoning; None leaves each to the model (S61 to S63).

    ``effort`` also turns reasoning on, or off where it is ``none``; ``enabled`` wins over it. ``budget`` is in tokens.
    """

    enabled: bool | None = None
    effort: str | None = None
    preserve: bool | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A function that the model may call. ``parameters`` is a JSON Schema of an object; None takes none (an empty object).

    ``deferred``: a message tells the model of it, so that the prompt's beginning does not change when it is found.
    """

    name: str
    description: str = ""
    parameters: JsonObject | None = None
    strict: bool = False
    deferred: bool = False


class ToolMode(StrEnum):
    """Whether the model calls tools: as it likes, never, or at least once."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """What the client says about calls. With ``names``, no other tools may be called; one name and ``REQUIRED`` is a forced call.

    ``parallel`` false allows one call at most.
    """

    mode: ToolMode = ToolMode.AUTO
    names: tuple[str, ...] = ()
    parallel: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages that a dialect renders into a prompt, with the ``tools`` that the model may call in its answer.

    With ``continue_final`` the prompt ends inside the last message, an assistant's, and the answer goes on from there (S49,
    S64). ``template_args`` are variables for the chat template; they win over what ``thinking`` would set.
    """

    messages: tuple[Message, ...]
    add_generation_prompt: bool = True
    continue_final: bool = False
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    thinking: Thinking = Thinking()
    template_args: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPrompt:
    """Text for the model, as it stands.

    ``plain`` holds the half-open character ranges in which special tokens must not be recognised (text that a
    user wrote), in order and disjoint. With ``parse_special`` false there are none anywhere. ``add_special``
    lets the tokenizer add the tokens that the model expects around every text, such as BOS. ``repairs`` are words for what a
    dialect had to change in a conversation before the model's template could write it; the client is told. ``images`` stand before
    the character that each of them names, in order.
    """

    text: str
    plain: tuple[tuple[int, int], ...] = ()
    images: tuple[tuple[int, ImagePart], ...] = ()
    parse_special: bool = True
    add_special: bool = True
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrompt:
    """Token ids for the model, as they stand."""

    ids: tuple[int, ...]


Prompt: TypeAlias = TextPrompt | TokenPrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class FillIn:
    """Text with a gap between ``before`` and ``after`` that the model fills (fill-in-the-middle, S48)."""

    before: TextPrompt
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBatch:
    """At least two prompts whose answers belong together: all of them, in this order, or none (S95, S98)."""

    prompts: tuple[Prompt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Xtc:
    """Exclude top choices: with ``probability``, drop all but the least likely of the tokens above ``threshold``."""

    probability: float
    threshold: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Dry:
    """Don't repeat yourself: a token that would lengthen a repetition of n tokens is made less likely.

    Its logit loses ``multiplier * base ** (n - allowed_length)``. ``window`` tokens are looked at, -1 for all; nothing is matched
    across ``breakers``.
    """

    multiplier: float
    base: float = 1.75
    allowed_length: int = 2
    window: int = -1
    breakers: tuple[str, ...] = ("\n", ":", '"', "*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How the next token is drawn. The defaults are OpenAI's: the model's own distribution.

    ``temperature`` 0 is greedy; ``top_k`` 0, ``min_p`` 0 and ``typical_p`` 1 are off; ``seed`` None draws a fresh one.
    ``repetition_penalty`` looks at the prompt and the answer, or at the last ``repetition_window`` tokens of both unless that is -1
    (S34); ``presence_penalty`` and ``frequency_penalty`` at the answer alone (S33). ``logit_bias`` holds (id, bias) pairs (S35).
    ``allowed_token_ids`` empty allows all. ``bad_words`` are texts that may not come about.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    typical_p: float = 1.0
    seed: int | None = None
    repetition_penalty: float = 1.0
    repetition_window: int = -1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    allowed_token_ids: tuple[int, ...] = ()
    bad_words: tuple[str, ...] = ()
    xtc: Xtc | None = None
    dry: Dry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLimits:
    """When to end, and what of the end is shown.

    ``max_tokens`` is a ceiling; None means the rest of the context. Before ``min_tokens`` neither the model's end nor any stop ends
    the answer (S36). ``include_stop`` leaves the stop that matched in the text (S38); ``ignore_leading_stop`` throws stop strings away
    that come before anything but white space (S29).
    """

    max_tokens: int | None = None
    min_tokens: int = 0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    include_stop: bool = False
    ignore_leading_stop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFormat:
    """The answer is a JSON value that ``schema`` allows; any JSON object where there is none (S60)."""

    schema: JsonObject | bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegexFormat:
    """The whole answer matches this regular expression (Rust's syntax, as llguidance reads it)."""

    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceFormat:
    """The answer is one of these texts."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrammarFormat:
    """The answer is a sentence of this grammar, in llguidance's Lark or llama.cpp's GBNF."""

    source: str
    syntax: Literal["lark", "gbnf"]


OutputFormat: TypeAlias = JsonFormat | RegexFormat | ChoiceFormat | GrammarFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Readout:
    """What to report beside the text.

    ``logprobs``: alternatives for each generated token, 0 for the token alone, None for no records. ``prompt_logprobs``: the same for
    the prompt's tokens, at the price of reading it without the prefix cache. ``echo``: the prompt leads the text (S47).
    ``token_ids``: the ids of prompt and answer. ``special_tokens``: control tokens are text (S39).
    """

    logprobs: int | None = None
    prompt_logprobs: int | None = None
    echo: bool = False
    token_ids: bool = False
    special_tokens: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate:
    """Continue a conversation or a raw prompt.

    ``n`` answers for each prompt, the likeliest of ``best_of`` where that is more (None is ``n``). Choice ``i * n + k`` is the
    k-th answer to the i-th prompt (S42, S95). ``output`` is what the visible answer must look like, None anything. With
    ``strict_tool_calls`` a call that its tool's schema does not allow fails the answer (S123). ``keep_prefix``: the client will come
    back with this prompt and more, so it leaves the prefix cache after others do.
    """

    prompt: Conversation | FillIn | PromptBatch | Prompt
    model: str | None = None
    n: int = 1
    best_of: int | None = None
    sampling: SamplingParams = SamplingParams()
    limits: OutputLimits = OutputLimits()
    readout: Readout = Readout()
    output: OutputFormat | None = None
    strict_tool_calls: bool = False
    cache_slot: int | None = None
    keep_prefix: bool = False


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
