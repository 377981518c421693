"""What `local` says before llama.cpp is needed: about its file, its extra and its downloads."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import memslot_embed_providers.local.background_download as background
import pytest
from memslot import Host, ProviderError, extra_install_command
from memslot_embed_providers.local.gguf import read_model_file
from memslot_embed_providers.local.provider import LocalProvider

from .hub_server import Handler, Hub, running, serve, status

BERT = {
    "general.architecture": "bert",
    "bert.context_length": 512,
    "bert.embedding_length": 384,
    "bert.pooling_type": 1,
    "tokenizer.ggml.tokens": ["[CLS]", "[SEP]", "a"],
}


def gguf(values: dict[str, Any], *, version: int = 3, data: int = 256) -> bytes:
    """A file with a head and one tensor, as the format's description has it."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    body = b"GGUF" + struct.pack("<IQQ", version, 1, len(values))
    for key, value in values.items():
        body += text(key)
        if isinstance(value, str):
            body += struct.pack("<I", 8) + text(value)
        elif isinstance(value, list):
            body += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        else:
            body += struct.pack("<II", 4, value)
    body += text("token_embd.weight") + struct.pack("<IQQIQ", 2, 8, 8, 0, 0)
    return body + bytes(-len(body) % 32) + bytes(data)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf(BERT))
    return path


@pytest.fixture
def extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of the extra's name is installed; none of these tests gets as far as using it."""
    (tmp_path / "site" / "llama_cpp").mkdir(parents=True)
    (tmp_path / "site" / "llama_cpp" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "site")


def select(home: Path, *, provider: str = "local", env: dict[str, str] | None = None, **local: str) -> Any:
    search = {"provider": provider, "local": local}
    with Host.load({"agents": {"defaults": {"memorySearch": search}}}, home=home, env=env or {}) as host:
        return host.select_embedder()


