"""anthropic-python's tests of its own methods: Messages and models, of the API and of its betas, each with every parameter, typed strictly."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from environment import Judges
from sdk_tests import Mending, failures

NO_SCHEMA: Final = "{'location': 'bar', 'unit': 'bar'}"
"""What they call properties is no JSON Schema, and Anthropic refuses it as well."""

MESSAGES: Final = Mending(
    dropped={
        ("create", "container"): "no code is run here",
        ("create", "mcp_servers"): "a client calls tools itself",
        ("count_tokens", "mcp_servers"): "a client calls tools itself",
        ("create", "compaction"): "a summary can be asked for in a message",
        ("create", "thread"): "all messages must be sent, as the SDK does once it was told so",
    },
    values={NO_SCHEMA: "{'location': {}, 'unit': {}}", "1024": "16"},
)

FILES: Final = {
    "test_messages.py": MESSAGES,
    "test_models.py": Mending(),
    "beta/test_messages.py": MESSAGES,
    "beta/test_models.py": Mending(),
}

SERVED: Final = "not Async"


def judge(judges: Judges, url: str, _model: Path, folder: Path) -> list[str]:
    """Tests that failed unexpectedly."""
    return failures(judges, judges.anthropic_source, folder, base_url=url, files=FILES, chosen=SERVED, expected={})
