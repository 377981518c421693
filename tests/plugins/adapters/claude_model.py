"""A scripted model behind the Messages API on loopback, for the real program that the Claude Agent SDK starts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions

Block = dict[str, Any]


class ClaudeModel:
    """Answers each request for a message with the next list of blocks, and keeps the requests."""

    def __init__(self, address: str, answers: Sequence[list[Block]]) -> None:
        self.address = address
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()

    def take(self, request: dict[str, Any]) -> list[Block]:
        with self.lock:
            self.requests.append(request)
            return self.answers.pop(0) if self.answers else [{"type": "text", "text": "(the script is over)"}]

    def options(self, folder: Path, **more: Any) -> ClaudeAgentOptions:
        """Options with which the program talks to this model and to nothing else."""
        folder.mkdir(exist_ok=True)
        env = {
            "ANTHROPIC_BASE_URL": self.address,
            "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        return ClaudeAgentOptions(
            tools=[],
            model="claude-sonnet-5",
            setting_sources=[],
            cwd=folder,
            env=env,
            system_prompt="Be brief.",
            **more,
        )


def say(text: str) -> Block:
    return {"type": "text", "text": text}


def call(name: str, arguments: dict[str, Any], number: int = 0) -> Block:
    return {"type": "tool_use", "id": f"toolu_{number:04}", "name": name, "input": arguments}


@contextmanager
def claude_model(answers: Sequence[list[Block]]) -> Iterator[ClaudeModel]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                self._send("application/json", b'{"input_tokens": 10}')
                return
            request = json.loads(body)
            self._send("text/event-stream", _events(str(request["model"]), model.take(request)))

        def do_GET(self) -> None:
            self._send("application/json", b"{}")

        def do_HEAD(self) -> None:
            self.do_GET()

        def _send(self, kind: str, data: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model = ClaudeModel(f"http://127.0.0.1:{server.server_port}", answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _events(model: str, blocks: list[Block]) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    told: list[dict[str, Any]] = [{"type": "message_start", "message": {**head, "stop_reason": None}}]
    for index, block in enumerate(blocks):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        delta: dict[str, Any] = {"type": "text_delta", "text": block.get("text")}
        if not is_text:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        told.append({"type": "content_block_start", "index": index, "content_block": empty})
        told.append({"type": "content_block_delta", "index": index, "delta": delta})
        told.append({"type": "content_block_stop", "index": index})
    stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    told.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}})
    told.append({"type": "message_stop"})
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in told).encode()
