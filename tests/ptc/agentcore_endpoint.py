"""A local endpoint that speaks as AgentCore's Code Interpreter does: REST, and the binary event stream.

Sessions are real: each one is a Python process that keeps its variables between calls of executeCode, and is
killed, with all that it started, when the session is stopped. What AWS refuses, and when, is scheduled with
``refuse``. Nothing of our own code is used here.
"""

from __future__ import annotations

import binascii
import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KERNEL = """
import contextlib, io, json, sys, traceback
names, answers = {"__name__": "__main__"}, sys.stdout
for line in sys.stdin:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exec(compile(json.loads(line), "<executeCode>", "exec"), names)
        except BaseException:
            traceback.print_exc()
            code = 1
    answers.write(json.dumps([out.getvalue(), err.getvalue(), code]) + "\\n")
    answers.flush()
"""


def frame(kind: str, name: str, payload: Any) -> bytes:
    """One message of ``application/vnd.amazon.eventstream``; kind is event or exception."""
    body = json.dumps(payload).encode()
    headers = b""
    for key, value in (
        (":message-type", kind),
        (f":{kind}-type", name),
        (":content-type", "application/json"),
    ):
        headers += (
            struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        )
    prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + body
    return message + struct.pack("!I", binascii.crc32(message))


class Kernel:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", KERNEL],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.turn = threading.Lock()

    def execute(self, code: str) -> list[Any] | None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.turn, contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(json.dumps(code) + "\n")
            self.process.stdin.flush()
            answer: list[Any] = json.loads(self.process.stdout.readline())
            return answer
        return None  # it was stopped meanwhile

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class Endpoint:
    """``asked``: (operation, name or None) of each request; ``sessions``: those that are running."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.sessions: dict[str, Kernel] = {}
        self.started: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._refusals: dict[str, list[tuple[str, str]]] = {}
        self._count = 0
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def _all(self) -> None:
                endpoint.handle(self)

            do_PUT = do_POST = _all

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def client(self) -> Any:
        import boto3
        from botocore.config import Config

        return boto3.client(
            "bedrock-agentcore",
            endpoint_url=self.url,
            region_name="eu-west-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(retries={"total_max_attempts": 1}, read_timeout=30),
        )

    def refuse(self, operation: str, how: str, code: str, times: int = 1) -> None:
        """``how``: *http*, an error response; *stream*, an exception event instead of the result; *lost*, the
        code is executed and then the stream has an exception event; *error*, a result with isError; *cut*,
        a stream that ends in the middle; *mute*, a result without text."""
        self._refusals.setdefault(operation, []).extend([(how, code)] * times)

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        url = urllib.parse.urlsplit(request.path)
        operation = url.path.rpartition("/")[2]
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        asked = json.loads(body) if body else {}
        self.asked.append((operation, asked.get("name")))
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        how, code = self._refusals[operation].pop(0) if self._refusals.get(operation) else ("", "")
        if how == "http":
            return self._say(request, 429 if "Throttling" in code else 400, {"message": "refused"}, code)
        identifier = urllib.parse.unquote(url.path.split("/")[2])
        if operation == "start":
            self._count += 1
            session = f"session{self._count}"
            self.started.append(asked)
            self.sessions[session] = Kernel()
            told = {"codeInterpreterIdentifier": identifier, "sessionId": session}
            return self._say(request, 200, told | {"createdAt": "2026-12-01T00:00:00Z"})
        query = dict(urllib.parse.parse_qsl(url.query))
        session = query.get("sessionId") or request.headers.get("x-amzn-code-interpreter-session-id", "")
        kernel = self.sessions.get(session)
        if kernel is None:
            return self._say(request, 404, {"message": f"no session {session}"}, "ResourceNotFoundException")
        if operation == "stop":
            del self.sessions[session]
            kernel.stop()
            told = {"codeInterpreterIdentifier": identifier, "sessionId": session}
            return self._say(request, 200, told | {"lastUpdatedAt": "2026-12-01T00:00:00Z"})
        events = b"".join(self._invoke(kernel, asked, how, code))
        if how == "cut":
            events = events[: len(events) // 2]
        request.send_response(200)
        request.send_header("content-type", "application/vnd.amazon.eventstream")
        request.send_header("x-amzn-code-interpreter-session-id", session)
        request.send_header("content-length", str(len(events)))
        request.end_headers()
        with contextlib.suppress(OSError):
            request.wfile.write(events)
        return None

    def _invoke(self, kernel: Kernel, asked: dict[str, Any], how: str, code: str) -> Iterator[bytes]:
        name = asked.get("name")
        assert name == "executeCode", name
        if how == "stream":
            yield frame("exception", code, {"message": "refused in the stream"})
            return
        done = kernel.execute(asked["arguments"]["code"])
        if done is None:
            yield frame("exception", "resourceNotFoundException", {"message": "the session was stopped"})
            return
        if how == "lost":
            yield frame("exception", code, {"message": "refused after the fact"})
            return
        out, err, exit_code = done
        failed = bool(exit_code) or how == "error"
        text = "" if how == "mute" else (out or err)
        yield frame(
            "event",
            "result",
            {
                "content": [{"type": "text", "text": text}],
                "structuredContent": {
                    "stdout": text,
                    "stderr": err,
                    "exitCode": exit_code,
                    "executionTime": 0.01,
                },
                "isError": failed,
            },
        )

    @staticmethod
    def _say(request: BaseHTTPRequestHandler, status: int, payload: Any, error: str = "") -> None:
        body = json.dumps(payload).encode()
        request.send_response(status)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(body)))
        if error:
            request.send_header("x-amzn-errortype", error)
        request.end_headers()
        request.wfile.write(body)

    def __enter__(self) -> Endpoint:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
        for kernel in self.sessions.values():
            kernel.stop()
