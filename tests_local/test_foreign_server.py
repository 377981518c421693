"""Our provider `openai` against a server that we did not write: the one of llama-cpp-python."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from memslot import Host
from memslot_embed_providers.local.gguf import read_model_file
from memslot_embed_providers.local.provider import LocalProvider

TEXTS = ["the harbour at night", "an unpaid electricity invoice", "Ærøskøbing, naïve café", "我们决定"]
PATIENCE_SECONDS = 120


@pytest.fixture(scope="module")
def server(real_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert importlib.util.find_spec("uvicorn"), "the extra `server` of llama-cpp-python is missing"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(real_file), "--embedding", "true"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_threads", "1", "--n_threads_batch", "1"]
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/v1/models", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, f"the server ended:\n{log.read_text()}"
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the server did not answer:\n{log.read_text()}")


def test_its_vectors_are_those_of_the_model(server: str, real_file: Path, tmp_path: Path) -> None:
    search = {"provider": "openai", "model": "all-MiniLM", "remote": {"baseUrl": server, "apiKey": "not-needed"}}
    config = {"agents": {"defaults": {"memorySearch": search}}}
    with Host.load(config, home=tmp_path, env={}) as host:
        selection = host.select_embedder()
        assert selection.provider is not None, selection.reason
        assert selection.provider.dims == 384
        remote = numpy.asarray(selection.provider.embed_documents(TEXTS))
        query = numpy.asarray(selection.provider.embed_query(TEXTS[0]))
    local = numpy.asarray(LocalProvider(read_model_file(real_file)).embed_documents(TEXTS))
    local /= numpy.linalg.norm(local, axis=1, keepdims=True)
    remote /= numpy.linalg.norm(remote, axis=1, keepdims=True)
    assert (local * remote).sum(axis=1).min() > 0.999
    assert numpy.dot(query / numpy.linalg.norm(query), local[0]) > 0.999
