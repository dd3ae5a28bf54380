"""Tools that Anthropic defines and a client runs: its models know them by a type alone, any other must be told how they are called.

The arguments are those of the SDK's types and of Anthropic's tool documentation; the words are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.request import ToolSpec


def _one_of_its_commands(arguments: Mapping[str, Json], *commands: str) -> JsonObject:
    """Arguments of a tool that does several things; which ones go with a command is told in words."""
    command: JsonObject = {"type": "string", "enum": list(commands), "description": "What to do."}
    return {"type": "object", "properties": {"command": command, **arguments}, "required": ["command"]}


def _text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


_LINE: Final[JsonObject] = {
    "type": "integer",
    "minimum": 0,
    "description": "insert: the number of the line after which the text goes; 0 is the beginning of the file.",
}
_RANGE: Final[JsonObject] = {
    "type": "array",
    "items": {"type": "integer"},
    "minItems": 2,
    "maxItems": 2,
    "description": "view: the first and the last line to show, counted from 1; -1 as the last is the end of the file.",
}

_EDITING: Final = (
    "Look at files and change them. view shows a file with line numbers, or the entries of a directory. create writes a whole file. "
    "str_replace replaces a text that must occur exactly once. insert puts a text after a line."
)

_BASH: Final = ToolSpec(
    name="bash",
    description=(
        "Run a command in a bash shell, and get what it prints. The shell stays open: variables, the working directory and background jobs "
        "last until it is restarted. Send a command, or restart."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": _text("The command line to run."),
            "restart": {"type": "boolean", "description": "True to start a new shell in place of this one."},
        },
    },
)


def _editor(name: str, *, inserted: str, undo: bool) -> ToolSpec:
    """``inserted`` is what this version calls the text to insert."""
    new = "str_replace: the text in its place; nothing, where it is left out."
    arguments: dict[str, Json] = {
        "path": _text("The absolute path of the file or directory."),
        "file_text": _text("create: all that the file shall hold."),
        "old_str": _text("str_replace: the text to replace, character by character as it is in the file."),
        "new_str": _text(f"{new} insert: the text to insert." if inserted == "new_str" else new),
        "insert_line": _LINE,
        "view_range": _RANGE,
    }
    if inserted != "new_str":
        arguments[inserted] = _text("insert: the text to insert.")
    commands = ("view", "create", "str_replace", "insert", *(("undo_edit",) if undo else ()))
    schema = _one_of_its_commands(arguments, *commands)
    return ToolSpec(
        name=name,
        description=f"{_EDITING} undo_edit takes the last change of a file back." if undo else _EDITING,
        parameters={**schema, "required": ["command", "path"]},
    )


_MEMORY: Final = ToolSpec(
    name="memory",
    description=(
        "Keep notes in files under /memories, which are still there in later conversations. Look at what is there before you begin, and note "
        f"what will be of use. {_EDITING} delete removes a file or directory, and rename moves one."
    ),
    parameters=_one_of_its_commands(
        {
            "path": _text("All but rename: the path of the file or directory, such as /memories/notes.md."),
            "view_range": _RANGE,
            "file_text": _text("create: all that the file shall hold."),
            "old_str": _text("str_replace: the text to replace, character by character as it is in the file."),
            "new_str": _text("str_replace: the text in its place."),
            "insert_line": _LINE,
            "insert_text": _text("insert: the text to insert."),
            "old_path": _text("rename: where it is now."),
            "new_path": _text("rename: where it shall be."),
        },
        *("view", "create", "str_replace", "insert", "delete", "rename"),
    ),
)

_OLD_EDITOR: Final = _editor("str_replace_editor", inserted="new_str", undo=True)
_EDITOR: Final = _editor("str_replace_based_edit_tool", inserted="insert_text", undo=False)

CLIENT_TOOLS: Final[Mapping[str, ToolSpec]] = MappingProxyType(
    {
        "bash_20241022": _BASH,
        "bash_20250124": _BASH,
        "text_editor_20241022": _OLD_EDITOR,
        "text_editor_20250124": _OLD_EDITOR,
        "text_editor_20250429": _EDITOR,
        "text_editor_20250728": _EDITOR,
        "memory_20250818": _MEMORY,
    }
)
"""By type."""
