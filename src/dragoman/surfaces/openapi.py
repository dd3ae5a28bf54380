"""The OpenAPI 3.1 document of the server: requests from the field tables, replies from ``openapi_shapes``.

Nothing here is typed twice: a field's schema is its reader's, its description its row's note. The document depends on nothing but the
version, so that two servers of one build publish the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.surfaces import openai_chat, openai_completions, tokens
from dragoman.surfaces.fields import Disposition, Field, Table
from dragoman.surfaces.openapi_shapes import SHAPES, TEXT, ref

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
}
"""Every status of an error that a client can see, and what it means (S156)."""

_ALWAYS: Final = (401, 403, 405, 500)
_OF_A_BODY: Final = (400, 413, 415)
_OF_AN_ENGINE: Final = (404, 429, 502, 503)

_PREFIX: Final[Mapping[Disposition, str]] = {
    Disposition.HONOURED: "",
    Disposition.IGNORED: "Accepted without effect. ",
    Disposition.REFUSED: "Not supported, so only these values pass: ",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What a route reads: the name of the schema, its table, the fields that must be there, or of which one must."""

    name: str
    table: Table
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One route. ``reply`` and ``chunk`` are names of shapes; ``statuses`` come on top of those that any route has."""

    id: str
    path: str
    summary: str
    reply: str | None
    body: Body | None = None
    chunk: str | None = None
    statuses: tuple[int, ...] = ()
    public: bool = False


_CHAT: Final = Body(name="ChatCompletionRequest", table=openai_chat.FIELDS, required=("messages",))
_COMPLETIONS: Final = Body(name="CompletionRequest", table=openai_completions.FIELDS, required=("prompt",))
_TOKENIZE: Final = Body(name="TokenizeRequest", table=tokens.TOKENIZE_FIELDS, one_of=("prompt", "content", "messages"))
_DETOKENIZE: Final = Body(name="DetokenizeRequest", table=tokens.DETOKENIZE_FIELDS, required=("tokens",))

_WORK: Final = (*_OF_A_BODY, *_OF_AN_ENGINE)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        id="createChatCompletion",
        path="/v1/chat/completions",
        summary="Continue a conversation (OpenAI Chat Completions).",
        body=_CHAT,
        reply="ChatCompletion",
        chunk="ChatCompletionChunk",
        statuses=_WORK,
    ),
    Operation(
        id="createCompletion",
        path="/v1/completions",
        summary="Continue raw prompts (OpenAI Completions).",
        body=_COMPLETIONS,
        reply="Completion",
        chunk="CompletionChunk",
        statuses=_WORK,
    ),
    Operation(id="listModels", path="/v1/models", summary="What is served.", reply="ModelList"),
    Operation(
        id="retrieveModel", path="/v1/models/{model}", summary="One served model.", reply="Model", statuses=(404,)
    ),
    *(
        Operation(
            id=f"tokenize{suffix}",
            path=f"{prefix}/tokenize",
            summary="Count and list the tokens of a text or of a conversation.",
            body=_TOKENIZE,
            reply="Tokens",
            statuses=_WORK,
        )
        for prefix, suffix in (("", ""), ("/v1", "V1"))
    ),
    *(
        Operation(
            id=f"detokenize{suffix}",
            path=f"{prefix}/detokenize",
            summary="Turn token ids back into text.",
            body=_DETOKENIZE,
            reply="Text",
            statuses=_WORK,
        )
        for prefix, suffix in (("", ""), ("/v1", "V1"))
    ),
    Operation(id="health", path="/health", summary="Whether the server can work.", reply="Health", public=True),
    Operation(id="version", path="/version", summary="The server's version.", reply="Version"),
    Operation(id="root", path="/", summary="The server's name and version.", reply="Version"),
    Operation(id="metrics", path="/metrics", summary="Counters in Prometheus' text format.", reply=None),
    Operation(id="openapi", path="/openapi.json", summary="This document.", reply="OpenApi"),
)
"""Every route, once for each of its paths."""


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
        "paths": {operation.path: _path(operation) for operation in OPERATIONS},
        "components": {
            "schemas": {
                **{name: request_schema(body) for name, body in bodies.items()},
                **SHAPES,
                "OpenApi": {"type": "object"},
            },
            "responses": {str(status): _error(status) for status in STATUSES},
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


def _path(operation: Operation) -> JsonObject:
    described: dict[str, Json] = {"operationId": operation.id, "summary": operation.summary}
    if operation.public:
        described["security"] = []
    if operation.body is not None:
        content = {"application/json": {"schema": ref(operation.body.name)}}
        described["requestBody"] = {"required": True, "content": content}
    if "{model}" in operation.path:
        described["parameters"] = [
            {
                "name": "model",
                "in": "path",
                "required": True,
                "description": "Its id.",
                "schema": {**TEXT, "minLength": 1},
            }
        ]
    described["responses"] = _responses(operation)
    return {"get" if operation.body is None else "post": described}


def _responses(operation: Operation) -> JsonObject:
    errors = sorted({*_ALWAYS, *operation.statuses} - ({401} if operation.public else set()))
    responses: dict[str, Json] = {"200": _success(operation)}
    if operation.reply == "Health":
        responses["503"] = {**_success(operation), "description": "It cannot work now."}
    return responses | {str(status): {"$ref": f"#/components/responses/{status}"} for status in errors}


def _success(operation: Operation) -> dict[str, Json]:
    if operation.reply is None:
        return {"description": "Done.", "headers": _named("x-request-id"), "content": {"text/plain": {"schema": TEXT}}}
    content: dict[str, Json] = {"application/json": {"schema": ref(operation.reply)}}
    names = ["x-request-id"]
    if operation.body is not None:
        names.append("x-dragoman-ignored")
    if operation.chunk is not None:
        names.append("x-dragoman-queue-wait-ms")
        content["text/event-stream"] = {"schema": _event(operation.chunk)}
    return {"description": "Done.", "headers": _named(*names), "content": content}


def _event(chunk: str) -> JsonObject:
    """One event of a stream, as readers of event streams hand it on: OpenAPI 3.1 has no word for the stream itself."""
    said: JsonObject = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"anyOf": [ref(chunk), ref("Error")]},
    }
    return {
        "type": "object",
        "properties": {"data": {"anyOf": [{"const": "[DONE]"}, said]}},
        "required": ["data"],
        "description": f"With `stream`: events of one `data: ` line with a `{chunk}`, and `data: [DONE]` in the end. A failure is an "
        "`Error` in its place, and no `[DONE]` follows it. Lines that begin with a colon are comments.",
    }


def _error(status: int) -> JsonObject:
    names = [
        "x-request-id",
        *(["retry-after"] if status in (429, 503) else []),
        *(["www-authenticate"] if status == 401 else []),
    ]
    return {
        "description": STATUSES[status],
        "headers": _named(*names),
        "content": {"application/json": {"schema": ref("Error")}},
    }


def _named(*names: str) -> JsonObject:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


_HEADERS: Final[JsonObject] = {
    "x-request-id": {"description": "Names the request in the server's log.", "required": True, "schema": TEXT},
    "x-dragoman-queue-wait-ms": {
        "description": "How long the request waited for a slot, in milliseconds.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
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
