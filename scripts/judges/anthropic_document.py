"""Messages as Anthropic's SDK types them, made into an OpenAPI document: random bodies of it, right and wrong, must be answered as it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import schemathesis
from anthropic.types import (
    Message,
    MessageTokensCount,
    RawMessageStreamEvent,
    message_count_tokens_params,
    message_create_params,
)
from anthropic.types.beta import BetaMessage, BetaMessageTokensCount
from anthropic.types.beta import message_count_tokens_params as beta_count_tokens_params
from anthropic.types.beta import message_create_params as beta_create_params
from environment import Judges
from pydantic import TypeAdapter, ValidationError
from schemathesis.core.failures import Failure
from willing import serving_willing

from conformance import LENIENT, Examiner, is_stream

CASES: Final = 30
"""Of each sort for each route; thirty find what three hundred find, and take seconds."""

_EVENT: Final[TypeAdapter[Any]] = TypeAdapter(RawMessageStreamEvent)

_COUNT: Final = "/v1/messages/count_tokens"
_APIS: Final[Mapping[str, Mapping[str, tuple[object, object]]]] = {
    "API": {
        "/v1/messages": (message_create_params.MessageCreateParamsNonStreaming, Message),
        _COUNT: (message_count_tokens_params.MessageCountTokensParams, MessageTokensCount),
    },
    "betas": {
        "/v1/messages": (beta_create_params.MessageCreateParamsNonStreaming, BetaMessage),
        _COUNT: (beta_count_tokens_params.MessageCountTokensParams, BetaMessageTokensCount),
    },
}
"""What is asked and answered, by path."""


def document(routes: Mapping[str, tuple[object, object]]) -> dict[str, Any]:
    """Bodies as the SDK lets a client send them, answers as it types them; by default it takes others, too."""
    schemas: dict[str, Any] = {}
    paths = {
        path: {"post": {"requestBody": _body(schemas, asked), "responses": {"200": _reply(schemas, answered)}}}
        for path, (asked, answered) in routes.items()
    }
    info = {"title": "Messages, as Anthropic's SDK types them", "version": "2"}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _body(schemas: dict[str, Any], type_: object) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": _schema(schemas, type_)}}}


def _reply(schemas: dict[str, Any], type_: object) -> dict[str, Any]:
    content = {"application/json": {"schema": _schema(schemas, type_)}, "text/event-stream": {"schema": {}}}
    return {"description": "What was asked for.", "content": content}


def _schema(schemas: dict[str, Any], type_: Any) -> dict[str, Any]:
    """The type's schema, after what it names was put into ``schemas`` under a name of its own: bodies and answers share names."""
    prefix = str(type_.__module__).rpartition(".")[2]
    schema = TypeAdapter(type_).json_schema(ref_template=f"#/components/schemas/{prefix}_{{model}}")
    schemas.update({f"{prefix}_{name}": each for name, each in schema.pop("$defs", {}).items()})
    return schema


def typed_events(_ctx: object, response: schemathesis.Response, case: schemathesis.Case[Any]) -> None:
    """Every event of a stream is one that the SDK knows."""
    if not is_stream(response):
        return
    for line in response.content.decode().splitlines():
        if line.startswith("data: {"):
            data = json.loads(line.removeprefix("data: "))
            try:
                if data["type"] not in ("ping", "error"):  # the SDK reads these two by their names alone
                    _EVENT.validate_python(data)
            except ValidationError as error:
                raise Failure(operation=case.operation.label, title=f"No event: {error}", message=line) from error


def judge(_judges: Judges, _url: str, _model: Path, _folder: Path) -> list[str]:
    """Answers that are a 5xx or not what the SDK says, one of each kind."""
    faults: list[str] = []
    with serving_willing() as url:
        for api, routes in _APIS.items():
            examiner = Examiner(url, [*LENIENT, typed_events], model="default")
            report = examiner.examine(document(routes), cases=CASES, number=1)
            told = (f"{operation} {status} x {count}" for (operation, status), count in sorted(report.answers.items()))
            print(f"{api}: {', '.join(told)}", flush=True)
            faults += map(str, report.findings.values())
    return faults
