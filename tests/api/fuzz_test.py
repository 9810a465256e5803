"""The fuzzer finds what is wrong with a daemon, and nothing where nothing is.

Each test starts a toy daemon on a Unix socket with one thing wrong with it, and runs fuzz.py.
"""

import json
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import jsonschema_rs

FUZZ = Path(__file__).with_name("fuzz.py")
BASE = "/v1"


def content(schema, kind="application/json"):
    return {"description": "An answer.", "content": {kind: {"schema": schema}}}


def reference(name):
    return {"$ref": f"#/components/schemas/{name}"}


PROBLEM = content(reference("Problem"))
# The form of what Mia's own document says of streams.
FRAME = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "id": {"type": "string"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": reference("Event"),
        },
    },
}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Toy", "version": "1"},
    "paths": {
        "/things": {
            "post": {
                "operationId": "make",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": reference("Thing")}},
                },
                "responses": {"200": content(reference("Thing")), "400": PROBLEM, "415": PROBLEM},
            }
        },
        "/events": {
            "get": {
                "operationId": "events",
                "responses": {"200": content(FRAME, "text/event-stream")},
            }
        },
        "/stop": {"post": {"operationId": "stop", "responses": {"200": content({"type": "null"})}}},
    },
    "components": {
        "schemas": {
            "Thing": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
                "additionalProperties": False,
            },
            "Event": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"enum": ["token"]}},
            },
            "Problem": {
                "type": "object",
                "required": ["code"],
                "properties": {"code": {"type": "string"}},
            },
        }
    },
}
THING = jsonschema_rs.Draft202012Validator(DOCUMENT["components"]["schemas"]["Thing"])


class Toy(BaseHTTPRequestHandler):
    """Does what the document says, but for one thing."""

    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "toy"

    def log_message(self, *_):
        pass

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        allowed = {f"{BASE}/things": "POST", f"{BASE}/events": "GET", f"{BASE}/stop": "POST"}
        method = allowed.get(self.path.partition("?")[0])
        if method is None:
            return self.say(404, {"code": "not_found"})
        if self.command != method:
            return self.say(405, {"code": "method"}, {"Allow": method})
        if self.path.startswith(f"{BASE}/stop"):
            self.server.stopped = True
            return self.say(200, None)
        if self.path.startswith(f"{BASE}/events"):
            return self.stream()
        if self.headers.get_content_type() != "application/json":
            return self.say(415, {"code": "media_type"})
        try:
            thing = json.loads(body)
            valid = THING.is_valid(thing)
        except (ValueError, RecursionError):
            valid = False
        if not valid and self.server.wrong != "takes all":
            return self.say(400, {"code": "invalid"})
        if self.server.wrong == "breaks" and valid and thing.get("count", 0) < 0:
            return self.say(500, {"code": "broken"})
        if self.server.wrong == "wrong body":
            return self.say(200, {"name": 1})
        if self.server.wrong == "wrong status":
            return self.say(201, {"name": "x"})
        if self.server.wrong == "wrong type":
            return self.say(200, {"name": "x"}, {"Content-Type": "text/plain"})
        return self.say(200, {"name": "x"})

    def say(self, status, value, headers=None):
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        kind = "zzz" if self.server.wrong == "wrong event" else "token"
        event = f'id: 1\ndata: {{"type":"{kind}"}}\n\n'.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        if self.server.wrong == "endless":
            # Until the reader goes.
            self.server.opened += 1
            self.rfile.read(1)
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


class Found(unittest.TestCase):
    def fuzz(self, wrong, *arguments):
        """The status and the report of fuzz.py on a toy with this wrong."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/toy.sock"
            document = Path(folder) / "openapi.json"
            document.write_text(json.dumps(DOCUMENT))
            with Server(path, Toy) as self.server:
                self.server.wrong, self.server.stopped, self.server.opened = wrong, False, 0
                threading.Thread(target=self.server.serve_forever, daemon=True).start()
                ran = subprocess.run(
                    [sys.executable, FUZZ, path, "--document", document, "--base", BASE, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                )
                self.server.shutdown()
            return ran.returncode, ran.stdout

    def finds(self, wrong, *words):
        status, report = self.fuzz(wrong, "--exclude", "stop")
        self.assertEqual(status, 1, report)
        for word in words:
            self.assertIn(word, report)

    def test_nothing_where_nothing_is_wrong_and_leaves_alone_what_it_is_told_to(self):
        status, report = self.fuzz(None, "--exclude", "stop")
        self.assertEqual(status, 0, report)
        self.assertFalse(self.server.stopped)
        status, report = self.fuzz(None)
        self.assertEqual(status, 0, report)
        self.assertTrue(self.server.stopped)

    def test_a_stream_without_an_end_is_no_hang(self):
        status, report = self.fuzz("endless", "--exclude", "stop")
        self.assertEqual(status, 0, report)
        self.assertGreater(self.server.opened, 0)

    def test_a_500(self):
        self.finds("breaks", "500", "Server error")

    def test_a_body_that_is_not_as_documented(self):
        self.finds("wrong body", "violates schema")

    def test_an_event_that_is_not_as_documented(self):
        self.finds("wrong event", "SSE event payload violates content schema")

    def test_a_status_that_is_not_documented(self):
        self.finds("wrong status", "Undocumented status code", "Received: 201")

    def test_a_content_type_that_is_not_documented(self):
        self.finds("wrong type", "Undocumented Content-Type")

    def test_that_wrong_requests_are_taken(self):
        self.finds("takes all", "Schema-violating request accepted")

    def test_an_operation_that_is_not_there_can_not_be_excluded(self):
        status, report = self.fuzz(None, "--exclude", "stopp")
        self.assertEqual(status, 2, report)


if __name__ == "__main__":
    unittest.main()
