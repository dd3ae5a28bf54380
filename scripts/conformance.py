"""Try a running server with what an OpenAPI document says it takes, and hold its answers against the document.

    scripts/conformance.py --spec http://127.0.0.1:8000/openapi.json --url http://127.0.0.1:8000
    scripts/conformance.py --spec openai.json --url http://127.0.0.1:8000/v1 --lenient

For each operation, requests that fit the document are sent, the same with their prompt replaced by one that any server takes, and
requests that do not fit. No answer may be a 5xx or stay away, each
must be of a documented media type and shape, every error in the native envelope, and every event stream framed and ended. Each kind
of fault is told once per operation, with its request and its answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from unittest import SkipTest

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import GenerationMode
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.core import NOT_SET
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Err
from schemathesis.core.transport import DEFAULT_MAX_STREAM_EVENTS
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

Case: TypeAlias = "schemathesis.Case[Any]"

SHOWN = 600
"""Characters of a fault or an answer in a report."""

PATIENCE = 10.0
"""Seconds after which an answer counts as missing; a simulated engine needs milliseconds."""

ENVELOPE = {"message", "type", "param", "code"}
"""Of OpenAI's errors."""

HI = [{"role": "user", "content": "Hi"}]
PLAIN: dict[str, dict[str, Any]] = {
    "/chat/completions": {"messages": HI},
    "/completions": {"prompt": "Hi"},
    "/messages": {"messages": HI, "max_tokens": 100},
    "/messages/count_tokens": {"messages": HI},
    "/responses": {"input": "Hi"},
    "/responses/input_tokens": {"input": "Hi"},
    "/responses/compact": {"input": "Hi"},
}
"""What to lay over a generated body, by the end of its path: few generated prompts make sense, and other fields need one that does."""

ELSEWHERE = {"model", "previous_response_id", "conversation"}
"""Fields that name what the server would have to know: no generated name is one that it knows."""

KEY = "Idempotency-Key"

Ids = Mapping[str, str]
"""Path parameters of something that is there, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault: what is wrong, the request, and the answer."""

    operation: str
    fault: str
    request: str
    answer: str

    def __str__(self) -> str:
        return f"{self.operation}: {self.fault}\n  request: {self.request}\n  answer:  {self.answer}"


def native_errors(_ctx: object, response: schemathesis.Response, case: Case) -> None:
    """Every error is in the envelope of its route, with text in it (S117, S156)."""
    if response.status_code < 400 or case.path == "/health":
        return
    try:
        body = json.loads(response.content)
        error = body["error"]
        if "/messages" in case.path:
            good = body["type"] == "error" and isinstance(error["type"], str)
        else:
            good = set(error) == ENVELOPE
        good = good and isinstance(error["message"], str) and bool(error["message"])
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise Failure(operation=case.operation.label, title="Not the native error envelope", message="")


def whole_streams(_ctx: object, response: schemathesis.Response, case: Case) -> None:
    """A stream is events between blank lines, and ends as its contract says or with an error."""
    fault = stream_fault(response.content.decode()) if is_stream(response) else ""
    if fault:
        raise Failure(operation=case.operation.label, title=f"Event stream: {fault}", message="")


def stream_fault(body: str) -> str:
    """What is wrong with an event stream, or nothing. A long one is not read to its end, so that is not asked for.

    An event is one line of data, before which its name may stand, and that is then the type that the data has.
    """
    *events, rest = body.split("\n\n")
    told = [event for event in events if not event.startswith(":")]
    if any(not _is_event(event) for event in told):
        return "an event is not one line of data"
    if len(told) >= DEFAULT_MAX_STREAM_EVENTS:
        return ""
    if rest:
        return "does not end with a blank line"
    last = told[-1] if told else ""
    if last != "data: [DONE]" and not last.startswith(('data: {"error":', "event: message_stop\n", "event: error\n")):
        return "ends neither with [DONE] nor with an error"
    return ""


def _is_event(event: str) -> bool:
    name, line_break, data = event.rpartition("\n")
    if not data.startswith("data: "):
        return False
    if not line_break:
        return True
    with suppress(ValueError, TypeError, KeyError):
        return name == f"event: {json.loads(data.removeprefix('data: '))['type']}"
    return False


def is_stream(response: schemathesis.Response) -> bool:
    """Whether the answer is an event stream."""
    return (response.headers.get("content-type") or [""])[0].startswith("text/event-stream")


def of_objects(check: CheckFunction) -> CheckFunction:
    """The same check for all answers but streams, of whose events OpenAPI before 3.2 can say nothing that all agree on."""

    def checked(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> bool | None:
        return None if is_stream(response) else check(ctx, response, case)

    return checked


STRICT: list[CheckFunction] = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
    response_headers_conformance,
    native_errors,
    whole_streams,
]
LENIENT: list[CheckFunction] = [
    not_a_server_error,
    of_objects(content_type_conformance),
    of_objects(response_schema_conformance),
    native_errors,
    whole_streams,
]
"""For a document that does not list our errors, and describes streams in its own way."""


