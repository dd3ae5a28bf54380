"""The content of a message on the Messages surface: a string, or blocks, of which each ``type`` is read in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dragoman.core.json import Json, JsonObject
from dragoman.core.request import ImagePart, TextPart, ToolCall
from dragoman.surfaces.readers import OBJECT, PROMPT_TEXT, TEXT, Place, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """What an assistant thought; empty where nobody here can read it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReference:
    """A deferred tool that was found, and may be called from here on."""

    name: str
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer to a call."""

    call: str
    content: tuple[TextPart | ImagePart | ToolReference, ...] = ()


Block: TypeAlias = TextPart | ImagePart | Thought | ToolCall | ToolReference | ToolResult

BlockReaders: TypeAlias = Mapping[str, Reader[Block | None]]
"""By the type of the block. None is what is accepted without effect."""

_UNSHOWN: Final = ("document", "container_upload", "browser_state", "tool_removal")
"""Types that Anthropic has, and that no model can be shown here."""

_NOTHING: Final = TextPart(text="")


def content(readers: BlockReaders, *, at_least: int = 0) -> Reader[tuple[Block, ...]]:
    """A string, or so many blocks that ``readers`` can read. Empty texts are left out, whatever stands on them (peers.md 109)."""

    def read(value: Json, at: Place) -> tuple[Block, ...]:
        if isinstance(value, str):
            text = PROMPT_TEXT.read(value, at)
            return (TextPart(text=text),) if text else ()
        if not isinstance(value, list) or len(value) < at_least:
            raise at.invalid(wants, value)
        blocks = [_block(block, at.child(index), readers) for index, block in enumerate(value)]
        return tuple(block for block in blocks if block is not None and block != _NOTHING)

    wants = f"a string, or {'a non-empty' if at_least else 'an'} array of content blocks"
    union = {"anyOf": [tagged(reader.schema, "type", kind) for kind, reader in readers.items()]}
    return Reader(wants, read, {"anyOf": [{"type": "string"}, {"type": "array", "items": union, "minItems": at_least}]})


def _block(value: Json, at: Place, readers: BlockReaders) -> Block | None:
    kind = TEXT.read(OBJECT.read(value, at).get("type"), at.child("type"))
    reader = readers.get(kind)
    if reader is not None:
        return reader.read(value, at)
    if kind in _UNSHOWN:
        raise at.unsupported(f'{at.path} is of type "{kind}", which is not supported: say it in a text')
    raise at.child("type").wrong(f"{at.path}.type must be one of {', '.join(readers)}")


def tagged(schema: JsonObject, tag: str, value: str) -> JsonObject:
    """The schema of an object that is known by its ``tag``."""
    properties = schema.get("properties")
    return {
        "required": [tag],
        **schema,
        "properties": {**(properties if isinstance(properties, Mapping) else {}), tag: {"const": value}},
    }
