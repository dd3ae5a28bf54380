"""Responses and conversations as OpenAI describes them: random requests of the description, right and wrong, must be answered as it says.

``OPENAI_DOCUMENT`` names its ``openapi.json``, which is in the repository openai/openai-openapi.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import requests
from environment import Judges
from willing import serving_willing

from conformance import LENIENT, Examiner, Ids

CASES: Final = 15
"""Of each sort for each operation."""

PLACE: Final = "OPENAI_DOCUMENT"
SERVED: Final = ("/responses", "/conversations")
ITEMS: Final = (
    "InputMessage",
    "OutputMessage",
    "FunctionToolCall",
    "FunctionCallOutputItemParam",
    "CustomToolCall",
    "CustomToolCallOutput",
    "ReasoningItem",
    "CompactionSummaryItemParam",
)
"""Of an input. What is of tools that OpenAI runs is repeated here as it came, right or wrong."""

NULL: Final = {
    "TextResponseFormatJsonSchema": ("description",),
    "ConversationItemList": ("first_id", "last_id"),
    "ResponseItemList": ("first_id", "last_id"),
}
"""Strings that may be null."""

BETA: Final = "?beta=true"
"""Ends paths that the document has twice."""


def judge(_judges: Judges, _url: str, _model: Path, _folder: Path) -> list[str]:
    """Answers that are a 5xx or not what OpenAI says, one of each kind."""
    if not (place := os.environ.get(PLACE)):
        print(f"not run: set {PLACE} to openapi.json of a checkout of github.com/openai/openai-openapi")
        return []
    document = trimmed(json.loads(Path(place).read_text(encoding="utf-8")))
    with serving_willing() as url:
        examiner = Examiner(f"{url}/v1", LENIENT, model="default", known=_things(f"{url}/v1"))
        report = examiner.examine(document, cases=CASES, number=1)
    print(
        ", ".join(f"{operation}: {status} x {count}" for (operation, status), count in sorted(report.answers.items()))
    )
    return [str(finding) for finding in report.findings.values()]


def trimmed(document: dict[str, Any]) -> dict[str, Any]:
    """Only what is served here, and without the slips of the document.

    It describes errors as what is inside their ``error``; discriminators by the names of its schemas, which are none of their values; and
    as never null: usage, against its own examples of responses in progress, a format's description, against its SDK and Open Responses, and
    the first and last id of a list that may be empty.
    """
    paths = {
        path: _plain(operations)
        for path, operations in document["paths"].items()
        if path.startswith(SERVED) and not path.endswith(BETA)
    }
    for operations in paths.values():
        for operation in operations.values():
            operation["responses"] = {"200": operation["responses"]["200"]}
    schemas = _plain(document["components"]["schemas"])
    for schema, names in NULL.items():
        schemas[schema]["properties"].update({name: {"type": ["string", "null"]} for name in names})
    schemas |= {
        "ResponseUsage": {"anyOf": [schemas["ResponseUsage"], {"type": "null"}]},
        "Item": {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in ITEMS]},
    }
    needed = {name: schemas[name] for name in _named(paths, schemas)}
    return {
        **{key: document[key] for key in ("openapi", "info")},
        "paths": paths,
        "components": {"schemas": needed},
    }


def _plain(part: Any) -> Any:
    """A part of the document without discriminators."""
    match part:
        case dict():
            return {name: _plain(value) for name, value in part.items() if name != "discriminator"}
        case list():
            return [_plain(value) for value in part]
        case _:
            return part


def _named(part: Any, schemas: dict[str, Any]) -> set[str]:
    """The schemas that a part of the document is made of."""
    found: set[str] = set()
    new = {*_references(part)}
    while new:
        found |= new
        new = {name for each in new for name in _references(schemas[each])} - found
    return found


def _references(part: Any) -> Iterator[str]:
    match part:
        case {"$ref": str(reference)}:
            yield reference.rpartition("/")[2]
        case dict():
            for value in part.values():
                yield from _references(value)
        case list():
            for value in part:
                yield from _references(value)
        case _:
            pass


def _things(url: str) -> dict[str, Callable[[], Ids]]:
    """What each path names, made anew for each request."""
    asked = {"model": "default", "input": "Hi"}

    def made(path: str, body: dict[str, Any]) -> dict[str, Any]:
        reply = requests.post(url + path, json=body, timeout=30)
        reply.raise_for_status()
        thing: dict[str, Any] = reply.json()
        return thing

    def response() -> Ids:
        return {"response_id": made("/responses", asked)["id"]}

    def background() -> Ids:
        return {"response_id": made("/responses", asked | {"background": True})["id"]}

    def conversation() -> Ids:
        return {"conversation_id": made("/conversations", {"items": _ITEMS})["id"]}

    def item() -> Ids:
        there = conversation()
        items = made(f"/conversations/{there['conversation_id']}/items", {"items": _ITEMS})
        return {**there, "item_id": items["data"][0]["id"]}

    return {
        "/responses/{response_id}": response,
        "/responses/{response_id}/input_items": response,
        "/responses/{response_id}/cancel": background,
        "/conversations/{conversation_id}": conversation,
        "/conversations/{conversation_id}/items": conversation,
        "/conversations/{conversation_id}/items/{item_id}": item,
    }


_ITEMS: Final = [{"type": "message", "role": "user", "content": "Hi"}]
