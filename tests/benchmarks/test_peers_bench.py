"""The parts of benchmarks/peers that need no peer: which files are taken, how they are cut, what the table says."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import tarfile
import urllib.request
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the benchmark by its name; other benchmarks have modules of the same names."""
    monkeypatch.syspath_prepend(str(PEERS / "scripts"))
    monkeypatch.syspath_prepend(str(PEERS))

    def load(name: str) -> Any:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


def sdist(folder: Path, files: dict[str, bytes]) -> Path:
    file = folder / "some_project-1.0.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"some_project-1.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file


def test_only_markdown_text_of_a_usual_size_is_taken(peers: Any, tmp_path: Path) -> None:
    usual = b"a line of text\n" * 30
    corpus = peers("markdown_files")
    files = {
        "docs/guide/start.md": usual,
        "docs/stub.md": b"# stub\n",
        "docs/huge.md": usual * 500,
        "docs/latin.md": usual + b"\xe9",
        "docs/page.rst": usual,
    }

    pages = list(corpus.pages_of(sdist(tmp_path, files)))

    assert [(page.project, page.name) for page in pages] == [("some_project", "docs-guide-start.md")]


def test_the_choice_of_files_is_the_same_each_time_and_without_duplicates(peers: Any) -> None:
    corpus = peers("markdown_files")
    pages = [corpus.Page("project", f"{number}.md", f"text {number // 2}".encode()) for number in range(40)]

    chosen = corpus.choose(pages, 10)

    assert chosen == corpus.choose(reversed(pages), 10)
    assert len({page.text for page in chosen}) == 10
    with pytest.raises(SystemExit, match="hold 20 files"):
        corpus.choose(pages, 21)


def test_questions_are_plain_headings(peers: Any) -> None:
    corpus = peers("markdown_files")
    headings = ("# The title of it", "## Run `it` on [your host](https://host)", "## Short", "### Version 2 is out")
    text = "\n".join([*headings, "## And one more here"]).encode()

    assert corpus.questions([corpus.Page("project", "a.md", text)], 2) == ["Run it on your host", "And one more here"]


def test_chunks_hold_every_line_and_share_some(peers: Any) -> None:
    store = peers("plain_store")
    lines = [f"line {number} of a long note" for number in range(400)]

    chunks = list(store.chunks_of("\n".join(lines)))

    assert all(len(chunk) <= store.CHUNK for chunk in chunks)
    assert all(any(line in chunk for chunk in chunks) for line in lines)
    assert all(one.splitlines()[-1] in other for one, other in pairwise(chunks))
    assert "".join(store.chunks_of("x" * 5000)).count("x") >= 5000


def test_a_sync_replaces_changed_files_alone(peers: Any, tmp_path: Path) -> None:
    store = peers("plain_store")
    (tmp_path / "a.md").write_text("first")
    (tmp_path / "b.md").write_text("second")
    seen: list[tuple[list[str], list[str]]] = []

    class Kept:
        def replace(self, files: dict[str, list[str]], known: dict[str, Any]) -> dict[str, Any]:
            seen.append(([Path(name).name for name in sorted(files)], [Path(name).name for name in known]))
            return {}

    manifest = tmp_path / "manifest.json"
    for change in (None, None, "changed"):
        if change:
            (tmp_path / "b.md").write_text(change)
        store.sync(Kept(), tmp_path, manifest)

    assert seen == [(["a.md", "b.md"], []), (["b.md"], ["b.md"])]


def test_a_table_shows_ratios_missed_goals_and_failures(peers: Any) -> None:
    report = peers("report")
    ours = report.Result("memslot", "memslot", "hybrid", "r", version="1", cpu={"first index": 2.0, "warm p50": 0.004})
    theirs = report.Result("lancedb", "LanceDB", "hybrid", "r", version="2", cpu={"first index": 1.0, "warm p50": 0.01})
    absent = report.Result("qmd", "qmd", "keywords", "r", failure="install failed: npm is not on this machine")

    text = report.markdown([ours, theirs, absent], "Measured somewhere.")

    assert "| LanceDB | hybrid | 1.0 s (0.50×) | - | - | - | 10 ms (2.50×) | - |" in text
    assert "| LanceDB | first index | 1.00 | 2.00 | missed |" in text
    assert "| LanceDB | warm p50 | 0.50 | 0.40 | met |" in text
    assert "| qmd | keywords | not measured: install failed: npm is not on this machine |" in text
    assert "| qmd | nothing changed | 1.00 | - | not measured |" in text


def test_the_section_of_the_page_is_replaced(peers: Any) -> None:
    report = peers("report")
    page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"

    assert report.replace_section(page, "new") == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"
    with pytest.raises(SystemExit, match="lacks"):
        report.replace_section("no marks", "new")
    assert report.BEGIN in (PEERS.parent / "README.md").read_text(encoding="utf-8")


def test_the_server_gives_the_same_vector_for_the_same_text(peers: Any) -> None:
    def ask(url: str, **asked: Any) -> Any:
        body = json.dumps({"model": "m", **asked}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{url}/embeddings", body)) as answer:
            return [row["embedding"] for row in json.load(answer)["data"]]

    with peers("embedding_server").ServerProcess() as server:
        one, other = ask(server.url, input=["a", "b"])
        assert ask(server.url, input="a") == [one] != [other]
        assert len(one) == 1536
        assert abs(sum(x * x for x in one) - 1) < 1e-4
        assert isinstance(ask(server.url, input="a", encoding_format="base64")[0], str)
        assert server.texts() == 4


def test_the_cost_of_a_command_covers_its_children(peers: Any, tmp_path: Path) -> None:
    cost = peers("cost")
    work = "sum(i * i for i in range(3_000_000))"
    inner = [sys.executable, "-c", work]

    outer, _ = cost.run([sys.executable, "-c", f"import subprocess; subprocess.run({inner!r})"], os.environ, tmp_path)
    empty, printed = cost.run([sys.executable, "-c", "print('done')"], os.environ, tmp_path)

    assert outer.cpu > 2 * empty.cpu
    assert printed == "done\n"
    with pytest.raises(cost.CommandFailed, match="no such thing"):
        cost.run([sys.executable, "-c", "raise SystemExit('no such thing')"], os.environ, tmp_path)
