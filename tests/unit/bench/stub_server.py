"""A server for tests of the benchmark itself: ``python stub_server.py PORT [broken|dead]``. Each answer is two tokens."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[2] if len(sys.argv) > 2 else ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, b"{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if MODE == "broken" and body["max_tokens"] == 32:
            self.answer(500, b"out of order")
            return
        chunks = [
            {"choices": [{"text": "a", "delta": {"content": "a"}}]},
            {"choices": [{"text": "b", "delta": {"content": "b"}}]},
            {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}},
        ]
        events = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
        self.answer(200, "".join(f"data: {event}\n\n" for event in events).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if MODE == "dead":
    sys.exit("no such model")
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