@dataclass(slots=True)
class Report:
    """What came of it: the first finding of each kind, and how often each operation answered with each status."""

    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)

    def add(self, kind: str, finding: Finding) -> None:
        """Keep a finding unless one of its kind is known of its operation."""
        self.findings.setdefault((finding.operation, kind), finding)

    def __str__(self) -> str:
        statuses = (f"{operation}: {status} x {count}" for (operation, status), count in sorted(self.answers.items()))
        return "\n".join([*map(str, self.findings.values()), *statuses, f"{len(self.findings)} findings"])


class Examiner:
    """Sends requests to the server at ``url`` and judges its answers by ``checks``.

    ``model`` is what the server calls its model. ``known`` makes something for a path that names it, and says how it is called.
    """

    def __init__(
        self,
        url: str,
        checks: list[CheckFunction],
        *,
        key: str | None = None,
        model: str | None = None,
        known: Mapping[str, Callable[[], Ids]] | None = None,
    ) -> None:
        self.report = Report()
        self._model = model
        self._known = known or {}
        self._url = url
        self._checks = checks
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._session = requests.Session()

    def examine(self, document: dict[str, Any], *, cases: int, number: int) -> Report:
        """Send ``cases`` requests of each sort to each operation; the same ones for the same ``number``."""
        with self._session:
            for result in schemathesis.openapi.from_dict(document).get_all_operations():
                if isinstance(result, Err):
                    raise result.err()
                operation = result.ok()
                modes = [GenerationMode.POSITIVE]
                if operation.body or operation.query:  # any text is a path parameter, so no path is wrong
                    modes.append(GenerationMode.NEGATIVE)
                for mode in modes:
                    self._walk(operation.as_strategy(generation_mode=mode), cases, number)
        return self.report

    def _walk(self, strategy: SearchStrategy[Case], cases: int, number: int) -> None:
        @seed(number)
        @settings(
            max_examples=cases,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def each(case: Case) -> None:
            for body in variants(case.path, case.body, self._model):
                case.body = body
                self._send(case)
                case.headers.pop(KEY, None)  # the next is another request
            if case.path in self._known:
                case.path_parameters = dict(self._known[case.path]())
                self._send(case)

        # An operation without parameters has nothing that could be wrong: every case is skipped, or there is none.
        with suppress(SkipTest, Unsatisfiable):
            each()

    def _send(self, case: Case) -> None:
        label = case.operation.label
        body = "" if case.body is NOT_SET else json.dumps(case.body, default=str)
        request = f"{case.method} {case.formatted_path} {body}"
        try:
            response = case.call(base_url=self._url, session=self._session, headers=self._headers, timeout=PATIENCE)
        except requests.RequestException as error:
            fault = f"no answer within {PATIENCE:g} s"
            self.report.add(fault, Finding(operation=label, fault=fault, request=request, answer=type(error).__name__))
            return
        self.report.answers[label, response.status_code] += 1
        try:
            case.validate_response(response, checks=self._checks)
        except FailureGroup as group:
            answer = f"{response.status_code} {response.content[:SHOWN].decode(errors='replace')}"
            for failure in group.exceptions:
                fault = " ".join(str(failure).split())[:SHOWN]
                kind = f"{getattr(failure, 'title', fault)} {response.status_code}"
                self.report.add(kind, Finding(operation=label, fault=fault, request=request, answer=answer))


def variants(path: str, body: Any, model: str | None = None) -> Iterator[Any]:
    """A generated body; then the same with a prompt that makes sense and of nothing that is elsewhere, as one object and streamed."""
    yield body
    for end, plain in PLAIN.items():
        if path.endswith(end) and isinstance(body, dict):
            sensible = {name: value for name, value in body.items() if name not in ELSEWHERE} | plain
            sensible |= {"model": model} if model else {}
            yield sensible
            yield sensible | {"stream": not sensible.get("stream")}
            return


def load(spec: str) -> dict[str, Any]:
    """A document from a file or an address."""
    if spec.startswith(("http://", "https://")):
        with urllib.request.urlopen(spec, timeout=PATIENCE) as reply:  # noqa: S310 - the person who runs it names the address
            document = json.load(reply)
    else:
        document = json.loads(Path(spec).read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise SystemExit(f"{spec} is not a document")
    return document


def main() -> int:
    """Print the findings; 1 when there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", required=True, help="an OpenAPI document: a file, or an address")
    parser.add_argument(
        "--url", required=True, help="the server, with the base path that the document's paths begin at"
    )
    parser.add_argument("--cases", type=int, default=25, help="requests of each sort to each operation (default 25)")
    parser.add_argument("--seed", type=int, default=1, help="another number sends other requests")
    parser.add_argument("--key", help="an API key")
    parser.add_argument(
        "--lenient", action="store_true", help="for a document that does not list every status and header"
    )
    args = parser.parse_args()
    examiner = Examiner(args.url, LENIENT if args.lenient else STRICT, key=args.key)
    report = examiner.examine(load(args.spec), cases=args.cases, number=args.seed)
    print(report)
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
