"""The provider `local` on real GGUF files."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import gguf
import memslot_embed_providers.local.llama_engine as engine
import numpy
import pytest
from memslot import Host, ProviderError
from memslot.testing import EmbeddingProviderContract
from memslot_embed_providers.local.gguf import read_model_file
from memslot_embed_providers.local.provider import LocalProvider

from .bert import Bert, tiny_bert

TEXTS = [
    "The quarterly numbers came in 4% above what we told the board in March.",
    "She moved to Lisbon because the rent in Berlin had doubled.",
    "Ærøskøbing, naïve café, Straße",
    "x",
    "我们决定把会议改到星期四下午",
    "a memory, e.g. of https://example.org/a?b=c, that ends here!",
    "the harbour at night " * 60,
]


def open_model(path: Path) -> LocalProvider:
    return LocalProvider(read_model_file(path))


def cosines(a: Any, b: Any) -> Any:
    a, b = numpy.asarray(a, dtype=float), numpy.asarray(b, dtype=float)
    return (a * b).sum(axis=1) / numpy.linalg.norm(a, axis=1) / numpy.linalg.norm(b, axis=1)


class TestTiny(EmbeddingProviderContract):
    @pytest.fixture(autouse=True)
    def _file(self, tiny_file: Path) -> None:
        self.file = tiny_file

    def make_provider(self) -> LocalProvider:
        return open_model(self.file)


class TestReal(EmbeddingProviderContract):
    @pytest.fixture(autouse=True)
    def _file(self, real_file: Path) -> None:
        self.file = real_file

    def make_provider(self) -> LocalProvider:
        return open_model(self.file)


def test_a_tiny_model_gives_what_its_weights_say(tiny_file: Path) -> None:
    texts = ["a harbour", "an invoice", "0123 456"]
    assert cosines(open_model(tiny_file).embed_documents(texts), tiny_bert().embed(texts)).min() > 0.999


def test_the_real_model_gives_what_its_weights_say(real_file: Path, real_model: Bert) -> None:
    found = cosines(open_model(real_file).embed_documents(TEXTS), real_model.embed(TEXTS))
    assert found.min() > 0.99, dict(zip(TEXTS, found, strict=True))


def test_the_real_model_knows_what_is_alike(real_file: Path) -> None:
    provider = open_model(real_file)
    query = provider.embed_query("What is my cat called?")
    near, far = provider.embed_documents(["The kitten's name is Mona.", "The invoice is due on Friday."])
    assert cosines([query], [near])[0] > 0.35 > 0.2 > cosines([query], [far])[0]


def test_through_the_host_auto_uses_a_file_that_is_there(tmp_path: Path, tiny_file: Path) -> None:
    search = {"local": {"modelPath": str(tiny_file)}}
    config = {"agents": {"defaults": {"memorySearch": search}}}
    with Host.load(config, home=tmp_path, env={"OPENAI_API_KEY": "sk-not-a-real-key-at-all"}) as host:
        provider = host.select_embedder().provider
        assert provider is not None
        assert (provider.id, provider.model, provider.dims) == ("local", "tiny.gguf", 64)
        assert len(provider.embed_query("a text")) == 64


def test_through_the_host_a_named_model_is_downloaded_and_used(tmp_path: Path, tiny_file: Path) -> None:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    served = tmp_path / "served" / "owner" / "repo" / "resolve" / "main"
    served.mkdir(parents=True)
    (served / "tiny.gguf").write_bytes(tiny_file.read_bytes())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    search = {"provider": "local", "local": {"modelPath": "hf:owner/repo/tiny.gguf"}}
    env = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}"}
    config = {"agents": {"defaults": {"memorySearch": search}}}
    try:
        with Host.load(config, home=tmp_path / "home", env=env) as host:
            selection = host.select_embedder()
            assert selection.provider is not None, selection.reason
            assert len(selection.provider.embed_query("a text")) == 64
    finally:
        server.shutdown()
        server.server_close()


class TestOnce:
    def test_a_file_is_loaded_once_for_all_providers_and_threads(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tiny_bert(seed=11).write(tmp_path / "eleven.gguf")
        loads = []
        real = engine._load
        monkeypatch.setattr(engine, "_load", lambda file: loads.append(file) or real(file))
        threads = [threading.Thread(target=open_model(path).embed_query, args=("a text",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(loads) == 1

    def test_another_file_of_the_same_name_is_another_model(self, tmp_path: Path, tiny_file: Path) -> None:
        other = open_model(tiny_bert(seed=12).write(tmp_path / tiny_file.name))
        ours = open_model(tiny_file)
        assert other.model == ours.model
        assert other.key != ours.key, "same head, same size: only the weights tell them apart"
        assert cosines([other.embed_query("a text")], [ours.embed_query("a text")])[0] < 0.99


class TestFaults:
    def test_a_file_cut_in_its_weights(self, tmp_path: Path, tiny_file: Path) -> None:
        path = tmp_path / "cut.gguf"
        path.write_bytes(tiny_file.read_bytes()[:-2000])
        with pytest.raises(ProviderError, match="is truncated or damaged"):
            open_model(path).embed_query("a text")

    def test_a_head_that_llama_cpp_does_not_know(self, tmp_path: Path) -> None:
        writer = gguf.GGUFWriter(tmp_path / "odd.gguf", "no-such-architecture")
        writer.add_context_length(128)
        writer.add_embedding_length(64)
        writer.add_pooling_type(gguf.PoolingType.MEAN)
        writer.add_tensor("x", numpy.zeros((8, 8), dtype=numpy.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        with pytest.raises(ProviderError, match="unknown model architecture"):
            open_model(tmp_path / "odd.gguf").embed_query("a text")

    def test_a_model_without_pooling(self, tmp_path: Path) -> None:
        path = tiny_bert().write(tmp_path / "none.gguf", pooling=None)
        with pytest.raises(ProviderError, match="is not an embedding model"):
            open_model(path)

    def test_a_gpu_that_fails_gives_way_to_the_cpu(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import llama_cpp

        path = tiny_bert(seed=13).write(tmp_path / "thirteen.gguf")
        tried = []
        real = engine._make

        def make(library: Any, file: Any, gpu_layers: int) -> Any:
            tried.append(gpu_layers)
            if gpu_layers:
                raise ValueError("out of memory")
            return real(library, file, gpu_layers)

        monkeypatch.setattr(llama_cpp, "llama_supports_gpu_offload", lambda: True)
        monkeypatch.setattr(engine, "_make", make)
        assert len(open_model(path).embed_query("a text")) == 64
        assert tried == [-1, 0]


NOISE = """
import sys, threading
from pathlib import Path
from memslot import ProviderError
from memslot_embed_providers.local.gguf import read_model_file
from memslot_embed_providers.local.provider import LocalProvider

