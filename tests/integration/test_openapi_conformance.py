"""The server, over HTTP, against the document that it publishes of itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import httpx
import pytest
from jsonschema import Draft202012Validator

import conformance
from support.serve import serving

ITEM = {"type": "message", "role": "user", "content": "Hi"}


def made_by(client: httpx.Client) -> dict[str, Callable[[], conformance.Ids]]:
    """For each path that names something: how to make one, and what it is called then."""

    def made(path: str, **body: object) -> str:
        return client.post(f"/v1{path}", json=body).json()["id"]

    def response() -> conformance.Ids:
        return {"response_id": made("/responses", input="Hi", background=True, stream=False)}

    def conversation() -> conformance.Ids:
        return {"conversation_id": made("/conversations", items=[{**ITEM, "id": "msg_1"}]), "item_id": "msg_1"}

    model = client.get("/v1/models").json()["data"][0]["id"]
    return {
        "/v1/models/{model}": lambda: {"model": model},
        **dict.fromkeys(
            (f"/v1/responses/{{response_id}}{rest}" for rest in ("", "/cancel", "/input_items")),
            response,
        ),
        **dict.fromkeys(
            (f"/v1/conversations/{{conversation_id}}{rest}" for rest in ("", "/items", "/items/{item_id}")),
            conversation,
        ),
    }


async def test_every_answer_is_as_the_published_document_says():
    async with serving("--engine", "simulated", "--store", "memory") as running:
        document = conformance.load(f"{running.url}/openapi.json")
        with httpx.Client(base_url=running.url) as client:
            known = made_by(client)
            model = known["/v1/models/{model}"]()["model"]
            examiner = conformance.Examiner(running.url, conformance.STRICT, model=model, known=known)
            report = await asyncio.to_thread(examiner.examine, document, cases=5, number=1)
    assert [str(finding) for finding in report.findings.values()] == []
    served = {operation for operation, status in report.answers if status == 200}
    operations = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert operations - served == set()


CHAT = {"messages": [{"role": "user", "content": "Hi"}], "stream": True}
RAW = {"prompt": "Hi", "stream": True}
MESSAGE = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100, "stream": True}
RESPONSE = {"input": "Hi", "stream": True}
STREAMS = [
    ("/v1/chat/completions", "ChatCompletionChunk", CHAT),
    ("/v1/chat/completions", "ChatCompletionChunk", CHAT | {"n": 3, "logprobs": True, "top_logprobs": 2}),
    ("/v1/chat/completions", "ChatCompletionChunk", CHAT | {"return_token_ids": True, "stop": "dragoman"}),
    ("/v1/completions", "CompletionChunk", RAW | {"logprobs": 2, "echo": True, "n": 2, "return_token_ids": True}),
    (
        "/v1/completions",
        "CompletionChunk",
        RAW | {"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
    ),
    ("/v1/messages", "MessageEvent", MESSAGE),
    ("/v1/messages", "MessageEvent", MESSAGE | {"stop_sequences": ["dragoman"]}),
    ("/v1/responses", "ResponseEvent", RESPONSE),
    ("/v1/responses", "ResponseEvent", RESPONSE | {"include": ["message.output_text.logprobs"], "top_logprobs": 2}),
    ("/v1/responses", "ResponseEvent", RESPONSE | {"background": True, "max_output_tokens": 3}),
]


async def test_every_event_of_a_stream_has_the_shape_that_the_document_names():
    async with (
        serving("--engine", "simulated", "--store", "memory") as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        document = (await client.get("/openapi.json")).json()
        for path, name, body in STREAMS:
            schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
            lines = (await client.post(path, json=body)).text.split("\n")
            chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
            assert len(chunks) > 3
            for chunk in chunks:
                Draft202012Validator(schema).validate(chunk)


@pytest.mark.parametrize(
    "body, fault",
    [
        ("data: {}\n\ndata: [DONE]\n\n", ""),
        (": comment\n\ndata: [DONE]\n\n", ""),
        ('data: {}\n\ndata: {"error":{}}\n\n', ""),
        ("data: {}\n\n", "ends neither with [DONE] nor with an error"),
        ("", "ends neither with [DONE] nor with an error"),
        ("data: [DONE]\n", "does not end with a blank line"),
        ("data: {\ndata: }\n\ndata: [DONE]\n\n", "an event is not one line of data"),
        ("data: {}\n\n" * 20, ""),
        ("event: x\n\ndata: [DONE]\n\n", "an event is not one line of data"),
        ('event: x\ndata: {"type":"x"}\n\ndata: [DONE]\n\n', ""),
        ('event: x\ndata: {"type":"y"}\n\ndata: [DONE]\n\n', "an event is not one line of data"),
        ("event: x\ndata: [DONE]\n\n", "an event is not one line of data"),
        ('event: message_stop\ndata: {"type":"message_stop"}\n\n', ""),
        ('event: error\ndata: {"type":"error"}\n\n', ""),
        ('event: message_delta\ndata: {"type":"message_delta"}\n\n', "ends neither with [DONE] nor with an error"),
    ],
)
def test_a_stream_that_is_not_framed_or_not_ended_is_a_finding(body, fault):
    assert conformance.stream_fault(body) == fault
