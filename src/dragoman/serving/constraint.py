"""What an answer must follow, as the grammar that the engine is given: the format that the client asked for, and its tool choice.

The dialect writes it, since only the dialect knows where reasoning ends and what a call looks like; a raw prompt has no dialect.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.grammar import grammar_of
from dragoman.core.json_schema import SchemaFault
from dragoman.core.limits import MAX_GRAMMAR_BYTES
from dragoman.core.request import Conversation, Generate, Prompt, TextPrompt, ToolMode
from dragoman.dialects.base import Dialect
from dragoman.engines.base import EngineInfo


def grammar_for(operation: Generate, prompt: Prompt, dialect: Dialect, info: EngineInfo) -> str | None:
    """The grammar of every answer to this prompt; None where anything goes.

    An engine without grammars gets none: what must be enforced was refused before (``enforced``), and calls that the model may make
    or not are then as it writes them. So they are where the tools make a larger grammar than engines take. Raises ``Unsupported`` for what
    the dialect can not be held to, ``InvalidRequest`` for a schema that no grammar can hold an answer to, and for such a grammar where
    it must be kept.
    """
    if "grammar" not in info.features:
        return None
    grammar = _written(operation, prompt, dialect)
    if grammar is None or len(grammar.encode()) <= MAX_GRAMMAR_BYTES:
        return grammar
    feature = next(enforced(operation), None)
    if feature is None:
        return None
    raise InvalidRequest(
        f"this makes a grammar of more than {MAX_GRAMMAR_BYTES} bytes, which is the most that an engine takes: send fewer or smaller tools",
        code=Code.INVALID_VALUE,
        feature=feature,
    )


def _written(operation: Generate, prompt: Prompt, dialect: Dialect) -> str | None:
    try:
        if isinstance(operation.prompt, Conversation) and isinstance(prompt, TextPrompt):
            return dialect.grammar(operation.prompt, prompt, operation.output)
        return None if operation.output is None else grammar_of(operation.output)
    except SchemaFault as fault:
        raise InvalidRequest(
            f"this JSON Schema can not be enforced at {'.'.join(map(str, fault.path)) or 'its root'}: {fault}",
            code=Code.INVALID_VALUE,
            feature="tools" if operation.output is None else "output",
        ) from fault


def enforced(operation: Generate) -> Iterator[str]:
    """Features that are promises, not wishes: without a grammar they can not be kept (S60, S121, S122, S127)."""
    if operation.output is not None:
        yield "output"
    conversation = operation.prompt
    if isinstance(conversation, Conversation) and conversation.tools:
        choice = conversation.tool_choice
        if choice.mode is ToolMode.REQUIRED or choice.names:
            yield "tool_choice"
        if not choice.parallel and choice.mode is not ToolMode.NONE:
            yield "parallel_tool_calls"
        if any(tool.strict for tool in conversation.tools) and choice.mode is not ToolMode.NONE:
            yield "tools"
