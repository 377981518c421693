"""A scripted model on loopback behind the APIs that plain clients use: chat completions, responses and messages."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Say(NamedTuple):
    """The model says this, in pieces if it is streamed. Before the last piece it may wait for the client to go."""

    pieces: tuple[str, ...]
    stalls: bool = False
    fails: bool = False
    """With `/responses`: the answer ends as failed."""


class Use(NamedTuple):
    """The model calls a tool."""

    tool: str
    text: str = ""
    arguments: str = "{}"
    item: dict[str, Any] | None = None
    """What stands for the call in the output of `/responses`, if not a function call."""


class Refuse(NamedTuple):
    """The server answers with an error."""

    status: int


Step = Say | Use | Refuse
Event = tuple[str, dict[str, Any]]


def say(*pieces: str, stalls: bool = False) -> Say:
    return Say(pieces, stalls)


class ModelServer:
    """Answers each request with the next step, or as `answer` says, and keeps the requests."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.answer: Callable[[dict[str, Any]], Step] = lambda _: self.steps.pop(0) if self.steps else Refuse(500)
        self.requests: list[dict[str, Any]] = []
        self.stalled, self.closing = threading.Event(), threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            path = self.path.partition("?")[0]
            form = next((form for end, form in FORMS.items() if path.endswith(end)), None)
            if form is None:
                self._send(404, "application/json", b"{}")
                return
            request = json.loads(body)
            server.requests.append(request)
            step = server.answer(request)
            if isinstance(step, Refuse):
                self._send(step.status, "application/json", b'{"error": {"message": "no", "type": "refused"}}')
            elif request.get("stream"):
                self._stream(step, form)
            else:
                self._send(200, "application/json", json.dumps(form.whole(step)).encode())

        def do_GET(self) -> None:
            self._send(404, "application/json", b"{}")

        def _send(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.send_header("x-should-retry", "false")
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, step: Step, form: Any) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            try:
                for name, event in form.events(step):
                    if event.get("stall"):
                        server.stalled.set()
                        server.closing.wait(30)
                        return
                    data = event.get("data") or json.dumps(event)
                    self.wfile.write(
                        f"event: {name}\ndata: {data}\n\n".encode() if name else f"data: {data}\n\n".encode()
                    )
            except OSError:
                pass  # the client is gone

        def log_message(self, *arguments: object) -> None:
            """Nothing: a test's output is its own."""

    return Handler


def _pieces(step: Step) -> tuple[str, ...]:
    return step.pieces if isinstance(step, Say) else (step.text,) if isinstance(step, Use) and step.text else ()


def _stalls(step: Step) -> bool:
    return isinstance(step, Say) and step.stalls


def _fails(step: Step) -> bool:
    return isinstance(step, Say) and step.fails


class Chat:
    """`/chat/completions`."""

    def whole(self, step: Step) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(_pieces(step)) or None}
        if isinstance(step, Use):
            function = {"name": step.tool, "arguments": step.arguments}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        reason = "tool_calls" if isinstance(step, Use) else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    def events(self, step: Step) -> Iterator[Event]:
        for piece in _pieces(step):
            yield self._chunk({"content": piece})
        if _stalls(step):
            yield "", {"stall": True}
        if isinstance(step, Use):
            call = {
                "index": 0,
                "id": "call_1",
                "type": "function",
                "function": {"name": step.tool, "arguments": step.arguments},
            }
            yield self._chunk({"tool_calls": [call]})
        yield self._chunk({}, "tool_calls" if isinstance(step, Use) else "stop")
        yield "", {"data": "[DONE]"}

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return "", {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


class Responses:
    """`/responses`."""

    def whole(self, step: Step) -> dict[str, Any]:
        head: dict[str, Any] = {
            "id": "r1",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "status": "completed",
            "tools": [],
        }
        head["conversation"] = {"id": "conv_1"}
        if _fails(step):
            head |= {"status": "failed", "error": {"code": "server_error", "message": "out of thoughts"}}
        return {**head, "output": self._output(step), "parallel_tool_calls": True, "tool_choice": "auto"}

    def _output(self, step: Step) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if text := "".join(_pieces(step)):
            part = {"type": "output_text", "text": text, "annotations": []}
            message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
            items.append(message)
        if isinstance(step, Use):
            call = {"type": "function_call", "call_id": "call_1", "name": step.tool, "arguments": step.arguments}
            items.append(step.item or call)
        return items

    def events(self, step: Step) -> Iterator[Event]:
        number = 0

        def event(kind: str, **fields: Any) -> Event:
            nonlocal number
            number += 1
            return kind, {"type": kind, "sequence_number": number, **fields}

        yield event("response.created", response={**self.whole(step), "output": [], "status": "in_progress"})
        place = {"item_id": "m1", "output_index": 0, "content_index": 0}
        if _pieces(step):
            empty = {"type": "message", "id": "m1", "role": "assistant", "status": "in_progress", "content": []}
            yield event("response.output_item.added", output_index=0, item=empty)
            part = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.content_part.added", **place, part=part)
        for piece in _pieces(step):
            yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
        if _stalls(step):
            yield "", {"stall": True}
        for index, item in enumerate(self._output(step)):
            if item["type"] == "function_call":
                yield event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.failed" if _fails(step) else "response.completed", response=self.whole(step))


class Messages:
    """`/messages`."""

    def whole(self, step: Step) -> dict[str, Any]:
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
        usage = {"input_tokens": 1, "output_tokens": 1}
        return {**head, "content": self._blocks(step), "stop_reason": self._reason(step), "usage": usage}

    def _reason(self, step: Step) -> str:
        return "tool_use" if isinstance(step, Use) else "end_turn"

    def _blocks(self, step: Step) -> list[dict[str, Any]]:
        text = "".join(_pieces(step))
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if isinstance(step, Use):
            blocks.append({"type": "tool_use", "id": "call_1", "name": step.tool, "input": json.loads(step.arguments)})
        return blocks

    def events(self, step: Step) -> Iterator[Event]:
        def event(kind: str, **fields: Any) -> Event:
            return kind, {"type": kind, **fields}

        yield event("message_start", message={**self.whole(step), "content": [], "stop_reason": None})
        for index, block in enumerate(self._blocks(step)):
            is_text = block["type"] == "text"
            yield event("content_block_start", index=index, content_block={**block, "text": ""} if is_text else block)
            for piece in _pieces(step) if is_text else ():
                yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
            if _stalls(step):
                yield "", {"stall": True}
            yield event("content_block_stop", index=index)
        yield event("message_delta", delta={"stop_reason": self._reason(step)}, usage={"output_tokens": 1})
        yield event("message_stop")


FORMS: dict[str, Any] = {"/chat/completions": Chat(), "/responses": Responses(), "/messages": Messages()}
