"""What stands inside a message or a tool's output on the Responses surface: text, what a model refused to say, pictures.

Each part is read twice over: as what the model sees, and as the item in which it will be kept and listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.request import ImagePart, Part, TextPart
from dragoman.surfaces.fields import Field, Form, Table, honoured, ignored, refused
from dragoman.surfaces.images import image_from_url
from dragoman.surfaces.readers import PROMPT_TEXT, TEXT, Place, Reader

_TEXTS: Final = ("input_text", "output_text", "text")
_KINDS: Final = (*_TEXTS, "refusal", "input_image")
_UNSHOWN: Final = ("input_file", "input_audio", "input_video", "computer_screenshot")
_CACHE_HINT: Final = "Prompts share their cached prefixes without a hint."


def _part(value: Json, at: Place) -> Part:
    form = Form(value, PART_FIELDS, at)
    kind = form.require(PART_TYPE)
    if kind in _TEXTS:
        return TextPart(text=form.require(TEXT_FIELD))
    if kind == "refusal":
        return TextPart(text=form.require(REFUSAL))
    if kind == "input_image":
        return form.require(IMAGE_URL)
    if kind in _UNSHOWN:
        raise at.unsupported(f'{at.path} is of type "{kind}": only text and pictures are supported')
    raise at.child("type").wrong(f"{at.path}.type must be one of {', '.join(_KINDS)}")


def _image(value: Json, at: Place) -> ImagePart:
    return image_from_url(TEXT.read(value, at), at)


def _content(value: Json, at: Place) -> tuple[Part, ...]:
    if isinstance(value, str):
        return (TextPart(text=PROMPT_TEXT.read(value, at)),)
    if isinstance(value, list):
        return tuple(_part(part, at.child(index)) for index, part in enumerate(value))
    raise at.invalid(CONTENT.wants, value)


def kept_content(value: Json, *, of_assistant: bool) -> Json:
    """Content that ``CONTENT`` has read, in the form in which OpenAI lists it: always parts, each with all it must have."""
    said = "output_text" if of_assistant else "input_text"
    if isinstance(value, str):
        return [_kept({"type": said, "text": value}, said)]
    if isinstance(value, Sequence):
        return [_kept(part, said) for part in value if isinstance(part, Mapping)]
    return []


def _kept(part: JsonObject, said: str) -> JsonObject:
    match part.get("type"):
        case "input_text" | "output_text" | "text" if said == "output_text":
            return {"annotations": [], **_present(part), "type": said}
        case "output_text" | "text":
            return {**_present(part), "type": said}
        case "input_image":
            return {"detail": "auto", **_present(part)}
        case _:
            return _present(part)


def _present(part: JsonObject) -> JsonObject:
    return {name: value for name, value in part.items() if value is not None}


PART_TYPE: Final = honoured(
    "type", TEXT, '`"input_text"`, `"output_text"`, `"refusal"` or `"input_image"`.', required=True
)
TEXT_FIELD: Final = honoured("text", PROMPT_TEXT, "The text.")
REFUSAL: Final = honoured("refusal", PROMPT_TEXT, "The words of a refusal; text like any other.")
IMAGE_URL: Final = honoured(
    "image_url",
    Reader("a data URL", _image, {"type": "string", "pattern": "^[Dd][Aa][Tt][Aa]:"}),
    "PNG or JPEG as a data URL of base64.",
)
PART_FIELDS: Final = Table(
    PART_TYPE,
    TEXT_FIELD,
    REFUSAL,
    IMAGE_URL,
    ignored("detail", "A picture is seen as it is."),
    ignored("annotations", "Links that we never make."),
    ignored("logprobs", "Of an earlier answer."),
    ignored("prompt_cache_breakpoint", _CACHE_HINT),
    refused("file_id", "no files are kept here; send the picture as a data URL in `image_url`"),
    refused("file_data", "only text and pictures are supported"),
    refused("file_url", "only text and pictures are supported"),
)


def _shape(field: Field[object], *kinds: str) -> JsonObject:
    """Parts of these kinds, which need the field."""
    properties: JsonObject = {row.name: row.schema for row in PART_FIELDS}
    held: JsonObject = {"type": {"enum": list(kinds)}, field.name: {**field.reader.schema, "description": field.note}}
    return {"type": "object", "properties": {**properties, **held}, "required": ["type", field.name]}


_SHAPES: Final[Json] = [_shape(TEXT_FIELD, *_TEXTS), _shape(REFUSAL, "refusal"), _shape(IMAGE_URL, "input_image")]

CONTENT: Final = Reader(
    "a string, or an array of parts",
    _content,
    {"anyOf": [PROMPT_TEXT.schema, {"type": "array", "items": {"anyOf": _SHAPES}}]},
)
