"""Serves clients of this machine over HTTP: behind a token, and for no web page that a browser shows."""

from __future__ import annotations

import hmac
import json
import signal
import socket
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings

from memslot_mcp_server.serving.listening import ADDRESS, PATH
from memslot_mcp_server.serving.server import MemslotServer
from memslot_mcp_server.serving.wire import MAX_BYTES
from memslot_mcp_server.serving.workers import Workers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from memslot_mcp_server.serving.hosts import Hosts

MAX_SESSIONS = 200
CLOSE_SECONDS = 3
_NAMES = (ADDRESS, "localhost")


class Guard:
    """Lets through what comes from this machine, was meant for this server, and knows the token.

    The name in `Host` is checked because a web page can make its own name lead to 127.0.0.1 (DNS rebinding), and
    `Origin` because a browser sends requests of any page to any address.
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
        if scope["type"] != "http":  # a web socket: nothing here speaks that
            return
        refused = self._refusal(scope)
        if refused is None:
            await self._app(scope, receive, send)
        else:
            await _answer(send, *refused)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts, origins, said = (headers.get(name, []) for name in (b"host", b"origin", b"authorization"))
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "this server answers to its own address alone; use the one that it printed"
        if any(origin not in self._origins for origin in origins):
            return 403, "requests of web pages are not taken"
        scheme, _, given = said[0].partition(b" ") if len(said) == 1 else (b"", b"", b"")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
            return 401, "the header Authorization: Bearer <token> is missing or has another token"
        return None


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="memslot"'))
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


async def serve(hosts: Hosts, listener: socket.socket, token: str, label: str) -> None:
    """Serve until the process is asked to end."""
    import uvicorn

    workers = Workers()
    server = await workers.run(MemslotServer, hosts, workers, label)
    port: int = listener.getsockname()[1]
    settings = uvicorn.Config(
        make_app(server, token, port),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    # uvicorn raises the signal that ended it once more when it is done; that must not end us before the host is closed.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    await uvicorn.Server(settings).serve(sockets=[listener])
    workers.drain(CLOSE_SECONDS)
