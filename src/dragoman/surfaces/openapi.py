"""The OpenAPI 3.1 document of the server: requests from the field tables, replies from the shapes.

Nothing here is typed twice: a field's schema is its reader's, its description its row's note. The document depends on nothing but the
version, so that two servers of one build publish the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.limits import MAX_IDEMPOTENCY_KEY_CHARS
from dragoman.surfaces.fields import Disposition, Field
from dragoman.surfaces.openapi_routes import OPERATIONS, PARTS, Body, Operation, Stream
from dragoman.surfaces.openapi_shapes import SHAPES
from dragoman.surfaces.openapi_words import TEXT, const, ref

STATUSES: Final[Mapping[int, str]] = {
    400: "The request is wrong; `error.param` names the field.",
    401: "No API key, or a wrong one, where the server asks for one.",
    403: "This host or origin may not call.",
    404: "There is no such model, or no such route.",
    405: "The route exists, and does not know this method.",
    409: "It contradicts an earlier request, such as another body under the same idempotency key.",
    413: "The body is larger than the server takes.",
    415: "The body is not JSON.",
    429: "The queue is full, or the wait in it was too long. Come back after `retry-after` seconds.",
    500: "The server or its engine failed.",
    502: "The engine broke its protocol.",
    503: "The engine is loading, or was lost; the server is stopping. Come back after `retry-after` seconds.",
    504: "The engine did not take the request in time. Come back after `retry-after` seconds.",
}
"""Every status of an error that a client can see, and what it means (S156)."""

_ALWAYS: Final = (401, 403, 405, 500)

_ENVELOPES: Final[Mapping[str, str]] = {"Error": "", "MessagesError": "messages-"}
"""How the components that describe errors begin, by the shape of the envelope."""

_PREFIX: Final[Mapping[Disposition, str]] = {
    Disposition.HONOURED: "",
    Disposition.IGNORED: "Accepted without effect. ",
    Disposition.REFUSED: "Not supported, so only these values pass: ",
}


def document(*, version: str) -> JsonObject:
    """The document of a server of this version."""
    bodies = {operation.body.name: operation.body for operation in OPERATIONS if operation.body is not None}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Dragoman",
            "version": version,
            "summary": "A language model that you run, for any client program.",
            "description": "A field is honoured, or refused by name, or has no effect and is listed in the `x-dragoman-ignored` "
            "header of the reply. `null` counts as absent. Fields that are not listed here have no effect either, unless the "
            "server runs with `--strict-fields`, which refuses them.",
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"bearer": []}, {"apiKey": []}],  # a server without keys asks for none
        "paths": _paths(),
        "components": {
            "schemas": {
                **{name: request_schema(body) for name, body in bodies.items()},
                **SHAPES,
                "OpenApi": {"type": "object"},
            },
            "responses": _errors(),
            "parameters": _KEY,
            "headers": _HEADERS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


def request_schema(body: Body) -> JsonObject:
    """The schema of a body, with what becomes of each field."""
    needed = {*body.required, *body.one_of}
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {row.name: _property(row, required=row.name in needed) for row in body.table},
    }
    if body.required:
        schema["required"] = list(body.required)
    if body.one_of:
        schema["oneOf"] = [{"required": [name]} for name in body.one_of]
    return schema


def _property(row: Field[object], *, required: bool) -> JsonObject:
    schema = row.reader.schema if required else row.schema
    return {**schema, "description": _PREFIX[row.disposition] + row.note}


def _paths() -> JsonObject:
    """Every path with its methods."""
    paths: dict[str, dict[str, Json]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return paths


def _operation(operation: Operation) -> JsonObject:
    described: dict[str, Json] = {"operationId": operation.id, "summary": operation.summary}
    if operation.public:
        described["security"] = []
    if parameters := _parameters(operation):
        described["parameters"] = parameters
    if operation.body is not None:
        content = {"application/json": {"schema": ref(operation.body.name)}}
        described["requestBody"] = {"required": True, "content": content}
    described["responses"] = _responses(operation)
    return described


def _parameters(operation: Operation) -> list[Json]:
    parts: list[Json] = [
        {"name": name, "in": "path", "required": True, "description": note, "schema": {**TEXT, "minLength": 1}}
        for name, note in PARTS.items()
        if f"{{{name}}}" in operation.path
    ]
    query: list[Json] = [
        {"name": row.name, "in": "query", "description": row.note, "schema": row.schema} for row in operation.query
    ]
    again: list[Json] = [{"$ref": "#/components/parameters/Idempotency-Key"}] if operation.again else []
    return [*parts, *query, *again]


def _responses(operation: Operation) -> JsonObject:
    errors = sorted({*_ALWAYS, *operation.statuses} - ({401} if operation.public else set()))
    responses: dict[str, Json] = {"200": _success(operation)}
    if operation.reply == "Health":
        responses["503"] = {**_success(operation), "description": "It cannot work now."}
    prefix = _ENVELOPES[operation.error]
    return responses | {str(status): {"$ref": f"#/components/responses/{prefix}{status}"} for status in errors}


def _success(operation: Operation) -> dict[str, Json]:
    names = ["x-request-id", "request-id"]
    if operation.reply is None:
        return {"description": "Done.", "headers": _named(*names), "content": {"text/plain": {"schema": TEXT}}}
    content: dict[str, Json] = {"application/json": {"schema": ref(operation.reply)}}
    if operation.body is not None:
        names.append("x-dragoman-ignored")
    if operation.again:
        names += ["x-dragoman-queue-wait-ms", "x-dragoman-repaired", "idempotent-replayed"]
    if operation.stream is not None:
        content["text/event-stream"] = {"schema": _event(operation.stream)}
    return {"description": "Done.", "headers": _named(*names), "content": content}


def _event(stream: Stream) -> JsonObject:
    """One event of a stream, as readers of event streams hand it on: OpenAPI 3.1 has no word for the stream itself."""
    said: JsonObject = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"anyOf": [ref(stream.event), ref(stream.failure)]},
    }
    properties: dict[str, Json] = {"data": {"anyOf": [{"const": "[DONE]"}, said]} if stream.done else said}
    if stream.named:
        properties["event"] = {**TEXT, "description": "The `type` of its data."}
    return {"type": "object", "properties": properties, "required": ["data"], "description": _told(stream)}


def _told(stream: Stream) -> str:
    lines = "an `event: ` line and a `data: ` line" if stream.named else "one `data: ` line"
    end = ", and `data: [DONE]` in the end" if stream.done else ""
    return (
        f"With `stream`: events of {lines} with a `{stream.event}`{end}. A failure is a `{stream.failure}` in its place, or an event of "
        "the type `error` where events have types. Lines that begin with a colon are comments."
    )


def _errors() -> JsonObject:
    return {
        f"{prefix}{status}": _error(status, envelope) for envelope, prefix in _ENVELOPES.items() for status in STATUSES
    }


def _error(status: int, envelope: str) -> JsonObject:
    names = [
        "x-request-id",
        "request-id",
        *(["retry-after"] if status in (429, 503, 504) else []),
        *(["www-authenticate"] if status == 401 else []),
        *(["x-should-retry"] if status in (401, 409) else []),
    ]
    return {
        "description": STATUSES[status],
        "headers": _named(*names),
        "content": {"application/json": {"schema": ref(envelope)}},
    }


def _named(*names: str) -> JsonObject:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


_HEADERS: Final[JsonObject] = {
    "x-request-id": {"description": "Names the request in the server's log.", "required": True, "schema": TEXT},
    "request-id": {"description": "The same, under Anthropic's name.", "required": True, "schema": TEXT},
    "idempotent-replayed": {
        "description": "There where the answer is that of an earlier request under the same key.",
        "schema": const("true"),
    },
    "x-should-retry": {"description": "No retry will help.", "required": True, "schema": const("false")},
    "x-dragoman-queue-wait-ms": {
        "description": "How long the request waited for a slot, in milliseconds; absent where nobody waits, in the background.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "x-dragoman-repaired": {
        "description": "What was mended in the conversation for the model's template, joined by commas; absent where nothing was.",
        "schema": TEXT,
    },
    "x-dragoman-ignored": {
        "description": "Fields that had no effect, joined by commas; absent where there are none.",
        "schema": TEXT,
    },
    "retry-after": {
        "description": "When to come back, in seconds.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
    },
    "www-authenticate": {"description": "How to send a key (RFC 9110).", "required": True, "schema": TEXT},
}

_KEY: Final[JsonObject] = {
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A request that is sent again under its key gets the answer of the first, or joins it while it runs.",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY_CHARS, "pattern": "^[ -~]+$"},
    }
}
