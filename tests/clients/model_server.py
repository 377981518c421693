"""A model on loopback that follows a script in four vendors' formats, and records every request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.clients.formats import AnthropicMessages, Call, Format, GeminiContent, OpenAiChat, OpenAiResponses, Reply

_GEMINI = GeminiContent()


@dataclass(frozen=True)
class Request:
    """One request for a reply of the model."""

    path: str
    body: Mapping[str, Any] = field(repr=False)
    tools: Mapping[str, str]
    """Names of the tools on offer, with their namespaces."""

    @property
    def text(self) -> str:
        """The request as text, in which a test looks for words."""
        return json.dumps(self.body, ensure_ascii=False)

    def find_tool(self, name: str) -> str | None:
        """What the client calls a tool of ours: each has its own prefix."""
        return next((each for each in self.tools if each == name or each.endswith(f"_{name}")), None)


@dataclass(frozen=True)
class Ask:
    """A step of the script: call a tool of memslot, by the name that memslot gives it."""

    tool: str
    arguments: Mapping[str, Any]
    tokens: int = 100


@dataclass(frozen=True)
class Say:
    """A step of the script: answer with a text."""

    text: str
    tokens: int = 100


Step = Ask | Say


class ModelServer:
    """Takes a step of its script for each request of the agent.

    Requests without tools are not the agent's own (titles, summaries, classifiers): they are answered with `aside` and
    take no step. Beyond the script the model says "Done.".
    """

    def __init__(self, *steps: Step) -> None:
        self.requests: list[Request] = []
        self.asides: list[Request] = []
        self.unknown: list[str] = []
        self.aside = "A summary of what was said."
        self._steps = list(steps)
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def script(self, *steps: Step) -> None:
        """Take these steps next."""
        with self._lock:
            self._steps += steps

    def reply(self, path: str, body: Mapping[str, Any], tools: Mapping[str, str]) -> Reply:
        request = Request(path, body, tools)
        with self._lock:
            if not tools:
                self.asides.append(request)
                return Reply(self.aside)
            self.requests.append(request)
            step = self._steps.pop(0) if self._steps else Say("Done.")
        if isinstance(step, Say):
            return Reply(step.text, tokens=step.tokens)
        name = request.find_tool(step.tool)
        if name is None:
            return Reply(f"There is no tool {step.tool}.")
        return Reply(calls=(Call(name, step.arguments, tools[name]),), tokens=step.tokens)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def _format_of(path: str) -> Format | None:
    if path.endswith("/messages"):
        return AnthropicMessages()
    if path.endswith("/responses"):
        return OpenAiResponses()
    if path.endswith("/chat/completions"):
        return OpenAiChat()
    return _GEMINI if path.endswith((":streamGenerateContent", ":generateContent")) else None


def _handler(server: ModelServer) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._refuse(self.path.partition("?")[0])

        def do_HEAD(self) -> None:
            self._whole({})

        def do_POST(self) -> None:
            data = self._body()
            path = self.path.partition("?")[0]
            vendor = _format_of(path)
            try:
                body = json.loads(data)
            except ValueError:
                body = None
            if path.endswith((":countTokens", "/count_tokens")):
                self._whole({"totalTokens": 100, "input_tokens": 100})
                return
            if vendor is None or not isinstance(body, dict):
                self._refuse(path)
                return
            reply = server.reply(path, body, vendor.tools(body))
            try:
                if path.endswith(":generateContent"):
                    self._whole(_GEMINI.answer(reply))
                elif body.get("stream") or path.endswith(":streamGenerateContent"):
                    self._stream(vendor, body, reply)
                else:
                    self._whole(_whole_answer(path, body, reply))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _stream(self, vendor: Format, body: Mapping[str, Any], reply: Reply) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in vendor.stream(body, reply):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def _whole(self, tree: Any, status: int = 200) -> None:
            data = json.dumps(tree).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _refuse(self, path: str) -> None:
            server.unknown.append(f"{self.command} {path}")
            self._whole({"error": {"type": "not_found_error", "message": "not here"}}, 404)

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler


def _whole_answer(path: str, body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    """A text to a request that is not streamed."""
    if path.endswith("/messages"):
        content = [{"type": "text", "text": reply.text}]
        head = {"id": "msg_0", "type": "message", "role": "assistant", "model": body["model"], "content": content}
        return {**head, "stop_reason": "end_turn", "usage": {"input_tokens": reply.tokens, "output_tokens": 10}}
    message = {"role": "assistant", "content": reply.text}
    usage = {"prompt_tokens": reply.tokens, "completion_tokens": 10, "total_tokens": reply.tokens + 10}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [choice],
        "usage": usage,
    }
