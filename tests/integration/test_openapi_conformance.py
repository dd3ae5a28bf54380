"""The server, over HTTP, against the document that it publishes of itself."""

from __future__ import annotations

import asyncio

import pytest

import conformance
from support.serve import serving

NEVER_FOUND = {"GET /v1/models/{model}"}
"""No generated name is that of the served model."""


async def test_every_answer_is_as_the_published_document_says():
    async with serving("--engine", "simulated") as running:
        document = conformance.load(f"{running.url}/openapi.json")
        examiner = conformance.Examiner(running.url, conformance.STRICT)
        report = await asyncio.to_thread(examiner.examine, document, cases=8, number=1)
    assert [str(finding) for finding in report.findings.values()] == []
    served = {operation for operation, status in report.answers if status == 200}
    operations = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert operations - served == NEVER_FOUND


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
        ("event: x\n\ndata: [DONE]\n\n", "an event is not one line of data"),
    ],
)
def test_a_stream_that_is_not_framed_or_not_ended_is_a_finding(body, fault):
    assert conformance.stream_fault(body) == fault
