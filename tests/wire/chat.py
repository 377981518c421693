"""An OpenAI-compatible chat endpoint on loopback that follows a script: one step for each request, in turn."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request, and the connection on which it is answered."""

    server: ChatServer
    handler: BaseHTTPRequestHandler
    headers: Mapping[str, str]
    body: dict[str, Any] = field(repr=False)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Speaker and words of each message but the system prompt."""
        return [(each["role"], each.get("content", "")) for each in self.messages if each["role"] != "system"]

    def begin(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", kind)
        self.handler.send_header("Transfer-Encoding", "chunked")
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def write(self, data: bytes) -> None:
        self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.handler.wfile.flush()

    def end(self) -> None:
        self.handler.wfile.write(b"0\r\n\r\n")
        self.handler.wfile.flush()

    def event(self, tree: Any) -> None:
        self.write(b"data: " + json.dumps(tree, ensure_ascii=False).encode() + b"\n\n")

    def delta(self, *, finish: str | None = None, **delta: Any) -> None:
        self.event(
            {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        )

    def finish(self, reason: str = "stop", usage: tuple[int, int] | None = None) -> None:
        self.delta(finish=reason)
        if usage is not None and self.body.get("stream_options"):
            self.event({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}})
        self.write(b"data: [DONE]\n\n")
        self.end()

    def cut(self) -> None:
        """Close in the middle, as a server does that dies."""
        self.handler.close_connection = True
        self.handler.connection.shutdown(socket.SHUT_RDWR)

    def wait_for_hang_up(self) -> bool:
        """Whether the client goes away before the test is over."""
        while not self.server.closing.is_set():
            if select.select([self.handler.connection], [], [], 0.05)[0]:
                try:
                    gone = self.handler.connection.recv(1, socket.MSG_PEEK) == b""
                except OSError:
                    gone = True
                if gone:
                    self.server.hung_up.set()
                    return True
        return False


def say(*pieces: str, usage: tuple[int, int] | None = (100, 10), finish: str = "stop") -> Step:
    """Answer with a text, in these pieces."""

    def step(exchange: Exchange) -> None:
        exchange.begin()
        exchange.delta(role="assistant", content="")
        for piece in pieces:
            exchange.delta(content=piece)
        exchange.finish(finish, usage)

    return step


def call(*calls: tuple[str, Any], text: str = "", finish: str = "tool_calls", first: int = 1) -> Step:
    """Call tools: names with arguments, which are sent as JSON, or as they are if they are text."""

    def step(exchange: Exchange) -> None:
        exchange.begin()
        if text:
            exchange.delta(content=text)
        for index, (name, arguments) in enumerate(calls):
            told = arguments if isinstance(arguments, str) else json.dumps(arguments)
            head = {"index": index, "id": f"call_{first + index}", "type": "function"}
            exchange.delta(tool_calls=[{**head, "function": {"name": name, "arguments": ""}}])
            for start in range(0, len(told), 7):
                exchange.delta(tool_calls=[{"index": index, "function": {"arguments": told[start : start + 7]}}])
        exchange.finish(finish, (200, 20))

    return step


def deltas(*parts: Mapping[str, Any], finish: str = "stop") -> Step:
    """Send deltas as they are."""

    def step(exchange: Exchange) -> None:
        exchange.begin()
        for part in parts:
            exchange.delta(**part)
        exchange.finish(finish)

    return step


def refuse(
    status: int, message: str = "", body: bytes | None = None, kind: str = "application/json", **headers: str
) -> Step:
    """Answer with an error."""

    def step(exchange: Exchange) -> None:
        exchange.begin(status, kind, **headers)
        exchange.write(body if body is not None else json.dumps({"error": {"message": message}}).encode())
        exchange.end()

    return step


def raw(pieces: Iterable[bytes], kind: str = "text/event-stream", *, ends: bool = True) -> Step:
    """Send these bytes, each by itself."""

    def step(exchange: Exchange) -> None:
        exchange.begin(kind=kind)
        for piece in pieces:
            exchange.write(piece)
        exchange.end() if ends else exchange.cut()

    return step


def stall(*pieces: str, before_headers: bool = False) -> Step:
    """Say this much and then nothing, until the client goes away."""

    def step(exchange: Exchange) -> None:
        if not before_headers:
            exchange.begin()
            for piece in pieces:
                exchange.delta(content=piece)
        exchange.server.stalled.set()
        exchange.wait_for_hang_up()
        exchange.handler.close_connection = True

    return step


class ChatServer:
    """Follows its script; a request beyond it is answered with an error and remembered in `unexpected`."""

    def __init__(self) -> None:
        self.seen: list[Exchange] = []
        self.unexpected = 0
        self.stalled = threading.Event()
        self.hung_up = threading.Event()
        self.closing = threading.Event()
        self._steps: list[Step] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def script(self, *steps: Step) -> None:
        """Do this in the next requests, one step for each."""
        with self._lock:
            self._steps += steps

    def answer(self, exchange: Exchange) -> None:
        with self._lock:
            self.seen.append(exchange)
            step = self._steps.pop(0) if self._steps else None
            self.unexpected += step is None
        (step or refuse(400, "the script has no more steps"))(exchange)

    @property
    def is_done(self) -> bool:
        """Whether every step was taken, and nothing was asked beyond them."""
        return not self._steps and self.unexpected == 0

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: ChatServer) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path.partition("?")[0] != "/v1/chat/completions":
                self.send_error(404)
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                server.answer(Exchange(server, self, headers, json.loads(body)))
            except OSError:  # the client is gone
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler
