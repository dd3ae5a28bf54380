from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman.dialects import phi
from dragoman.dialects.base import CallBegun, ModelTraits
from support.dialect_tapes import ask
from support.tools import TOOLS

OWN = (
    "{% for message in messages %}{% if message['tools'] %}<|tool|>{{ message['tools'] }}<|/tool|>{% endif %}"
    "<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}<|assistant|>"
)
BETTER = "{% if tools %}<|tool|>{{ tools|tojson }}<|/tool|>{% endif %}" + OWN


@pytest.mark.parametrize(
    "template, call",
    [
        (OWN, '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'),
        (BETTER, '<|tool_call|>[{"name": "now", "arguments": {}}]<|/tool_call|>'),
    ],
)
def test_the_model_is_told_of_tools_whatever_its_template_looks_for(template: str, call: str):
    dialect = phi.build(
        ModelTraits(
            template=template,
            specials=(),
            bos_token="",
            eos_token="",
            clock=lambda: datetime(2026, 3, 9, tzinfo=UTC),
        )
    )
    assert dialect.name == "phi"
    asked = ask(TOOLS.values())
    prompt = dialect.render(asked)
    assert "get_weather" in prompt.text
    assert CallBegun("now") in dialect.parser(asked, prompt).feed(call, special=False)
