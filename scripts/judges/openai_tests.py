"""openai-python's tests of its own methods: all routes that are served, each with every parameter, typed strictly."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from environment import Judges
from sdk_tests import Mending, failures

ANSWER: Final = {"max_tokens": "16"}
"""Answers of unbounded length to a prompt of nothing take a small model minutes, and say nothing of the types."""

ASKED: Final = {"input": "'Hi'", "model": "'default'", "max_output_tokens": "16"}
"""OpenAI, too, wants one of `input`, `prompt`, `conversation` and `previous_response_id`."""

TOO_MUCH: Final = "OpenAI takes it or `conversation`, not both"
RESPONSE: Final = "resp_677efb5139a88190b512bc3fef8e535d"

FILES: Final = {
    "chat/test_completions.py": Mending(added={"create": ANSWER}),
    "test_completions.py": Mending(added={"create": ANSWER}),
    "test_models.py": Mending(),
    "test_responses.py": Mending(
        stored={RESPONSE: "background()", "string": "conversation()", "resp_123": "response()"},
        dropped={
            ("create", "prompt"): "templates are kept by the client",
            ("create", "truncation"): "a conversation is never cut",
            ("create", "previous_response_id"): TOO_MUCH,
        },
        added={"create": ASKED},
    ),
    "responses/test_input_items.py": Mending(
        stored={"response_id": "response()"},
        dropped={
            ("list", "after"): "there is no item of that id",
            ("list", "limit"): "OpenAI's lists have 1 to 100 entries, and this asks for 0",
        },
    ),
    "responses/test_input_tokens.py": Mending(
        stored={"string": "conversation()"},
        dropped={
            ("count", "truncation"): "a conversation is never cut",
            ("count", "previous_response_id"): TOO_MUCH,
        },
    ),
    "test_conversations.py": Mending(stored={"conv_123": "conversation()"}),
    "conversations/test_items.py": Mending(
        stored={"conv_123": "CONVERSATION", "msg_abc": "item()"},
        dropped={
            ("list", "after"): "there is no item of that id",
            ("list", "limit"): "OpenAI's lists have 1 to 100 entries, and this asks for 0",
        },
    ),
}

SERVED: Final = (
    "not Async and not (TestCompletions and (retrieve or update or list or delete)) and not (TestModels and delete)"
)
"""Neither stored completions nor fine-tuned models can be fetched or deleted here."""

EXPECTED: Final = {
    "test_completions.py::TestCompletions::test_method_create_with_all_params": "the demo model has no tokens for `suffix`",
    "test_responses.py::TestResponses::test_method_compact_with_all_params": (
        "the SDK's type of what compaction leaves has no messages of users, of which its own docstring speaks"
    ),
}
"""Tests that must fail, by the start of their names, and why."""


def judge(judges: Judges, url: str, _model: Path, folder: Path) -> list[str]:
    """Tests that failed unexpectedly."""
    return failures(
        judges,
        judges.openai_source,
        folder,
        base_url=f"{url}/v1",
        files=FILES,
        chosen=SERVED,
        expected=EXPECTED,
    )
