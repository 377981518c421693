"""A sync that is told where something has changed ends in the index that a first one would build."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from memslot.testing.providers import HashingProvider
from memslot_memory_core.index.report import SyncReport
from memslot_memory_core.manager import MemoryManager

from .edits import KINDS, LINKS, PLAIN, Edits, content

SETTINGS: dict[str, Any] = {
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
    "extraPaths": ["extra", {"path": "docs", "pattern": "**/[!B]*.md"}, "single.md"],
}


class Notes:
    """A memory whose folders are edited at random."""

    def __init__(self, manager: MemoryManager, seed: int) -> None:
        self.manager = manager
        location = manager.location
        self.edits = Edits(location.workspace, location.sessions_dir, location.workspace.parent / "elsewhere", seed)

    def sync(self, paths: Collection[Path | str]) -> SyncReport:
        return self.manager.sync(near=[str(path) for path in paths])

    def is_like_fresh(self) -> bool:
        return self.content() == self.fresh_content()

    def content(self) -> list[Any]:
        return content(self.manager.location.index_file)

    def fresh_content(self) -> list[Any]:
        location = self.manager.location
        index = location.index_file.with_name("fresh.sqlite")
        for each in index.parent.glob("fresh.sqlite*"):
            each.unlink()
        make_pipeline = self.manager._embedder._make
        fresh = MemoryManager(dataclasses.replace(location, index_file=index), self.manager.settings, make_pipeline)
        fresh.sync()
        fresh.close()
        return content(index)


@pytest.fixture
def make_notes(make_manager: Any) -> Any:
    def make(seed: int = 0, **settings: Any) -> Notes:
        notes = Notes(make_manager(HashingProvider(), **{**SETTINGS, **settings}), seed)
        (notes.manager.workspace / "single.md").write_text("A file of its own.\n")
        notes.manager.sync()
        return notes

    return make


@pytest.mark.parametrize("seed", range(6))
def test_any_edits_that_are_named_end_in_the_index_of_a_first_sync(make_notes: Any, seed: int) -> None:
    notes = make_notes(seed)
    looks = 0
    for _ in range(30):
        paths = [path for _ in range(1 + seed % 3) for path in notes.edits.make(PLAIN + KINDS)]
        report = notes.sync(paths)
        # An extra path that comes or goes may bring or take whatever lies below it.
        looks += report.scan is not None and notes.manager.workspace / "single.md" not in paths
        assert notes.is_like_fresh()
    assert looks == 0, "nothing here needed a look at everything"
    assert notes.manager.sync().changed is False
    problems = notes.manager.status(deep=True).problems
    assert [problem for problem in problems if "'single.md'" not in problem] == []


@pytest.mark.parametrize("seed", range(3))
def test_links_do_not_make_it_otherwise(make_notes: Any, seed: int) -> None:
    notes = make_notes(100 + seed)
    for _ in range(25):
        notes.sync(notes.edits.make(PLAIN + KINDS + LINKS + LINKS))
        assert notes.is_like_fresh()


def test_paths_that_are_none_of_ours_change_nothing(
    make_notes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere" / "deep")  # a folder above the workspace would be looked through
    notes = make_notes()
    workspace = notes.manager.workspace
    (workspace / "memory" / "a.md").write_text("The lighthouse is red.\n")
    (tmp_path / "outside.md").write_text("The windmill is nobody's business.\n")
    (workspace / "memory" / "way").symlink_to(tmp_path, target_is_directory=True)
    notes.manager.sync()
    strange = [
        str(tmp_path / "outside.md"),
        f"{workspace}/memory/../../outside.md",
        f"{workspace}/memory/way/outside.md",
        f"{workspace}/memory/a.md/below.md",
        f"{workspace}/memory/A.MD",
        f"{workspace}/memory/gone.md",
        f"{workspace}/memory/\udcff.md",
        f"{workspace}/memory/new\nline.md",
        f"{workspace}/memory/nul\0.md",
        f"{workspace}x/memory/a.md",
        "memory/a.md",
        "",
        "..",
    ]
    for paths in ([path] for path in strange):
        report = notes.sync(paths)
        assert (report.indexed, report.removed, report.scan) == (0, 0, None), paths
    for paths in ([*strange], ["/"], [f"{workspace}/{'n' * 5000}.md"], [str(workspace)]):
        assert not notes.sync(paths).changed
    assert notes.is_like_fresh()


def test_a_name_that_is_no_text_is_reported_and_left_out(make_notes: Any) -> None:
    notes = make_notes()
    name = os.fsdecode(os.fsencode(notes.manager.workspace / "memory") + b"/caf\xe9.md")
    Path(name).write_text("A name of Latin-1.\n")
    report = notes.sync([name])
    assert not report.changed
    assert any("skipped" in problem for problem in report.problems)
    (notes.manager.workspace / "memory" / "b.md").write_text("The harbour is deep.\n")
    report = notes.sync([notes.manager.workspace / "memory" / "b.md"])
    assert (report.indexed, report.scan) == (1, None)
    assert any("skipped" in problem for problem in notes.manager.status().problems), "it stands until it is looked for"
    Path(name).unlink()
    notes.manager.sync()
    assert notes.manager.status().is_healthy


def test_an_extra_path_that_comes_or_goes_is_found(make_notes: Any) -> None:
    notes = make_notes()
    single = notes.manager.workspace / "single.md"
    single.unlink()
    notes.sync([single])
    assert notes.is_like_fresh()
    single.write_text("It is back.\n")
    notes.sync([single])
    assert notes.is_like_fresh()
    (notes.manager.workspace / "extra").rename(notes.manager.workspace / "other")
    notes.sync([notes.manager.workspace / "extra", notes.manager.workspace / "other"])
    assert notes.is_like_fresh()


def test_an_index_that_is_not_complete_is_looked_for_as_a_whole(make_notes: Any) -> None:
    notes = make_notes()
    memory = notes.manager.workspace / "memory"
    for name in ("a.md", "b.md"):
        (memory / name).write_text(f"The lighthouse {name} is red.\n")
    notes.manager.location.index_file.unlink()
    assert notes.sync([memory / "a.md"]).scan is not None
    assert notes.is_like_fresh()
    steps: list[Any] = []
    for number in range(2500):
        (memory / f"{number}.md").write_text(f"Note {number}.\n")
    assert not notes.manager.sync(progress=steps.append, cancelled=lambda: bool(steps)).complete
    assert notes.sync([memory / "a.md"]).scan is not None
    assert notes.is_like_fresh()


def test_chunks_that_wait_for_a_vector_get_it_although_others_have_changed(make_notes: Any, make_manager: Any) -> None:
    notes = make_notes()
    memory = notes.manager.workspace / "memory"
    (memory / "a.md").write_text("The lighthouse is red.\n")
    make_manager(None, **SETTINGS).sync(near=[str(memory / "a.md")])
    (memory / "b.md").write_text("The harbour is deep.\n")
    report = notes.sync([memory / "b.md"])
    assert (report.embedded, report.scan) == (2, None)


def test_more_paths_than_a_walk_is_worth_mean_a_walk(make_notes: Any) -> None:
    notes = make_notes()
    memory = notes.manager.workspace / "memory"
    for number in range(400):
        (memory / f"{number}.md").write_text(f"Note {number}.\n")
    report = notes.sync([memory / f"{number}.md" for number in range(400)])
    assert report.indexed == 400
    assert report.scan is not None


@pytest.mark.parametrize("seed", range(2))
def test_what_the_watcher_tells_is_enough(make_notes: Any, seed: int) -> None:
    watched = {"watch": True, "watchDebounceMs": 60, "onSearch": False}
    notes = make_notes(200 + seed, sync=watched, extraPaths=SETTINGS["extraPaths"][:2])
    manager = notes.manager
    looked = manager._freshness._background.last
    manager.start_watching()
    assert until(lambda: manager._freshness._watcher is not None and manager._freshness._watcher.is_sure)
    assert until(
        lambda: manager._freshness._background.last is not looked and manager._freshness._background.wait(0)
    ), "it looks when it begins"
    reports: list[SyncReport] = []
    record_success = manager._freshness._background.record_success
    manager._freshness._background.record_success = lambda report: (reports.append(report), record_success(report))
    for _ in range(12):
        notes.edits.make(PLAIN + KINDS)
        wanted = notes.fresh_content()
        assert until(lambda wanted=wanted: notes.content() == wanted)
    assert reports
    assert all(report.scan is None for report in reports), "no look at everything was needed"


def until(is_so: Any, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(is_so())
