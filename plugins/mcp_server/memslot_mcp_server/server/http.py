"""Serves local clients over HTTP, behind a token, and refuses web pages."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import signal
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings
from memslot import Workers

from memslot_mcp_server.server.hook_socket import answering_hooks
from memslot_mcp_server.server.http_access import ADDRESS, PATH
from memslot_mcp_server.server.lines import MAX_BYTES
from memslot_mcp_server.server.mcp_server import MemslotServer
from memslot_mcp_server.server.messages import Refused, read_message

if TYPE_CHECKING:
    import uvicorn
    from memslot import Hosts
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_SESSIONS = 200
CLOSE_SECONDS = 3
HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0
_DISCARD_BYTES = 256 * 1024
_DISCARD_SECONDS = 1.0
_TOO_LARGE = (413, f"the body has more than {MAX_BYTES // 1024**2} MB")
_NAMES = (ADDRESS, "localhost")


class Guard:
    """Lets a request through if it is addressed to this server and has the token.

    `Host` is checked because a web page can point its own name at 127.0.0.1 (DNS rebinding), and `Origin` because a
    browser sends any page's requests to any address.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in _NAMES}
        self._origins = {f"http://{name}:{port}".encode() for name in _NAMES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _discard_body(scope, receive)
            await _answer(send, *refused)
            return
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _read_body(receive)
        if isinstance(body, bytes):
            message = read_message(body)
            if isinstance(message, Refused):
                await _send_json(send, 400, message.answer.model_dump_json(by_alias=True, exclude_unset=True).encode())
            else:
                await self._app(scope, _replayed(body, receive), send)
        else:
            await _answer(send, *body)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts, origins, said = (headers.get(name, []) for name in (b"host", b"origin", b"authorization"))
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "wrong Host header; use the address that the server printed"
        if any(origin not in self._origins for origin in origins):
            return 403, "requests from web pages are refused"
        scheme, _, given = said[0].partition(b" ") if len(said) == 1 else (b"", b"", b"")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
            return 401, "the header Authorization: Bearer <token> is missing or its token is wrong"
        if any(not size.isdigit() or int(size[:20]) > MAX_BYTES for size in headers.get(b"content-length", [])):
            return _TOO_LARGE
        return None


async def _read_body(receive: Receive) -> bytes | tuple[int, str]:
    """A request's body, or the status and reason to refuse it with."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                event = await receive()
                if event["type"] != "http.request":
                    return 400, "the body ended early"
                parts.append(event.get("body", b""))
                size += len(parts[-1])
                if size > MAX_BYTES:
                    return _TOO_LARGE
                if not event.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        return 408, f"the body did not arrive within {BODY_SECONDS:g} seconds"


async def _discard_body(scope: Scope, receive: Receive) -> None:
    """Read a small body: closing a connection with unread bytes resets it, and the client would miss the answer."""
    if any(name.lower() == b"expect" for name, _ in scope["headers"]):
        return  # it waits for the answer before it sends anything
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while size < _DISCARD_BYTES:
                event = await receive()
                size += len(event.get("body", b""))
                if event["type"] != "http.request" or not event.get("more_body", False):
                    return


def _replayed(body: bytes, receive: Receive) -> Receive:
    events = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def replay() -> Message:
        event = next(events, None)
        return await receive() if event is None else event

    return replay


async def _answer(send: Send, status: int, sentence: str) -> None:
    """Refuse a request and close the connection, so that the rest of its body is not read."""
    extra = [(b"www-authenticate", b'Bearer realm="memslot"')] if status == 401 else []
    await _send_json(send, status, json.dumps({"error": sentence}).encode(), [*extra, (b"connection", b"close")])


async def _send_json(send: Send, status: int, body: bytes, extra: Sequence[tuple[bytes, bytes]] = ()) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def make_app(server: MemslotServer, token: str, port: int) -> ASGIApp:
    """The whole server as an ASGI application."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BYTES,
        max_sessions=MAX_SESSIONS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:{port}" for name in _NAMES],
            allowed_origins=[f"http://{name}:{port}" for name in _NAMES],
        ),
    )
    return Guard(app, token, port)


def _timed_protocol() -> type[asyncio.Protocol]:
    """uvicorn's HTTP with a time limit for a request's headers, which it lacks."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class TimedProtocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch_headers()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def _watch_headers(self) -> None:
            if self.conn.their_state is not h11.IDLE:
                self._stop_timer()
            elif self._timer is None:
                self._timer = self.loop.call_later(HEADER_SECONDS, self._give_up)

        def _give_up(self) -> None:
            self._timer = None
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self.transport.close()

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return TimedProtocol


def web_server(app: ASGIApp) -> uvicorn.Server:
    import uvicorn

    settings = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=_timed_protocol(),
        ws="none",
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    return uvicorn.Server(settings)


async def serve(hosts: Hosts, listener: socket.socket, token: str, label: str) -> None:
    """Serve until the process is told to end."""
    workers = Workers()
    server = await workers.run(MemslotServer, hosts, workers)
    port: int = listener.getsockname()[1]
    # uvicorn raises the signal that ended it once more when it is done; that must not end us before the host is closed.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    warm_up = asyncio.create_task(server.warm_up())
    async with answering_hooks(hosts, workers, label):
        await web_server(make_app(server, token, port)).serve(sockets=[listener])
    warm_up.cancel()
    workers.drain(CLOSE_SECONDS)