stop = threading.Event()

def talk():
    while not stop.is_set():
        print("spoken", flush=True)
        stop.wait(0.0002)

speaker = threading.Thread(target=talk)
speaker.start()
for path in sys.argv[1:]:
    try:
        LocalProvider(read_model_file(Path(path))).embed_documents(["a text"] * 100)
    except ProviderError:
        pass
stop.set()
speaker.join()
"""

WATCH = """
import os
real = os.dup2

def told(*arguments, **options):
    with open({trace!r}, "a") as file:
        file.write("x")
    return real(*arguments, **options)

os.dup2 = told
"""


def test_nothing_is_printed_and_what_others_print_is_not_lost(tmp_path: Path, tiny_file: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_file.read_bytes()[:-2000])
    trace = tmp_path / "descriptors.txt"
    watch = WATCH.format(trace=str(trace))
    done = subprocess.run(
        [sys.executable, "-c", watch + NOISE, str(tiny_file), str(cut)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()) == {"spoken"}
    assert not trace.exists(), "the process's own stdout was pointed elsewhere for a while"


@pytest.mark.parametrize(("usable", "threads"), [(1, 1), (2, 1), (8, 4), (64, 8)])
def test_threads_leave_room_for_others(usable: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(usable)), raising=False)
    assert engine._threads() == threads
