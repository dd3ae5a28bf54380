"""JSON Schemas of every reply, as data: what the projectors and the small routes send, and nothing else.

Objects are closed: a key that is not written here, or a required one that is absent, is a mistake of the server. The tests hold
real answers against these shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.core.json import JsonObject
from dragoman.surfaces.openapi_shapes_messages import MESSAGES_SHAPES
from dragoman.surfaces.openapi_shapes_openai import OPENAI_SHAPES
from dragoman.surfaces.openapi_shapes_responses import RESPONSES_SHAPES
from dragoman.surfaces.openapi_words import (
    BOOLEAN,
    COUNT,
    TEXT,
    TOKEN_ID,
    UNIX_SECONDS,
    array,
    closed,
    const,
    nullable,
    ref,
    words,
)

MODEL: Final = closed(
    {
        "id": TEXT,
        "object": const("model"),
        "created": UNIX_SECONDS,
        "owned_by": TEXT,
        "type": const("model"),
        "display_name": TEXT,
        "created_at": {"type": "string", "format": "date-time"},
        "lifecycle": const("active"),
        "max_input_tokens": COUNT,
        "root": TEXT,
        "max_model_len": COUNT,
        "context_length": COUNT,
        "input_modalities": array(words("text", "image"), minItems=1),
    }
)

SHAPES: Final[Mapping[str, JsonObject]] = {
    **OPENAI_SHAPES,
    **MESSAGES_SHAPES,
    **RESPONSES_SHAPES,
    "Model": MODEL,
    "ModelList": closed(
        {
            "object": const("list"),
            "data": array(ref("Model")),
            "first_id": nullable(TEXT),
            "last_id": nullable(TEXT),
            "has_more": BOOLEAN,
            "models": array(
                closed({"name": TEXT, "description": TEXT, "release_date": {"type": "string", "format": "date"}})
            ),
        }
    ),
    "Tokens": closed({"count": COUNT, "max_model_len": COUNT, "tokens": array(TOKEN_ID)}, {"token_strs": array(TEXT)}),
    "Text": closed({"prompt": TEXT}),
    "Health": closed(
        {"status": TEXT},
        {
            "cause": nullable(TEXT),
            "version": TEXT,
            "model": TEXT,
            "active": COUNT,
            "queued": COUNT,
            "completed": COUNT,
            "rejected": COUNT,
            "failed": COUNT,
        },
    ),
    "Version": closed({"version": TEXT}, {"name": TEXT}),
}
"""The components of the document, by name."""
