"""A model server on loopback that can misbehave in every way that downloads have met."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Hub", "Handler"], None]


@dataclass
class Seen:
    method: str
    path: str
    headers: dict[str, str]


@dataclass
class Hub:
    """Serves one file. `script` holds how the next GETs are answered, `heads` the next HEADs; after them, `serve`."""

    data: bytes
    address: str = ""
    script: list[Answer] = field(default_factory=list)
    heads: list[Answer] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    linked: bool = True

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def ranges(self) -> list[str | None]:
        return [each.headers.get("range") for each in self.gets()]

    def gets(self) -> list[Seen]:
        return [each for each in self.seen if each.method == "GET"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        self.answer(self.server.hub.script)

    def do_HEAD(self) -> None:
        self.answer(self.server.hub.heads)

    def answer(self, script: list[Answer]) -> None:
        hub: Hub = self.server.hub
        headers = {name.lower(): value for name, value in self.headers.items()}
        with hub.lock:
            hub.seen.append(Seen(self.command, self.path, headers))
            answer = script.pop(0) if script else serve
        answer(hub, self)

    def write(self, body: bytes) -> None:
        if self.command != "HEAD":
            self.wfile.write(body)

    def start(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def drop(self) -> None:
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _offset(handler: Handler) -> int:
    value = handler.headers.get("Range")
    return int(value.removeprefix("bytes=").removesuffix("-")) if value else 0


def _tags(hub: Hub) -> dict[str, str]:
    return {"ETag": f'"{hub.sha256}"', "X_Linked_Etag": f'"{hub.sha256}"'} if hub.linked else {}


def serve(hub: Hub, handler: Handler) -> None:
    """The right answer, with or without a range."""
    send(hub, handler)


def send(hub: Hub, handler: Handler, *, stop: int | None = None, **more: str) -> None:
    """The right headers, and the body up to `stop`, where the connection ends."""
    start, size = _offset(handler), len(hub.data)
    if start >= size and start:
        handler.start(416, Content_Range=f"bytes */{size}", Content_Length="0")
        return
    headers = {"Content_Length": str(size - start), "Content_Type": "application/octet-stream", **_tags(hub), **more}
    if start:
        headers["Content_Range"] = f"bytes {start}-{size - 1}/{size}"
    handler.start(206 if start else 200, **headers)
    handler.write(hub.data[start : size if stop is None else max(start, stop)])
    if stop is not None:
        handler.drop()


def dropping_at(stop: int) -> Answer:
    return lambda hub, handler: send(hub, handler, stop=stop)


def ignoring_range(hub: Hub, handler: Handler) -> None:
    handler.start(200, Content_Length=str(len(hub.data)), **_tags(hub))
    handler.write(hub.data)


def status(code: int, body: bytes = b"", content_type: str = "text/plain") -> Answer:
    def answer(hub: Hub, handler: Handler) -> None:
        handler.start(code, Content_Length=str(len(body)), Content_Type=content_type)
        handler.write(body)

    return answer


def redirecting_to(address: Callable[[str], str]) -> Answer:
    def answer(hub: Hub, handler: Handler) -> None:
        handler.start(302, Location=address(handler.path), Content_Length="0", **_tags(hub))

    return answer


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.hub = hub  # type: ignore[attr-defined]
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
