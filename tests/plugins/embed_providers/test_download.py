"""Downloading a model from a server that drops, lies, redirects and fails."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
from memslot import ProviderBusyError, ProviderError
from memslot_embed_providers.local.download import download, usable_token
from memslot_embed_providers.local.model_source import HubFile, parse_model_path

from .hub_server import Handler, Hub, dropping_at, ignoring_range, redirecting_to, running, send, status

DATA = b"GGUF" + os.urandom(3_000_000)
TOKEN = "hf_conformance_0123456789"
LOGGER = logging.getLogger("test")
Fetch = Callable[..., Path]


@pytest.fixture(autouse=True)
def quick_and_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "DOWNLOAD_CHUNK_SIZE", 100_000)
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running(Hub(DATA)) as hub:
        yield hub


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def fetch(hub: Hub, folder: Path) -> Fetch:
    def fetch(uri: str = "hf:owner/repo/sub/model.gguf", **options: Any) -> Path:
        source = parse_model_path(uri)
        assert isinstance(source, HubFile)
        env = {"HF_ENDPOINT": hub.address, **options.pop("env", {})}
        return download(source, folder, env=env, logger=LOGGER, **options)

    return fetch


def parts(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.rglob("*.part")]


def test_a_file_arrives_whole_private_and_is_not_asked_for_again(hub: Hub, fetch: Fetch, folder: Path) -> None:
    path = fetch()
    assert path == folder / "owner/repo/sub/model.gguf"
    assert path.read_bytes() == DATA
    assert fetch() == path
    assert [(each.method, each.path) for each in hub.seen] == [
        ("HEAD", "/owner/repo/resolve/main/sub/model.gguf"),
        ("GET", "/owner/repo/resolve/main/sub/model.gguf"),
    ]
    assert {each.name for each in path.parent.iterdir()} <= {path.name, f"{path.name}.sha256", f"{path.name}.lock"}
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.parent.stat().st_mode & 0o077 == 0


def test_the_server_learns_nothing_about_this_machine(hub: Hub, fetch: Fetch) -> None:
    fetch()
    assert {each.headers["user-agent"] for each in hub.seen} == {"memslot"}
    assert not any("authorization" in each.headers for each in hub.seen)


def test_a_revision_has_its_own_place(hub: Hub, fetch: Fetch) -> None:
    assert fetch("hf:owner/repo@v1.2/model.gguf").parent.name == "repo@v1.2"
    assert hub.seen[0].path == "/owner/repo/resolve/v1.2/model.gguf"


def test_offline_is_a_sentence_and_no_request(hub: Hub, fetch: Fetch) -> None:
    with pytest.raises(ProviderError, match="HF_HUB_OFFLINE is set"):
        fetch(env={"HF_HUB_OFFLINE": "1"})
    assert hub.seen == []
    path = fetch()
    assert fetch(env={"HF_HUB_OFFLINE": "1"}) == path


class TestBreaks:
    def test_a_dropped_connection_is_resumed_where_it_broke(self, hub: Hub, fetch: Fetch) -> None:
        hub.script = [dropping_at(1_000_000), dropping_at(2_000_000)]
        assert fetch().read_bytes() == DATA
        assert hub.ranges() == [None, "bytes=1000000-", "bytes=2000000-"]

    def test_a_killed_process_is_resumed(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        def stop(hub: Hub, handler: Handler) -> None:
            send(hub, handler, stop=1_500_000)
            while sum(parts(folder)) < 1_000_000:
                threading.Event().wait(0.01)
            process.kill()

        hub.script = [stop]
        process = start_download(hub, folder)
        process.wait(60)
        [kept] = parts(folder)
        assert fetch().read_bytes() == DATA
        assert hub.ranges()[-1] == f"bytes={kept}-"

    def test_a_process_killed_before_the_rename_asks_for_no_byte_again(
        self, hub: Hub, fetch: Fetch, folder: Path
    ) -> None:
        hub.script = [dropping_at(1_000_000)] * 100
        with pytest.raises(ProviderBusyError):
            fetch()
        hub.script = []
        [part] = folder.rglob("*.part")
        part.write_bytes(DATA)
        asked = len(hub.gets())
        assert fetch().read_bytes() == DATA
        assert len(hub.gets()) == asked

    def test_a_server_that_ignores_ranges_starts_over(self, hub: Hub, fetch: Fetch) -> None:
        hub.script = [dropping_at(1_000_000), ignoring_range]
        assert fetch().read_bytes() == DATA
        assert len(hub.gets()) == 2

    def test_a_server_that_never_sends_more_is_given_up(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        hub.script = [dropping_at(1_000_000)] * 100
        with pytest.raises(ProviderBusyError, match=r"could not be downloaded.*1\.0 MB are kept"):
            fetch()
        assert parts(folder) == [1_000_000]
        assert len(hub.gets()) < 20

    def test_a_dead_server_is_a_sentence(self, fetch: Fetch) -> None:
        with pytest.raises(ProviderBusyError, match="could not be downloaded from 127"):
            fetch(env={"HF_ENDPOINT": "http://127.0.0.1:9"})

    def test_a_server_in_trouble_is_named_with_its_answer(self, hub: Hub, fetch: Fetch) -> None:
        for answers in (hub.heads, hub.script):
            answers.append(status(503))
            with pytest.raises(ProviderBusyError, match="answered 503; try again later"):
                fetch()
        assert fetch().read_bytes() == DATA

    def test_a_file_that_changed_meanwhile_is_never_mixed(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        hub.script = [dropping_at(1_000_000)] * 100
        with pytest.raises(ProviderBusyError):
            fetch()
        hub.script = []
        hub.data = b"GGUF" + os.urandom(len(DATA) - 4)
        assert fetch().read_bytes() == hub.data
        assert hub.ranges()[-1] is None
        assert parts(folder) == []

    def test_without_a_tag_nothing_is_resumed(self, hub: Hub, fetch: Fetch) -> None:
        hub.linked = False
        hub.script = [dropping_at(1_000_000)] * 100
        with pytest.raises(ProviderBusyError):
            fetch()
        hub.script = []
        assert fetch().read_bytes() == DATA
        assert hub.ranges()[-1] is None

    def test_more_than_the_file_has_starts_over(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        hub.script = [dropping_at(1_000_000)] * 100
        with pytest.raises(ProviderBusyError):
            fetch()
        hub.script = []
        [part] = folder.rglob("*.part")
        part.write_bytes(DATA + b"more")
        assert fetch().read_bytes() == DATA


class TestLies:
    def test_two_lengths_are_refused(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        hub.heads = [lambda hub, handler: send(hub, handler, X_Linked_Size="17")]
        with pytest.raises(ProviderError, match="could not be downloaded"):
            fetch()
        assert not (folder / "owner/repo/sub/model.gguf").exists()
        assert fetch().read_bytes() == DATA

    def test_a_promise_of_more_than_there_is_ends_with_an_error(self, hub: Hub, fetch: Fetch) -> None:
        def lie(hub: Hub, handler: Handler) -> None:
            handler.start(200, Content_Length=str(len(hub.data) * 2))
            handler.write(hub.data)
            handler.drop()

        hub.heads, hub.script = [lie], [lie] * 100
        with pytest.raises(ProviderBusyError, match="could not be downloaded"):
            fetch()

    def test_wrong_bytes_are_not_kept(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        wrong = hashlib.sha256(b"something else").hexdigest()
        hub.heads = [lambda hub, handler: send(hub, handler, X_Linked_Etag=f'"{wrong}"')]
        hub.linked = False
        with pytest.raises(ProviderError, match="arrived damaged"):
            fetch()
        assert parts(folder) == []
        assert not (folder / "owner/repo/sub/model.gguf").exists()
        assert fetch().read_bytes() == DATA

    def test_the_digest_in_the_address_decides(self, hub: Hub, fetch: Fetch) -> None:
        with pytest.raises(ProviderError, match="arrived damaged"):
            fetch(f"hf:owner/repo/model.gguf#sha256={'0' * 64}")
        assert fetch(f"hf:owner/repo/model.gguf#sha256={hub.sha256.upper()}").is_file()

    def test_a_file_that_is_here_already_is_checked_against_the_digest(self, hub: Hub, fetch: Fetch) -> None:
        path = fetch()
        assert fetch(f"hf:owner/repo/sub/model.gguf#sha256={hub.sha256}") == path
        path.with_name(f"{path.name}.sha256").unlink()
        assert fetch(f"hf:owner/repo/sub/model.gguf#sha256={hub.sha256}") == path
        with pytest.raises(ProviderError, match="delete it to download it again"):
            fetch(f"hf:owner/repo/sub/model.gguf#sha256={'0' * 64}")

    def test_a_web_page_is_no_model(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        page = status(200, b"<!doctype html><p>Please log in to this network", "text/html")
        hub.heads, hub.script = [page], [page]
        with pytest.raises(ProviderError, match="did not send a GGUF"):
            fetch()
        assert parts(folder) == []

    def test_a_web_page_in_between_does_not_cost_what_is_here(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        hub.script = [dropping_at(1_000_000)] * 100
        with pytest.raises(ProviderBusyError):
            fetch()
        page = status(200, b"<html>", "text/html")
        hub.heads, hub.script = [page], [page]
        with pytest.raises(ProviderError, match="did not send a GGUF"):
            fetch()
        assert parts(folder) == [1_000_000]


@pytest.mark.parametrize(
    ("code", "said"), [(404, "check owner, repository"), (401, "set HF_TOKEN"), (403, "set HF_TOKEN"), (418, "418")]
)
def test_a_refusal_is_one_sentence_and_one_request(hub: Hub, fetch: Fetch, code: int, said: str) -> None:
    hub.heads = [status(code)]
    with pytest.raises(ProviderError, match=said) as caught:
        fetch(env={"HF_TOKEN": TOKEN})
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(hub.seen) == 1


class TestRedirects:
    def test_the_token_does_not_leave_its_host(self, hub: Hub, fetch: Fetch) -> None:
        with running(Hub(DATA, linked=False)) as other:
            hub.heads = [redirecting_to(lambda path: f"{other.address}/signed?key=1")]
            other.script = [dropping_at(1_000_000)]
            assert fetch(env={"HF_TOKEN": TOKEN}).read_bytes() == DATA
        assert [each.headers.get("authorization") for each in hub.seen] == [f"Bearer {TOKEN}"]
        assert [each.headers.get("authorization") for each in other.seen] == [None, None]
        assert other.ranges() == [None, "bytes=1000000-"]

    def test_the_token_goes_along_on_its_own_host(self, hub: Hub, fetch: Fetch) -> None:
        hub.heads = [redirecting_to(lambda path: "/renamed/repo/resolve/main/model.gguf")]
        fetch(env={"HF_TOKEN": TOKEN})
        assert [each.headers.get("authorization") for each in hub.seen] == [f"Bearer {TOKEN}"] * 3

    def test_the_token_does_not_come_back_from_another_host(self, hub: Hub, fetch: Fetch) -> None:
        """A host that redirects back could otherwise choose the path that the token is used for."""
        with running(Hub(DATA)) as other:
            hub.heads = [redirecting_to(lambda path: other.address)]
            other.script = [redirecting_to(lambda path: f"{hub.address}/elsewhere")]
            fetch(env={"HF_TOKEN": TOKEN})
        assert [each.headers.get("authorization") for each in hub.seen] == [f"Bearer {TOKEN}", None]

    def test_a_signed_address_is_neither_logged_nor_shown(
        self, hub: Hub, fetch: Fetch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with running(Hub(DATA, linked=False, script=[dropping_at(1_000_000)] * 100)) as other:
            hub.heads = [redirecting_to(lambda path: f"{other.address}/signed?key=s3cret")]
            with caplog.at_level(logging.DEBUG), pytest.raises(ProviderError) as caught:
                fetch()
        assert "s3cret" not in f"{caught.value} {caplog.text} {capfd.readouterr()}"

    def test_the_digest_of_the_first_host_binds_the_second(self, hub: Hub, fetch: Fetch) -> None:
        with running(Hub(b"GGUF" + bytes(3_000_000), linked=False)) as other:
            hub.heads = [redirecting_to(lambda path: other.address)]
            with pytest.raises(ProviderError, match="arrived damaged"):
                fetch()

    @pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/model.gguf"])
    def test_only_the_web_is_followed(self, hub: Hub, fetch: Fetch, address: str) -> None:
        hub.heads = [redirecting_to(lambda path: address)]
        with pytest.raises(ProviderError):
            fetch()

    def test_a_circle_ends(self, hub: Hub, fetch: Fetch) -> None:
        hub.heads = [redirecting_to(lambda path: path)] * 100
        with pytest.raises(ProviderError, match="redirects"):
            fetch()


class TestToken:
    def test_is_not_sent_in_the_open_to_another_machine(self) -> None:
        assert usable_token("http://models.example.org", {"HF_TOKEN": TOKEN}) is None
        assert usable_token("https://models.example.org", {"HF_TOKEN": f" {TOKEN}\n"}) == TOKEN

    def test_a_broken_one_is_not_shown(self, fetch: Fetch) -> None:
        with pytest.raises(ProviderError, match="HF_TOKEN contains invalid") as caught:
            fetch(env={"HF_TOKEN": f"{TOKEN}\r\nX: y"})
        assert TOKEN not in str(caught.value)

    @pytest.mark.parametrize(
        "address", ["ftp://x", "nonsense", "https://", "https://me:secret@models.example.org", "http://x:port"]
    )
    def test_an_address_that_cannot_be_used_is_a_sentence(self, fetch: Fetch, address: str) -> None:
        with pytest.raises(ProviderError, match="HF_ENDPOINT must be") as caught:
            fetch(env={"HF_ENDPOINT": address})
        assert "secret" not in str(caught.value)


class TestDisk:
    def test_a_full_disk_keeps_what_is_here(self, hub: Hub, fetch: Fetch, folder: Path) -> None:
        def fill(done: int, total: int | None) -> None:
            if done > 1_000_000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with pytest.raises(ProviderError, match=r"is full; free some space .* is kept and resumed"):
            fetch(progress=fill)
        [kept] = parts(folder)
        assert kept >= 1_000_000
        assert fetch().read_bytes() == DATA
        assert hub.ranges() == [None, f"bytes={kept}-"]

    def test_too_little_room_is_said_before_anything_is_written(
        self, fetch: Fetch, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = namedtuple("usage", "total used free")
        monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10, 10, 10))
        with pytest.raises(ProviderError, match="is full"):
            fetch()
        assert parts(folder) == []

    def test_a_folder_that_cannot_be_written_is_a_sentence(self, fetch: Fetch, folder: Path) -> None:
        folder.write_text("a file")
        with pytest.raises(ProviderError, match="cannot be stored in"):
            fetch()

    def test_progress_ends_at_the_whole(self, fetch: Fetch) -> None:
        told: list[tuple[int, int | None]] = []
        fetch(progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (len(DATA), len(DATA))


def start_download(hub: Hub, folder: Path) -> subprocess.Popen[str]:
    code = (
        "import logging, pathlib, sys\n"
        "import huggingface_hub.constants\n"
        "huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE = 100_000\n"
        "from memslot_embed_providers.local.download import download\n"
        "from memslot_embed_providers.local.model_source import parse_model_path\n"
        "env = {'HF_ENDPOINT': sys.argv[1]}\n"
        "source = parse_model_path('hf:owner/repo/sub/model.gguf')\n"
        "path = download(source, pathlib.Path(sys.argv[2]), env=env, logger=logging.getLogger())\n"
        "print(path.stat().st_size)\n"
    )
    return subprocess.Popen([sys.executable, "-c", code, hub.address, str(folder)], stdout=subprocess.PIPE, text=True)


def test_two_processes_download_once(hub: Hub, folder: Path) -> None:
    hub.script = [lambda hub, handler: send(hub, handler, stop=1_000_000)]
    started = [start_download(hub, folder) for _ in range(3)]
    assert [process.communicate(timeout=60)[0].strip() for process in started] == [str(len(DATA))] * 3
    assert hub.ranges() == [None, "bytes=1000000-"]


def test_no_download_no_huggingface_hub(hub: Hub, fetch: Fetch, folder: Path) -> None:
    fetch()
    code = (
        "import logging, pathlib, sys\n"
        "from memslot_embed_providers.local.background_download import download_in_background\n"
        "from memslot_embed_providers.local.model_source import parse_model_path\n"
        "source = parse_model_path('hf:owner/repo/sub/model.gguf')\n"
        "download_in_background(source, pathlib.Path(sys.argv[1]), env={}, logger=logging.getLogger())\n"
        "print('huggingface_hub' in sys.modules, 'httpx2' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    "uri",
    [
        "hf:",
        "hf:owner/model.gguf",
        "hf:owner/repo/",
        "hf:owner/repo/model.bin",
        "hf:../repo/model.gguf",
        "hf:owner/../model.gguf",
        "hf:owner/repo/../../model.gguf",
        "hf:owner/repo/..\\..\\model.gguf",
        "hf:owner/repo//model.gguf",
        "hf:owner/repo/.hidden/model.gguf",
        "hf:owner/repo/.gguf",
        "hf:/etc/repo/model.gguf",
        "hf:owner/repo@../model.gguf",
        "hf:owner/repo@/model.gguf",
        "hf:owner/repo/C:model.gguf",
        "hf:owner/repo/mo\x00del.gguf",
        "hf:owner/repo/%2e%2e/model.gguf",
        "hf:owner/repo/model.gguf?download=1",
        "hf:owner/repo/model.gguf#sha256=abc",
        "hf:owner/repo/model.gguf#md5=00",
        "hf:owner/repo/mödel.gguf",
    ],
)
def test_names_that_play_tricks_are_refused(uri: str) -> None:
    with pytest.raises(ProviderError, match=re.escape("local.modelPath")):
        parse_model_path(uri)


def test_other_names_are_paths() -> None:
    assert parse_model_path("~/models/a.gguf") == Path.home() / "models" / "a.gguf"
    assert parse_model_path("hfmodel.gguf") == Path.cwd() / "hfmodel.gguf"
