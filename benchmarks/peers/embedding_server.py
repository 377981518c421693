"""One embedding server for all: OpenAI's wire format on loopback, with vectors that depend on the text alone."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from zlib import crc32

DIMS = 1536
"""Of text-embedding-3-small, which most of the peers ask for unless told otherwise."""


class Vectors:
    """Unit vectors, looked up by the checksum of the text: the server must not be what is waited for."""

    def __init__(self, dims: int) -> None:
        import numpy

        self.dims = dims
        self._noise = numpy.random.default_rng(7).standard_normal((4096, dims)).astype("<f4")

    def of(self, texts: list[str]) -> Any:
        import numpy

        sums = [crc32(text.encode("utf-8", "replace")) for text in texts]
        rows = self._noise[[each % 4096 for each in sums]] + self._noise[[each // 4096 % 4096 for each in sums]]
        return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


class EmbeddingServer:
    """Answers POST /v1/embeddings, and counts the texts: GET tells how many."""

    def __init__(self) -> None:
        self.texts = 0
        self._vectors: dict[int, Vectors] = {}
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(json.dumps(server.answer(asked)).encode())

            def do_GET(self) -> None:
                self._send(str(server.texts).encode())

            def _send(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        if texts and not isinstance(texts[0], str):  # tokens instead of text
            texts = [json.dumps(each) for each in (texts if isinstance(texts[0], list) else [texts])]
        dims = asked.get("dimensions") or DIMS
        with self._lock:
            self.texts += len(texts)
            if dims not in self._vectors:
                self._vectors[dims] = Vectors(dims)
            vectors = self._vectors[dims]
        rows = vectors.of(texts)
        packed = asked.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": i, "embedding": base64.b64encode(row).decode() if packed else row.tolist()}
            for i, row in enumerate(rows)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "data": data, "model": asked["model"], "usage": usage}

    def serve(self) -> None:
        self._http.serve_forever()


class ServerProcess:
    """The server in a process of its own, as a command's peak memory counts that of the process which started it."""

    def __enter__(self) -> ServerProcess:
        self._process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        return self

    def texts(self) -> int:
        with urllib.request.urlopen(self.url) as answer:
            return int(answer.read())

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait()


if __name__ == "__main__":
    server = EmbeddingServer()
    print(server.url, flush=True)
    server.serve()