class TestFile:
    def test_its_head_says_what_it_is(self, model: Path) -> None:
        file = read_model_file(model)
        assert (file.architecture, file.dims, file.context) == ("bert", 384, 512)

    def test_two_models_of_one_name_are_told_apart(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        other = tmp_path / "other" / model.name
        other.write_bytes(gguf({**BERT, "tokenizer.ggml.tokens": ["[CLS]", "[SEP]", "b"]}))
        assert read_model_file(model).fingerprint != read_model_file(other).fingerprint
        other.write_bytes(model.read_bytes()[:-256] + bytes(255) + b"x")
        assert read_model_file(model).fingerprint != read_model_file(other).fingerprint

    @pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04 a zip", b"<html>", bytes(5000)])
    def test_another_kind_of_file(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "model.gguf"
        path.write_bytes(content)
        with pytest.raises(ProviderError, match="is not a GGUF file"):
            read_model_file(path)

    def test_every_cut_in_the_head_is_found(self, model: Path) -> None:
        whole = model.read_bytes()
        for length in range(5, len(whole) - 256):
            model.write_bytes(whole[:length])
            with pytest.raises(ProviderError, match="is truncated or damaged"):
                read_model_file(model)

    def test_damage_never_raises_anything_else(self, model: Path) -> None:
        whole = model.read_bytes()
        refused = 0
        for at in range(4, 260, 3):
            model.write_bytes(whole[:at] + b"\xff\xff\xff" + whole[at + 3 :])
            try:
                read_model_file(model)
            except ProviderError:
                refused += 1
        assert refused, "no damage was noticed"

    @pytest.mark.parametrize("pooling", [None, 0, 4])
    def test_a_model_that_writes_or_ranks_is_refused(self, model: Path, pooling: int | None) -> None:
        values = {"general.architecture": "llama", "llama.context_length": 4096, "llama.embedding_length": 64}
        model.write_bytes(gguf(values if pooling is None else {**values, "llama.pooling_type": pooling}))
        with pytest.raises(ProviderError, match="is not an embedding model"):
            read_model_file(model)

    def test_another_version_is_refused(self, model: Path) -> None:
        model.write_bytes(gguf(BERT, version=9))
        with pytest.raises(ProviderError, match="version 9"):
            read_model_file(model)


class TestSentences:
    def test_no_model_is_named(self, tmp_path: Path) -> None:
        assert "embeddinggemma-300m-qat-Q8_0.gguf" in select(tmp_path).reason

    def test_the_file_is_not_there(self, tmp_path: Path) -> None:
        selection = select(tmp_path, modelPath=str(tmp_path / "gone.gguf"))
        assert selection.provider is None
        assert f'"{tmp_path / "gone.gguf"}" does not exist' in selection.reason

    def test_a_trick_in_the_name(self, tmp_path: Path) -> None:
        assert "is invalid" in select(tmp_path, modelPath="hf:owner/repo/../../x.gguf").reason

    def test_the_extra_is_not_installed(self, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "llama_cpp", None)
        selection = select(tmp_path, modelPath=str(model))
        assert selection.provider is None
        assert extra_install_command("local") in selection.reason

    @pytest.mark.usefixtures("extra")
    def test_the_file_is_looked_at_before_it_is_loaded(self, tmp_path: Path, model: Path) -> None:
        assert select(tmp_path, modelPath=str(model)).provider.dims == 384
        model.write_bytes(model.read_bytes()[:100])
        assert "is truncated or damaged" in select(tmp_path, modelPath=str(model)).reason

    @pytest.mark.usefixtures("extra")
    def test_other_dimensions_are_refused(self, tmp_path: Path, model: Path) -> None:
        search = {"provider": "local", "dimensions": 7, "local": {"modelPath": str(model)}}
        with Host.load({"agents": {"defaults": {"memorySearch": search}}}, home=tmp_path, env={}) as host:
            assert "has 384 dimensions" in host.select_embedder().reason

    def test_embedding_without_the_extra(self, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "llama_cpp", None)
        with pytest.raises(ProviderError, match=re.escape(extra_install_command("local"))):
            LocalProvider(read_model_file(model)).embed_query("a text")


@pytest.mark.usefixtures("extra")
class TestDownloads:
    """`auto` never starts one; naming the provider does."""

    URI = "hf:owner/repo/tiny.gguf"

    def test_auto_passes_over_a_model_that_is_not_here(self, tmp_path: Path) -> None:
        with running(Hub(gguf(BERT))) as hub:
            selection = select(tmp_path, provider="auto", env={"HF_ENDPOINT": hub.address}, modelPath=self.URI)
            assert hub.seen == []
        assert "is not downloaded yet" in dict(selection.passed_over)["local"]

    def test_named_it_is_downloaded_into_our_own_folder_and_then_auto_uses_it(self, tmp_path: Path) -> None:
        with running(Hub(gguf(BERT))) as hub:
            env = {"HF_ENDPOINT": hub.address}
            assert select(tmp_path, env=env, modelPath=self.URI).provider.model == "tiny.gguf"
            assert select(tmp_path, provider="auto", env=env, modelPath=self.URI).provider.id == "local"
            assert len(hub.gets()) == 1
        found = [path.relative_to(tmp_path) for path in tmp_path.rglob("tiny.gguf")]
        assert found == [Path("plugins/embed-local/models/owner/repo/tiny.gguf")]

    def test_into_the_folder_that_was_named(self, tmp_path: Path) -> None:
        with running(Hub(gguf(BERT))) as hub:
            env = {"HF_ENDPOINT": hub.address}
            select(tmp_path / "home", env=env, modelPath=self.URI, modelCacheDir=str(tmp_path / "mine"))
        assert (tmp_path / "mine/owner/repo/tiny.gguf").is_file()

    def test_a_long_download_goes_on_in_the_background(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(background, "_WAIT_SECONDS", 0.1)
        go_on = threading.Event()

        def wait(hub: Hub, handler: Handler) -> None:
            go_on.wait(30)
            serve(hub, handler)

        with running(Hub(gguf(BERT), script=[wait])) as hub:
            env = {"HF_ENDPOINT": hub.address}
            for _ in range(3):
                selection = select(tmp_path, env=env, modelPath=self.URI)
                assert selection.provider is None
                assert "is being downloaded" in selection.reason
            go_on.set()
            monkeypatch.setattr(background, "_WAIT_SECONDS", 30)
            while (selection := select(tmp_path, env=env, modelPath=self.URI)).provider is None:
                assert "is being downloaded" in selection.reason
            assert selection.provider.dims == 384
            assert len(hub.gets()) == 1

    def test_what_failed_is_tried_anew(self, tmp_path: Path) -> None:
        with running(Hub(gguf(BERT), heads=[status(404)])) as hub:
            env = {"HF_ENDPOINT": hub.address}
            assert "check owner, repository" in select(tmp_path, env=env, modelPath=self.URI).reason
            assert select(tmp_path, env=env, modelPath=self.URI).provider.dims == 384

    def test_what_fails_is_the_reason(self, tmp_path: Path) -> None:
        with running(Hub(b"<html>no</html>")) as hub:
            selection = select(tmp_path, env={"HF_ENDPOINT": hub.address}, modelPath=self.URI)
        assert selection.provider is None
        assert "did not send a GGUF file" in selection.reason


class TestCommand:
    def run(self, home: Path, *arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "MEMSLOT_HOME": str(home), **env}
        command = [sys.executable, "-m", "memslot", "local-model", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)

    def test_downloads_and_prints_the_place(self, tmp_path: Path) -> None:
        with running(Hub(gguf(BERT))) as hub:
            done = self.run(tmp_path, "hf:owner/repo/tiny.gguf", env={"HF_ENDPOINT": hub.address})
        assert done.returncode == 0, done.stderr
        assert Path(done.stdout.strip()) == tmp_path / "plugins/embed-local/models/owner/repo/tiny.gguf"
        assert "384 dimensions" in done.stderr

    def test_ends_with_a_sentence(self, tmp_path: Path) -> None:
        with running(Hub(b"", heads=[status(404)])) as hub:
            done = self.run(tmp_path, "hf:owner/repo/tiny.gguf", env={"HF_ENDPOINT": hub.address})
        assert done.returncode == 1
        assert "check owner, repository and file name" in done.stderr
        assert "Traceback" not in done.stderr
        assert "modelPath is not set" in self.run(tmp_path, env={}).stderr
