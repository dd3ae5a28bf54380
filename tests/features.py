"""The manifest: what the server can do, and on which surfaces. test_features.py holds it against the tests, docs/surfaces.md is made of it.

``Yes``: at least one test names feature and surface with ``@pytest.mark.feature("stream", "chat")``; its note is how it is spelled, where
that is not plain. ``No``: with the reason; no test may name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

SURFACES: Mapping[str, str] = {
    "chat": "Chat Completions",
    "completions": "Completions",
    "responses": "Responses",
    "messages": "Messages",
}
"""What marks call a surface, and what people do."""


@dataclass(frozen=True, slots=True)
class Yes:
    """Tests prove it."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class No:
    """There is none, for this reason."""

    reason: str


Cell: TypeAlias = Yes | No


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """In a few words, and what each surface has of it."""

    behaviour: str
    chat: Cell = Yes()
    completions: Cell = Yes()
    responses: Cell = Yes()
    messages: Cell = Yes()

    def on(self, surface: str) -> Cell:
        """The cell of this surface."""
        cell: Cell = getattr(self, surface)
        return cell


_RAW = No("a raw prompt has no turns")
_NO_TOOLS = No("a raw prompt has no tools")
_NO_THOUGHT = No("a raw prompt has no reasoning apart")
_NO_FIELD = No("the contract has no field")
_STATELESS = No("the contract keeps nothing: all is sent each time")
_STANDS_ALONE = No("a prompt stands for itself")

