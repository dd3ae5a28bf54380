"""The Jinja2 that chat templates are written for: a sandbox, and the helpers that Transformers gives them.

Templates come with model files, so they are treated as a stranger's programs: they see plain values only and can change none.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


def chat_environment() -> ImmutableSandboxedEnvironment:
    """A new environment; ``strftime_now`` is the one helper that it lacks, since the time belongs to a request."""
    environment = _Sandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.loopcontrols", _GenerationBlocks],
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    return environment


class _Sandbox(ImmutableSandboxedEnvironment):
    """Says no aloud: Jinja2 would print nothing for an attribute that is unsafe, and fail only on its use.

    Lists may be added to and taken from, though not in Transformers: Kimi K2's template keeps a queue. They live for one render.
    """

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read ``attr`` of ``obj``."""
        if type(obj) is list and attr in ("append", "pop"):
            return True
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> NoReturn:
        raise SecurityError(f"access to {attribute!r} of a {type(obj).__name__} is unsafe")


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Transformers' filter: Jinja2's own would escape ``<`` and sort keys, and models were not trained on that."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


class _GenerationBlocks(Extension):
    """``{% generation %}`` marks what a model should be trained on; to whoever runs the model it means nothing."""

    tags = {"generation"}  # noqa: RUF012 -- declared by Jinja2 as an instance's set

    def parse(self, parser: Parser) -> nodes.Node:
        """The block's content, in a scope of its own as in Transformers."""
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)
