"""Whatever stands anywhere in a Messages body, it is read or refused by name, and a count is of what would be answered."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InvalidRequest
from dragoman.surfaces.anthropic_messages import Messages

WORDS = [
    "text",
    "thinking",
    "tool_use",
    "tool_result",
    "tool_reference",
    "image",
    "document",
    "user",
    "assistant",
    "system",
]
KEYS = [
    "type",
    "text",
    "content",
    "role",
    "id",
    "name",
    "input",
    "tool_use_id",
    "source",
    "cache_control",
    "keep",
    "\udfff",
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=6,
)
BODY: dict[str, Any] = {
    "model": "m",
    "max_tokens": 16,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "system", "content": "It is Monday.", "clear_at": "never"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"title": "T"}]},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": "g"}]},
                {"type": "search_result", "title": "T", "source": "s", "content": [{"type": "text", "text": "a"}]},
            ],
        },
    ],
    "tools": [
        {"name": "f", "input_schema": {"type": "object"}},
        {"name": "g", "input_schema": {"type": "object"}, "defer_loading": True},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "web_search_20250305", "name": "web_search"},
    ],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 5, "display": "omitted"},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
}


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in steps for place in places(item, (*path, key)))]


def changed(path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    body = copy.deepcopy(BODY)
    inner: Any = body
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return body


def test_the_body_is_one_that_is_read():
    assert Messages().parse(BODY).operation.prompt == Messages().parse_count(BODY)[0].source


def refusal(body: Any) -> InvalidRequest | None:
    try:
        Messages().parse(body)
    except InvalidRequest as error:
        return error
    return None


@given(path=st.sampled_from(places(BODY)), value=VALUES)
def test_a_body_with_anything_anywhere_is_read_or_refused_by_name(path: tuple[str | int, ...], value: Any):
    body = changed(path, value)
    refused = refusal(body)
    if refused is None:
        call = Messages().parse(body)
        assert all(name.isascii() and name.isprintable() for name in call.ignored)
        assert Messages().parse_count(body)[0].source == call.operation.prompt
    else:
        assert len(refused.message) < 1000
        assert refused.param is None or refused.param.isascii()
        reply = Messages().error(refused)
        assert (reply.status, reply.body["type"]) == (400, "error")
