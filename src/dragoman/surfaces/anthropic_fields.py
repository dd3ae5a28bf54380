"""Every field of a Messages body, and what becomes of it.

Sources: the types of Anthropic's SDK for both versions of its API and for the betas, which come in a header and so are not told apart
here; and the sampling fields of the other surfaces, which Anthropic's newer version has none of.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NoReturn

from dragoman.core.errors import Code, Unsupported
from dragoman.core.json import Json
from dragoman.core.limits import MAX_STOP_CHARS, MAX_STOP_SEQUENCES
from dragoman.surfaces.anthropic_cache import CACHE_CONTROL
from dragoman.surfaces.anthropic_thinking import CONTEXT_MANAGEMENT, OUTPUT_CONFIG, THINKING, THINKING_ROWS
from dragoman.surfaces.anthropic_tools import TOOL_CHOICE, TOOLS
from dragoman.surfaces.anthropic_turns import MESSAGES, SYSTEM
from dragoman.surfaces.fields import Table, honoured, ignored, refused
from dragoman.surfaces.openai_conversation import CHAT_TEMPLATE_KWARGS
from dragoman.surfaces.openai_fields import CACHE_SLOT, MODEL, STREAM
from dragoman.surfaces.openai_limits import BUDGET, IGNORE_EOS, LIMITS_SPELLING, MIN_TOKENS, STOP_TOKEN_IDS
from dragoman.surfaces.openai_sampling import SAMPLING
from dragoman.surfaces.readers import Place, Reader, array, text

_STOP: Final = text(1, MAX_STOP_CHARS)


def _stop_sequence(value: Json, at: Place) -> str:
    stop = _STOP.read(value, at)
    if stop.isspace():
        raise at.wrong(f"{at.path} must not be white space alone")  # Anthropic's own rule
    return stop


def _no_thread(_value: Json, at: Place) -> NoReturn:
    """The SDKs' tool runners know these details, and send the whole conversation instead."""
    raise Unsupported(
        f"{at.path} is not supported: send all messages",
        code=Code.THREAD_UNSUPPORTED,
        param=at.path,
        details={"error_code": Code.THREAD_UNSUPPORTED.value, "unsupported": [at.path]},
    )


MAX_TOKENS: Final = honoured(
    "max_tokens",
    BUDGET,
    "A ceiling on generated tokens, thinking included; absent means the rest of the context (S24). 0 reads the prompt into the cache, and "
    "generates nothing.",
)
STOP_SEQUENCES: Final = honoured(
    "stop_sequences",
    array(
        Reader(_STOP.wants, _stop_sequence, {**_STOP.schema, "pattern": r"\S"}),
        at_most=MAX_STOP_SEQUENCES,
        of="strings",
    ),
    "Each ends the answer, and is not part of it; `stop_sequence` says which one did (S27).",
)

_COMPACTION: Final = "compaction"
_BOOKKEEPING: Final = "Bookkeeping of Anthropic's platform."
_ONE_KIND: Final = "All requests are served alike."

GENERATION: Final = Table(
    MAX_TOKENS, STREAM, STOP_SEQUENCES, *SAMPLING, MIN_TOKENS, STOP_TOKEN_IDS, IGNORE_EOS, CACHE_SLOT
)
"""What has nothing to do with the prompt, and so no effect on a count."""

FIELDS: Final = Table(
    MESSAGES,
    SYSTEM,
    MODEL,
    TOOLS,
    TOOL_CHOICE,
    *THINKING_ROWS,
    CACHE_CONTROL,
    CHAT_TEMPLATE_KWARGS,
    *GENERATION,
    ignored("metadata", _BOOKKEEPING),
    ignored("billing_policy", _BOOKKEEPING),
    ignored("fallback_credit_token", _BOOKKEEPING),
    ignored("user_profile_id", _BOOKKEEPING),
    ignored("workspace_id", _BOOKKEEPING),
    ignored("service_tier", _ONE_KIND),
    ignored("speed", _ONE_KIND),
    ignored("inference_geo", _ONE_KIND),
    ignored("diagnostics", "What was read from the cache is in `usage`."),
    ignored("fallbacks", "There is one model."),
    ignored("betas", "Of SDKs, which send them in a header; none is needed."),
    ignored("anthropic_beta", "Of other platforms' bodies; none is needed."),
    ignored("anthropic_version", "Of other platforms' bodies; both versions are served alike."),
    refused(
        "thread",
        "send all messages",
        reader=Reader("an object", _no_thread),
        code=Code.THREAD_UNSUPPORTED,
    ),
    refused(_COMPACTION, "ask for a summary in a message"),
    refused("container", "no code is run here"),
    refused("mcp_servers", "offer their tools as `tools`, and call them yourself", []),
    refused("stop", "send `stop_sequences`"),
    refused("max_tokens_to_sample", "send `max_tokens`"),
    refused("prompt", "send `messages`"),
)

COUNT_FIELDS: Final = Table(
    *(row for row in FIELDS if row.name != _COMPACTION),
    ignored(_COMPACTION, "The count is of the conversation as it was sent."),
)
"""Of a count. What asks for another kind of answer has no effect on it: Anthropic says so of ``compaction``."""

SPELLING: Final[Mapping[str, str]] = MappingProxyType(
    {
        **LIMITS_SPELLING,
        "prompt": MESSAGES.name,
        "ids": MESSAGES.name,
        "continue_final": MESSAGES.name,
        "output_budget": MAX_TOKENS.name,
        "stop": STOP_SEQUENCES.name,
        "tools": TOOLS.name,
        "strict_tool_calls": TOOLS.name,
        "tool_choice": TOOL_CHOICE.name,
        "parallel_tool_calls": TOOL_CHOICE.name,
        "template_args": CHAT_TEMPLATE_KWARGS.name,
        "enable_thinking": THINKING.name,
        "thinking_budget": f"{THINKING.name}.budget_tokens",
        "reasoning_effort": f"{OUTPUT_CONFIG.name}.effort",
        "preserve_thinking": CONTEXT_MANAGEMENT.name,
    }
)
"""Features that errors may name, as this surface spells them."""
