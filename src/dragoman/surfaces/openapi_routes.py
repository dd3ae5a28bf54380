"""Every route of the server, as data: its method, what it reads, what it answers, and the statuses of its errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from dragoman.core.json import JsonObject
from dragoman.surfaces import (
    anthropic_fields,
    openai_chat,
    openai_completions,
    responses_conversations,
    responses_fields,
    tokens,
)
from dragoman.surfaces.fields import Table
from dragoman.surfaces.openapi_words import COUNT, TEXT, words

Method: TypeAlias = Literal["get", "post", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What a route reads: the name of the schema, its table, the fields that must be there, or of which one must."""

    name: str
    table: Table
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parameter after the question mark."""

    name: str
    note: str
    schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The events that a route may answer with: the shape of one, the shape of a failure in its place, and the last.

    ``named``: each has its type as its name. ``done``: a stream that did not break ends with ``[DONE]``.
    """

    event: str
    failure: str = "Error"
    named: bool = False
    done: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path. ``reply`` is the name of a shape; ``statuses`` come on top of those that any route has.

    ``error`` is the shape of its errors. ``again``: it may be retried under an ``Idempotency-Key``.
    """

    id: str
    path: str
    summary: str
    reply: str | None
    method: Method = "get"
    body: Body | None = None
    stream: Stream | None = None
    query: tuple[Query, ...] = field(default=())
    statuses: tuple[int, ...] = ()
    error: Literal["Error", "MessagesError"] = "Error"
    again: bool = False
    public: bool = False


PARTS: Final[dict[str, str]] = {
    "model": "Its id.",
    "response_id": "The id of a response that was stored.",
    "conversation_id": "The id of a conversation.",
    "item_id": "The id of one of its items.",
}
"""What stands in a path in braces."""

_OF_A_BODY: Final = (400, 413, 415)
_OF_AN_ENGINE: Final = (404, 429, 502, 503)
_WORK: Final = (*_OF_A_BODY, *_OF_AN_ENGINE)
_GENERATE: Final = (*_WORK, 409)
_BY_ID: Final = (404,)

_CHAT: Final = Body(name="ChatCompletionRequest", table=openai_chat.FIELDS, required=("messages",))
_COMPLETIONS: Final = Body(name="CompletionRequest", table=openai_completions.FIELDS, required=("prompt",))
_MESSAGES: Final = Body(name="MessageRequest", table=anthropic_fields.FIELDS, required=("messages",))
_MESSAGE_COUNT: Final = Body(name="MessageCountRequest", table=anthropic_fields.COUNT_FIELDS, required=("messages",))
_RESPONSES: Final = Body(name="ResponseRequest", table=responses_fields.FIELDS)
_INPUT_TOKENS: Final = Body(name="ResponseCountRequest", table=responses_fields.COUNT_FIELDS)
_COMPACT: Final = Body(name="CompactRequest", table=responses_fields.COMPACT_FIELDS, required=("model",))
_CONVERSATION: Final = Body(name="ConversationRequest", table=responses_conversations.CREATE_FIELDS)
_METADATA: Final = Body(name="ConversationUpdate", table=responses_conversations.UPDATE_FIELDS, required=("metadata",))
_ITEMS: Final = Body(name="ItemsRequest", table=responses_conversations.ADD_FIELDS, required=("items",))
_TOKENIZE: Final = Body(name="TokenizeRequest", table=tokens.TOKENIZE_FIELDS, one_of=("prompt", "content", "messages"))
_DETOKENIZE: Final = Body(name="DetokenizeRequest", table=tokens.DETOKENIZE_FIELDS, required=("tokens",))

_MESSAGE_STREAM: Final = Stream(event="MessageEvent", failure="MessagesError", named=True, done=False)
_RESPONSE_STREAM: Final = Stream(event="ResponseEvent", named=True)

_PAGE: Final = (
    Query(name="limit", note="So many at most; default 20.", schema={**COUNT, "minimum": 1, "maximum": 100}),
    Query(name="order", note="Default `desc`: the newest first.", schema=words("asc", "desc")),
    Query(name="after", note="The id of the item that they come after.", schema=TEXT),
)

_GENERATION: Final = (
    Operation(
        id="createChatCompletion",
        method="post",
        path="/v1/chat/completions",
        summary="Continue a conversation (OpenAI Chat Completions).",
        body=_CHAT,
        reply="ChatCompletion",
        stream=Stream(event="ChatCompletionChunk"),
        statuses=_GENERATE,
        again=True,
    ),
    Operation(
        id="createCompletion",
        method="post",
        path="/v1/completions",
        summary="Continue raw prompts (OpenAI Completions).",
        body=_COMPLETIONS,
        reply="Completion",
        stream=Stream(event="CompletionChunk"),
        statuses=_GENERATE,
        again=True,
    ),
)

_MESSAGES_ROUTES: Final = (
    Operation(
        id="createMessage",
        method="post",
        path="/v1/messages",
        summary="Continue a conversation (Anthropic Messages).",
        body=_MESSAGES,
        reply="Message",
        stream=_MESSAGE_STREAM,
        statuses=(*_GENERATE, 504),
        error="MessagesError",
        again=True,
    ),
    Operation(
        id="countMessageTokens",
        method="post",
        path="/v1/messages/count_tokens",
        summary="The tokens of the prompt that the same body would make.",
        body=_MESSAGE_COUNT,
        reply="MessageTokens",
        statuses=(*_WORK, 504),
        error="MessagesError",
    ),
)

_RESPONSES_ROUTES: Final = (
    Operation(
        id="createResponse",
        method="post",
        path="/v1/responses",
        summary="Continue a conversation, and keep it (OpenAI Responses). A WebSocket opened here takes the same bodies as messages.",
        body=_RESPONSES,
        reply="Response",
        stream=_RESPONSE_STREAM,
        statuses=_GENERATE,
        again=True,
    ),
    Operation(
        id="countResponseTokens",
        method="post",
        path="/v1/responses/input_tokens",
        summary="The tokens of the prompt that the same body would make.",
        body=_INPUT_TOKENS,
        reply="ResponseTokens",
        statuses=_WORK,
    ),
    Operation(
        id="compactResponse",
        method="post",
        path="/v1/responses/compact",
        summary="A conversation with a summary in the place of what the model said and did in it.",
        body=_COMPACT,
        reply="Compaction",
        statuses=_WORK,
    ),
    Operation(
        id="retrieveResponse",
        path="/v1/responses/{response_id}",
        summary="A response as it is now, or the events of one that was streamed in the background.",
        reply="Response",
        stream=_RESPONSE_STREAM,
        query=(
            Query(name="stream", note="Default false; with true its events, to their end.", schema={"type": "boolean"}),
            Query(
                name="starting_after",
                note="The number of the last event that is not to be sent again.",
                schema={**COUNT, "maximum": 2**53},
            ),
        ),
        statuses=(400, 404, 409),
    ),
    Operation(
        id="deleteResponse",
        method="delete",
        path="/v1/responses/{response_id}",
        summary="Forget a response; one that is being made is cancelled first.",
        reply="ResponseDeleted",
        statuses=(*_BY_ID, 409),
    ),
    Operation(
        id="cancelResponse",
        method="post",
        path="/v1/responses/{response_id}/cancel",
        summary="End a background response before its time.",
        reply="Response",
        statuses=(400, 404, 409),
    ),
    Operation(
        id="listResponseItems",
        path="/v1/responses/{response_id}/input_items",
        summary="What a response was an answer to.",
        reply="ItemList",
        query=_PAGE,
        statuses=(400, 404),
    ),
)

_CONVERSATION_ROUTES: Final = (
    Operation(
        id="createConversation",
        method="post",
        path="/v1/conversations",
        summary="Begin a list of items that responses go on from and add to.",
        body=_CONVERSATION,
        reply="Conversation",
        statuses=_OF_A_BODY,
    ),
    Operation(
        id="retrieveConversation",
        path="/v1/conversations/{conversation_id}",
        summary="A conversation without its items.",
        reply="Conversation",
        statuses=_BY_ID,
    ),
    Operation(
        id="updateConversation",
        method="post",
        path="/v1/conversations/{conversation_id}",
        summary="Give a conversation other metadata.",
        body=_METADATA,
        reply="Conversation",
        statuses=(*_OF_A_BODY, 404),
    ),
    Operation(
        id="deleteConversation",
        method="delete",
        path="/v1/conversations/{conversation_id}",
        summary="Forget a conversation.",
        reply="ConversationDeleted",
        statuses=_BY_ID,
    ),
    Operation(
        id="listItems",
        path="/v1/conversations/{conversation_id}/items",
        summary="Items of a conversation.",
        reply="ItemList",
        query=_PAGE,
        statuses=(400, 404),
    ),
    Operation(
        id="addItems",
        method="post",
        path="/v1/conversations/{conversation_id}/items",
        summary="Append items to a conversation.",
        body=_ITEMS,
        reply="ItemList",
        statuses=(*_OF_A_BODY, 404),
    ),
    Operation(
        id="retrieveItem",
        path="/v1/conversations/{conversation_id}/items/{item_id}",
        summary="One item of a conversation.",
        reply="Item",
        statuses=_BY_ID,
    ),
    Operation(
        id="deleteItem",
        method="delete",
        path="/v1/conversations/{conversation_id}/items/{item_id}",
        summary="Take one item out of a conversation.",
        reply="Conversation",
        statuses=_BY_ID,
    ),
)

_INFORMATION: Final = (
    Operation(id="listModels", path="/v1/models", summary="What is served.", reply="ModelList"),
    Operation(
        id="retrieveModel", path="/v1/models/{model}", summary="One served model.", reply="Model", statuses=_BY_ID
    ),
    *(
        Operation(
            id=f"tokenize{suffix}",
            method="post",
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
            method="post",
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

OPERATIONS: Final = (*_GENERATION, *_MESSAGES_ROUTES, *_RESPONSES_ROUTES, *_CONVERSATION_ROUTES, *_INFORMATION)
"""Every route, once for each of its paths and methods."""
