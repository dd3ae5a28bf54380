"""Items of tools that we do not run, from a conversation that was had elsewhere: what they did, in a form that a model can read.

Such a call becomes a call of a function and its output, like any other, as far as the item has text for either. What has none is
accepted without effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from dragoman.core.json import Json, JsonObject, compact
from dragoman.core.request import TextPart
from dragoman.surfaces.readers import OBJECT, PROMPT_TEXT, Place
from dragoman.surfaces.responses_entries import Answered, Called, Entry

HostedReader: TypeAlias = Callable[[JsonObject, Place], tuple[Entry, ...]]


def _client_call(tool: str, field: str) -> HostedReader:
    """A call that the client carries out, and answers with an item of its own."""

    def read(item: JsonObject, at: Place) -> tuple[Entry, ...]:
        arguments = OBJECT.read(item.get(field), at.child(field))
        return (Called(call=_text(item, at, "call_id"), name=tool, arguments=compact(arguments)),)

    return read


def _client_output(key: str) -> HostedReader:
    """What came of such a call, which is named by the field ``key``."""

    def read(item: JsonObject, at: Place) -> tuple[Entry, ...]:
        output = item.get("output", item.get("status"))
        return (Answered(call=_text(item, at, key), parts=_said(output, at.child("output")), place=at.child(key)),)

    return read


def _whole(tool: str, field: str, result: str) -> HostedReader:
    """A call that came with its result, if anybody asked for that."""

    def read(item: JsonObject, at: Place) -> tuple[Entry, ...]:
        arguments = compact({field: item.get(field)})
        return _call_and_output(item, at, tool, arguments, item.get(result), result)

    return read


def _remote(item: JsonObject, at: Place) -> tuple[Entry, ...]:
    failed = item.get("output") is None
    result = "error" if failed else "output"
    return _call_and_output(item, at, _text(item, at, "name"), _text(item, at, "arguments"), item.get(result), result)


def _call_and_output(
    item: JsonObject, at: Place, tool: str, arguments: str, output: Json, field: str
) -> tuple[Entry, ...]:
    call = _text(item, at, "id")
    parts = _said(output, at.child(field))
    return (
        Called(call=call, name=tool, arguments=arguments),
        Answered(call=call, parts=parts, place=at.child("id")),
    )


def _unseen(item: JsonObject, at: Place) -> tuple[Entry, ...]:
    at.child(str(item.get("type"))).ignore()
    return ()


def _text(item: JsonObject, at: Place, field: str) -> str:
    value = item.get(field)
    if value is None:
        raise at.child(field).missing()
    return PROMPT_TEXT.read(value, at.child(field))


def _said(output: Json, at: Place) -> tuple[TextPart, ...]:
    if output is None:
        return ()
    text = output if isinstance(output, str) else compact(output)
    return (TextPart(text=PROMPT_TEXT.read(text, at)),)


HOSTED: Final[Mapping[str, tuple[str, HostedReader]]] = {
    "local_shell_call": ("lsh", _client_call("local_shell", "action")),
    "local_shell_call_output": ("lsho", _client_output("id")),
    "shell_call": ("sh", _client_call("shell", "action")),
    "shell_call_output": ("sho", _client_output("call_id")),
    "apply_patch_call": ("apc", _client_call("apply_patch", "operation")),
    "apply_patch_call_output": ("apco", _client_output("call_id")),
    "code_interpreter_call": ("ci", _whole("code_interpreter", "code", "outputs")),
    "file_search_call": ("fs", _whole("file_search", "queries", "results")),
    "mcp_call": ("mcp", _remote),
    "web_search_call": ("ws", _unseen),
    "computer_call": ("cu", _unseen),
    "computer_call_output": ("cuo", _unseen),
    "image_generation_call": ("ig", _unseen),
    "mcp_list_tools": ("mcpl", _unseen),
    "mcp_approval_request": ("mcpr", _unseen),
    "mcp_approval_response": ("mcpa", _unseen),
    "tool_search_call": ("tsc", _unseen),
    "configuration_update": ("cfg", _unseen),
    "program": ("prog", _unseen),
    "program_output": ("progo", _unseen),
}
"""What begins an item's id, and what it means, by its type (OpenAI's ``ResponseInputItemParam``)."""
