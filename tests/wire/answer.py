"""Answers, and the ways in which they can fail to arrive."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any


@dataclass(frozen=True)
class Answer:
    """A status, headers and a body; `tree` is kept so that a fault can change it."""

    status: int
    tree: Any = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    send: Callable[[BaseHTTPRequestHandler, Answer], None] | None = None

    def as_bytes(self) -> bytes:
        return self.body if self.body is not None else json.dumps(self.tree).encode()

    def write(self, handler: BaseHTTPRequestHandler) -> None:
        (self.send or whole)(handler, self)


def whole(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    body = answer.as_bytes()
    head(handler, answer, len(body))
    handler.wfile.write(body)


def head(handler: BaseHTTPRequestHandler, answer: Answer, length: int) -> None:
    handler.send_response(answer.status)
    for name, value in {"Content-Type": "application/json", **answer.headers}.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(length))
    handler.end_headers()


def half(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    body = answer.as_bytes()
    head(handler, answer, len(body))
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def reset(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Close with RST, as a crashing server does."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    handler.wfile = handler.rfile = open("/dev/null", "r+b", buffering=0)  # noqa: SIM115, PTH123


def drip(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """A byte now and then: no single wait is long, but the end never comes."""
    head(handler, answer, 1_000_000)
    for _ in range(1000):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def endless(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Far more than any answer needs."""
    head(handler, answer, 1 << 40)
    handler.wfile.write(b'{"data": [')
    while True:  # until the client hangs up
        handler.wfile.write(b"0," * 32768)
