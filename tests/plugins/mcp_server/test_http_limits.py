"""Clients that are slow, endless or refused, on real sockets: each costs the server little, and others nothing."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from memslot import listen
from memslot_mcp_server.server import http

TOKEN = "t" * 40
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
WAIT = 30


class App:
    """Answers each request with its body; the SDK in its place."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        event = await receive()
        self.bodies.append(event["body"])
        await http._send_json(send, 200, event["body"])


class Running:
    def __init__(self, app: App, port: int) -> None:
        self.app, self.port = app, port

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)

    def head(self, *headers: str, token: str = TOKEN) -> bytes:
        lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {token}", *headers]
        return "\r\n".join([*lines, "", ""]).encode()

    def post(self, body: bytes) -> bytes:
        with self.connect() as wire:
            wire.sendall(self.head(f"Content-Length: {len(body)}", "Connection: close") + body)
            return read_all(wire)


def read_all(wire: socket.socket) -> bytes:
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := wire.recv(65536):
            parts.append(part)
    return b"".join(parts)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(http, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(http, "BODY_SECONDS", 0.3)
    listener = listen(0)
    app, port = App(), listener.getsockname()[1]
    server = http.web_server(http.Guard(app, TOKEN, port))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Running(app, port)
    server.should_exit = True
    thread.join(WAIT)
    assert not thread.is_alive()


def test_a_call_is_answered(running: Running) -> None:
    assert running.post(CALL).endswith(CALL)


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: x\r\n"])
def test_a_client_that_never_ends_its_headers_is_hung_up_on(running: Running, sent: bytes) -> None:
    with running.connect() as wire:
        wire.sendall(sent)
        assert read_all(wire) == b""
    assert running.post(CALL).endswith(CALL)


def test_headers_that_come_drop_by_drop_have_one_time_limit(running: Running) -> None:
    head = running.head("X-Filler: " + "x" * 1000)
    with running.connect() as wire, contextlib.suppress(OSError):
        for place in range(len(head)):
            wire.sendall(head[place : place + 1])
            time.sleep(0.02)
        pytest.fail("the server took all of it")
    assert running.app.bodies == []


def test_the_next_request_of_a_connection_has_the_limit_too(running: Running) -> None:
    with running.connect() as wire:
        wire.sendall(running.head(f"Content-Length: {len(CALL)}") + CALL)
        answer = b""
        while not answer.endswith(CALL):
            answer += wire.recv(65536)
        wire.sendall(b"POST /mcp HT")
        assert read_all(wire) == b""


def test_a_body_that_does_not_arrive_is_given_up(running: Running) -> None:
    with running.connect() as wire:
        wire.sendall(running.head("Content-Length: 1000") + b"{")
        assert read_all(wire).startswith(b"HTTP/1.1 408")
    assert running.app.bodies == []


@pytest.mark.parametrize("case", ["wrong token", "too large", "too large in chunks"])
def test_a_refused_body_is_not_read_to_its_end(running: Running, case: str) -> None:
    total, piece, sent = 300_000_000, b"x" * 1_000_000, 0
    chunked = case.endswith("chunks")
    size = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {total}"
    with running.connect() as wire:
        wire.sendall(running.head(size, token="wrong" if case == "wrong token" else TOKEN))
        with contextlib.suppress(OSError):
            while sent < total:
                wire.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
                sent += len(piece)
    assert sent < 50_000_000, "what the system's buffers hold, and no more"
    assert running.app.bodies == []
    assert running.post(CALL).endswith(CALL)


def test_a_client_that_asks_before_it_sends_a_body_is_told(running: Running) -> None:
    with running.connect() as wire:
        wire.sendall(running.head("Content-Length: 300000000", "Expect: 100-continue"))
        assert read_all(wire).startswith(b"HTTP/1.1 413")


def test_a_small_refused_request_gets_its_reason(running: Running) -> None:
    with running.connect() as wire:
        wire.sendall(running.head(f"Content-Length: {len(CALL)}", token="wrong") + CALL)
        answer = read_all(wire)
    assert answer.startswith(b"HTTP/1.1 401")
    assert b"Authorization: Bearer" in answer


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_number_that_json_does_not_know_is_an_error(running: Running, number: bytes) -> None:
    head, _, body = running.post(CALL.replace(b": 1,", b": " + number + b",")).partition(b"\r\n\r\n")
    answer = json.loads(body)
    assert head.startswith(b"HTTP/1.1 400")
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert running.app.bodies == []