GROUPS: Mapping[str, Mapping[str, Feature]] = {
    "Answers": {
        "answer": Feature(behaviour="one object"),
        "stream": Feature(behaviour="a stream that adds up to the same"),
        "usage": Feature(behaviour="tokens of prompt and answer"),
        "cached": Feature(behaviour="prefixes are shared, and what was known is counted apart"),
        "choices": Feature(
            behaviour="several choices",
            chat=Yes("`n`, `best_of`"),
            completions=Yes("`n`, `best_of`"),
            responses=No("a response is one answer"),
            messages=No("a message is one answer"),
        ),
        "logprobs": Feature(
            behaviour="log-probabilities",
            chat=Yes("`logprobs`"),
            completions=Yes("`logprobs`"),
            responses=Yes("`include`, `top_logprobs`"),
            messages=_NO_FIELD,
        ),
        "count": Feature(
            behaviour="a count without an answer",
            chat=Yes("`/tokenize`"),
            completions=Yes("`/tokenize`"),
            responses=Yes("`/v1/responses/input_tokens`"),
            messages=Yes("`/v1/messages/count_tokens`"),
        ),
    },
    "Conversations": {
        "system": Feature(behaviour="instructions", completions=_RAW, responses=Yes("`instructions`, or items")),
        "turns": Feature(behaviour="many turns", completions=_RAW),
        "prefill": Feature(
            behaviour="an answer that goes on from its beginning",
            completions=Yes("always"),
            responses=No("an answer is a new item"),
        ),
        "images": Feature(behaviour="pictures, for a model that sees", completions=No("a raw prompt is text")),
        "stored": Feature(
            behaviour="stored, read again and gone on from",
            chat=_STATELESS,
            completions=_STANDS_ALONE,
            responses=Yes("`store`, `previous_response_id`"),
            messages=_STATELESS,
        ),
        "conversations": Feature(
            behaviour="conversations that are added to",
            chat=_STATELESS,
            completions=_STANDS_ALONE,
            responses=Yes("`/v1/conversations`"),
            messages=_STATELESS,
        ),
        "compaction": Feature(
            behaviour="a conversation made short",
            chat=_NO_FIELD,
            completions=_STANDS_ALONE,
            responses=Yes("`/v1/responses/compact`"),
            messages=No("`compaction` is refused: ask for a summary in a message"),
        ),
    },
    "Tools": {
        "tools": Feature(behaviour="the model may call", completions=_NO_TOOLS),
        "tools_required": Feature(
            behaviour="it must call", completions=_NO_TOOLS, messages=Yes("`tool_choice` of type `any`")
        ),
        "tools_named": Feature(behaviour="it must call this one", completions=_NO_TOOLS),
        "tools_none": Feature(behaviour="it may not call", completions=_NO_TOOLS),
        "tools_one": Feature(
            behaviour="one call at most",
            completions=_NO_TOOLS,
            messages=Yes("`disable_parallel_tool_use`"),
        ),
        "tools_strict": Feature(behaviour="arguments are held to the schema", completions=_NO_TOOLS),
        "tools_results": Feature(behaviour="results are read", completions=_NO_TOOLS),
        "tools_custom": Feature(
            behaviour="tools that take text",
            chat=No("refused by name: the contract has no stream of their calls"),
            completions=_NO_TOOLS,
            messages=_NO_FIELD,
        ),
        "tools_namespaces": Feature(
            behaviour="tools in namespaces", chat=_NO_FIELD, completions=_NO_TOOLS, messages=_NO_FIELD
        ),
        "tools_deferred": Feature(
            behaviour="tools that are found later",
            chat=_NO_FIELD,
            completions=_NO_TOOLS,
            responses=Yes("in `additional_tools` and `tool_search_output` items"),
            messages=Yes("`defer_loading`, `tool_reference`"),
        ),
    },
    "Reasoning": {
        "reasoning": Feature(behaviour="told apart from the answer, and counted", completions=_NO_THOUGHT),
        "reasoning_off": Feature(behaviour="switched off", completions=_NO_THOUGHT),
        "reasoning_effort": Feature(behaviour="more or less of it", completions=_NO_THOUGHT),
        "reasoning_budget": Feature(
            behaviour="at most so many tokens of it",
            chat=Yes("`thinking_token_budget`"),
            completions=_NO_THOUGHT,
            responses=Yes("`thinking_token_budget`"),
            messages=Yes("`thinking.budget_tokens`"),
        ),
        "reasoning_replayed": Feature(behaviour="given back by the client", completions=_NO_THOUGHT),
        "reasoning_sealed": Feature(
            behaviour="carried by a client that does not see it",
            chat=_NO_FIELD,
            completions=_NO_THOUGHT,
            responses=Yes("`encrypted_content`"),
            messages=Yes("`signature`"),
        ),
    },
    "What an answer looks like, and where it ends": {
        "schema": Feature(
            behaviour="JSON by a schema",
            responses=Yes("`text.format`"),
            messages=Yes("`output_config.format`"),
        ),
        "object": Feature(behaviour="any JSON object"),
        "grammar": Feature(
            behaviour="a regular expression, or a grammar",
            responses=Yes("`text.format`, of our own types"),
            messages=Yes("`output_config.format`, of our own types"),
        ),
        "stop": Feature(
            behaviour="stop strings",
            responses=Yes("`stop`, which is ours"),
            messages=Yes("`stop_sequences`, told by name"),
        ),
        "budget": Feature(behaviour="a ceiling of tokens"),
        "budget_zero": Feature(behaviour="a budget of 0 reads the prompt, and writes nothing"),
        "budget_clamped": Feature(behaviour="a budget above the context is the rest of it"),
    },
    "Sampling": {
        "sampling": Feature(behaviour="temperature, `top_p`"),
        "sampling_more": Feature(behaviour="`top_k`, `min_p`, and the other samplers"),
        "seed": Feature(behaviour="a seed"),
        "penalties": Feature(behaviour="penalties"),
        "logit_bias": Feature(behaviour="biased tokens"),
    },
    "Transport": {
        "background": Feature(
            behaviour="made in the background, polled, cancelled, resumed",
            chat=_NO_FIELD,
            completions=_NO_FIELD,
            messages=_NO_FIELD,
        ),
        "websocket": Feature(
            behaviour="over a WebSocket",
            chat=No("the contract has none"),
            completions=No("the contract has none"),
            messages=No("the contract has none"),
        ),
        "idempotent": Feature(behaviour="retries under an `Idempotency-Key`"),
        "keepalive": Feature(
            behaviour="events that fill a silence",
            chat=No("comments fill it"),
            completions=No("comments fill it"),
            responses=Yes("the response as it is"),
            messages=Yes("`ping`"),
        ),
        "hang_up": Feature(behaviour="who hangs up, cancels"),
        "ignored": Feature(behaviour="what had no effect is listed"),
        "strict_fields": Feature(behaviour="unknown fields are refused, if told to"),
        "errors": Feature(behaviour="errors in the contract's own envelope"),
    },
}
"""Features by their names in marks, as the page groups them."""

FEATURES: Mapping[str, Feature] = {name: feature for group in GROUPS.values() for name, feature in group.items()}
"""All of them."""
