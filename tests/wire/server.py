"""The server itself: it records what it is asked, lets a fault have its way, or asks the format for an answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from memslot_wire.answer import Answer
from memslot_wire.faults import FAULTS, spoil
from memslot_wire.formats import FORMATS
from memslot_wire.jobs import Jobs


@dataclass(frozen=True)
class Seen:
    """One request, as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes = field(repr=False)
    header_names: tuple[str, ...] = ()

    def times(self, header: str) -> int:
        """How often a header was sent."""
        return self.header_names.count(header.lower())

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class WireServer:
    """Speaks one vendor's language: "openai", "gemini", "voyage" or "ollama"."""

    def __init__(self, speaks: str) -> None:
        self.speaks = speaks
        self.seen: list[Seen] = []
        self.jobs = Jobs()
        self.dims = 64  # of models nobody knows, and where the request names none
        self.plain_floats = False  # as servers do that do not know encoding_format
        self.key: str | None = None  # if set, every request needs it
        self.models: set[str] | None = None  # if set, others are not found
        self.elsewhere = "http://127.0.0.1:9"  # where a redirect leads
        self.closing = threading.Event()
        self._faults: list[str] = []
        self._format = FORMATS[speaks]
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def url(self) -> str:
        """The base URL as a person would configure it."""
        return self.origin + self._format.prefix

    def fail(self, *faults: str) -> None:
        """Misbehave like this in the next requests, one after the other; the last one stays."""
        assert set(faults) <= FAULTS, f"unknown faults: {set(faults) - FAULTS}"
        self._faults = list(faults)

    def next_fault(self) -> str | None:
        if len(self._faults) > 1:
            return self._faults.pop(0)
        return self._faults[0] if self._faults else None

    def answer(self, seen: Seen) -> Answer:
        fault = self.next_fault()
        answer = self._format.answer(self, seen)
        return answer if fault is None else spoil(fault, answer, self, seen, self._format)

    def __enter__(self) -> WireServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: WireServer) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self._serve()

        def do_GET(self) -> None:
            self._serve()

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(
                self.command,
                parts.path,
                parse_qs(parts.query),
                headers,
                self._body(),
                tuple(name.lower() for name in self.headers),
            )
            server.seen.append(seen)
            answer = server.answer(seen)
            try:
                answer.write(self)
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

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler
