"""The index follows the disk, embeds each text once, and loses nothing to an outage."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from memslot import BatchState, ProviderBusyError
from memslot.embeddings.circuit import circuits
from memslot.testing.providers import HashingProvider
from memslot_memory_core.index.connection import IndexBusyError, writer_lock
from memslot_memory_core.index.report import SyncProgress
from memslot_memory_core.manager import MemoryManager

from tests.plugins.memory_core.conftest import own_texts


class CountingProvider(HashingProvider):
    """Says how many texts it was given, and can be told to fail."""

    id = "counting"

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.fails = False

    def embed_documents(self, texts: Any) -> Any:
        if self.fails:
            raise ProviderBusyError("the provider is down for repairs")
        self.texts += own_texts(texts)
        return super().embed_documents(texts)


def write(manager: MemoryManager, name: str, text: str) -> Path:
    file = manager.workspace / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def found(manager: MemoryManager, query: str) -> list[str]:
    return [hit.path for hit in manager.search(query, fresh_seconds=None).hits]


def test_new_changed_and_removed_files_are_noticed(make_manager: Any) -> None:
    manager = make_manager()
    first = write(manager, "memory/a.md", "The lighthouse is red.\n")
    write(manager, "MEMORY.md", "The harbour is deep.\n")
    assert manager.sync().indexed == 2
    assert found(manager, "lighthouse") == ["memory/a.md"]

    first.write_text("The windmill is white.\n")
    assert manager.sync().indexed == 1
    assert found(manager, "windmill") == ["memory/a.md"]
    assert found(manager, "lighthouse") == []

    first.unlink()
    report = manager.sync()
    assert (report.indexed, report.removed, report.unchanged) == (0, 1, 1)
    assert found(manager, "windmill") == []


def test_a_sync_without_changes_reads_and_writes_nothing(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    time.sleep(0.06)  # a file that has just been written is looked at once more
    manager.sync()
    changes = manager.status().details["generation"], manager.status().counts
    report = manager.sync()
    assert (report.indexed, report.unchanged, report.embedded, report.changed) == (0, 1, 0, False)
    assert (manager.status().details["generation"], manager.status().counts) == changes


def test_a_touched_file_is_not_indexed_again(make_manager: Any) -> None:
    manager = make_manager(provider := CountingProvider())
    file = write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    os.utime(file, (1, 1))
    assert manager.sync().indexed == 0
    assert len(provider.texts) == 1


def test_a_change_of_the_same_size_and_time_is_noticed(make_manager: Any) -> None:
    manager = make_manager()
    file = write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    status = file.stat()
    file.write_text("The lighthouse is sad.\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    manager.sync()
    assert found(manager, "sad lighthouse")
    assert "sad" in manager.search("lighthouse").hits[0].snippet


@pytest.mark.parametrize("style", ["rename over", "truncate and write", "remove and write", "append"])
def test_every_way_of_saving_ends_in_one_right_index(make_manager: Any, style: str) -> None:
    manager = make_manager()
    file = write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    if style == "rename over":
        temporary = file.with_suffix(".tmp")
        temporary.write_text("The windmill is white.\n")
        temporary.replace(file)
    elif style == "truncate and write":
        with file.open("w") as out:
            out.write("The windmill")
            out.flush()
            manager.sync()
            out.write(" is white.\n")
    elif style == "remove and write":
        file.unlink()
        manager.sync()
        file.write_text("The windmill is white.\n")
    else:
        with file.open("a") as out:
            out.write("The windmill is white.\n")
    manager.sync()
    hits = manager.search("windmill white").hits
    assert [hit.path for hit in hits] == ["memory/a.md"]
    assert "windmill is white" in hits[0].snippet
    assert manager.status().is_healthy


def test_only_changed_chunks_are_embedded(make_manager: Any) -> None:
    manager = make_manager(provider := CountingProvider(), chunking={"tokens": 20, "overlap": 0})
    lines = [
        f"Paragraph number {number} speaks of thing {number * 7}, and of nothing else at all." for number in range(50)
    ]
    file = write(manager, "memory/a.md", "\n".join(lines))
    manager.sync()
    assert len(provider.texts) == 50
    lines[25] = "Here stands something new, and it is about as long as the others are."
    file.write_text("\n".join(lines))
    assert manager.sync().embedded == 1
    assert provider.texts[50:] == [lines[25]]


def test_lines_that_move_keep_their_rows_and_get_new_numbers(make_manager: Any) -> None:
    manager = make_manager(CountingProvider(), chunking={"tokens": 20, "overlap": 0})
    lines = [
        f"Paragraph number {number} speaks of thing {number * 7}, and of nothing else at all." for number in range(20)
    ]
    file = write(manager, "memory/a.md", "\n".join(lines))
    manager.sync()
    file.write_text("\n".join(["A new first line that takes the place of the old one, as lines do.", *lines]))
    assert manager.sync().embedded == 1
    best = manager.search("paragraph number 7 thing 49").hits[0]
    assert (best.start_line, best.end_line) == (9, 9)


def test_the_same_text_is_embedded_once_however_often_it_is_there(make_manager: Any) -> None:
    manager = make_manager(provider := CountingProvider())
    for name in "abcdefgh":
        write(manager, f"memory/{name}.md", "The lighthouse is red.\n")
    manager.sync()
    assert len(provider.texts) == 1
    assert manager.status().counts["vectors"] == 8


def test_texts_of_many_files_go_to_the_provider_together(make_manager: Any) -> None:
    batches: list[int] = []

    class Batches(HashingProvider):
        def embed_documents(self, texts: Any) -> Any:
            if own := own_texts(texts):
                batches.append(len(own))
            return super().embed_documents(texts)

    manager = make_manager(Batches())
    for number in range(300):
        write(manager, f"memory/{number}.md", f"Note number {number}.\n")
    manager.sync()
    assert sum(batches) == 300
    assert len(batches) <= 6


def test_an_outage_leaves_vectors_alone_and_is_made_up_for(make_manager: Any) -> None:
    manager = make_manager(provider := CountingProvider())
    file = write(manager, "memory/a.md", "The lighthouse is red.\n")
    write(manager, "memory/b.md", "The harbour is deep.\n")
    manager.sync()
    provider.fails = True
    file.write_text("The windmill is white.\n")
    report = manager.sync()
    assert any("down for repairs" in problem for problem in report.problems)
    counts = manager.status().counts
    assert (counts["chunks"], counts["words"], counts["vectors"]) == (2, 2, 1)
    assert not manager.status().is_healthy
    assert found(manager, "windmill") == ["memory/a.md"]

    provider.fails = False
    assert manager.sync().embedded == 1
    counts = manager.status().counts
    assert (counts["chunks"], counts["words"], counts["vectors"]) == (2, 2, 2)


def test_a_sync_that_is_stopped_goes_on_where_it_was(make_manager: Any) -> None:
    manager = make_manager(provider := CountingProvider())
    for number in range(3000):
        write(manager, f"memory/{number}.md", f"Note number {number}.\n")
    steps: list[SyncProgress] = []
    report = manager.sync(progress=steps.append, cancelled=lambda: bool(steps))
    assert not report.complete
    assert 0 < report.indexed < 3000
    before = len(provider.texts)
    report = manager.sync()
    assert report.complete
    assert report.indexed == 3000 - before
    assert len(provider.texts) == 3000
    assert manager.status().counts["chunks"] == 3000


def test_a_workspace_that_cannot_be_read_is_not_taken_for_an_empty_one(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    hidden = manager.workspace.rename(manager.workspace.with_name("elsewhere"))
    report = manager.sync()
    assert report.removed == 0
    assert any("workspace" in problem for problem in report.problems)
    hidden.rename(manager.workspace)
    assert found(manager, "lighthouse") == ["memory/a.md"]


def test_a_second_writer_is_told_to_wait(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "memory/a.md", "The lighthouse is red.\n")
    with writer_lock(manager.location.index_file, wait_seconds=0), pytest.raises(IndexBusyError):
        manager.sync(wait_seconds=0.1)
    assert manager.sync().indexed == 1


def test_searches_are_answered_while_a_sync_writes(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "memory/first.md", "The lighthouse is red.\n")
    manager.sync()
    for number in range(1500):
        write(manager, f"memory/{number}.md", f"Note number {number} about many things.\n" * 5)
    syncing = threading.Thread(target=manager.sync)
    syncing.start()
    answers = 0
    while syncing.is_alive():
        assert found(manager, "lighthouse") == ["memory/first.md"]
        answers += 1
    syncing.join()
    assert answers >= 3


def message(text: str, role: str = "user") -> str:
    return json.dumps({"type": "message", "message": {"role": role, "content": text}}) + "\n"


def sessions_manager(make_manager: Any, provider: Any = None, **limits: int) -> MemoryManager:
    settings = {
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": True},
        "sync": {"watch": False, "onSearch": False, "sessions": limits},
    }
    manager: MemoryManager = make_manager(provider, **settings)
    manager.location.sessions_dir.mkdir(parents=True, exist_ok=True)
    return manager


def test_transcripts_are_found_and_cited_by_their_lines(make_manager: Any) -> None:
    manager = sessions_manager(make_manager)
    file = manager.location.sessions_dir / "s1.jsonl"
    file.write_text('{"type":"session"}\n' + message("Which colour has the lighthouse?") + message("Red.", "assistant"))
    manager.sync()
    hit = manager.search("lighthouse colour").hits[0]
    assert (hit.path, hit.start_line, hit.end_line, hit.source) == ("sessions/s1.jsonl", 2, 3, "sessions")
    assert hit.snippet == "User: Which colour has the lighthouse?\nAssistant: Red."
    assert manager.read(hit.path, start_line=2, max_lines=1).text == "User: Which colour has the lighthouse?"


def test_a_transcript_that_grows_a_little_waits_and_one_that_grows_a_lot_does_not(make_manager: Any) -> None:
    manager = sessions_manager(make_manager, deltaBytes=100_000, deltaMessages=5)
    file = manager.location.sessions_dir / "s1.jsonl"
    file.write_text(message("The lighthouse is red."))
    manager.sync()
    with file.open("a") as out:
        out.write(message("The windmill is white."))
    assert manager.sync(seconds=60).indexed == 0
    with file.open("a") as out:
        out.writelines(message(f"Filler {number}") for number in range(5))
    assert manager.sync(seconds=60).indexed == 1
    assert found(manager, "windmill") == ["sessions/s1.jsonl"]


def test_only_the_new_part_of_a_transcript_is_embedded(make_manager: Any) -> None:
    provider = CountingProvider()
    manager = sessions_manager(make_manager, provider)
    file = manager.location.sessions_dir / "s1.jsonl"
    said = [f"Sentence {number} of a long talk about the sea and its {number * 3} ships. " * 4 for number in range(60)]
    file.write_text("".join(message(text) for text in said))
    manager.sync()
    before = len(provider.texts)
    with file.open("a") as out:
        out.write(message("And one more word about the lighthouse."))
    assert manager.sync().indexed == 1
    assert len(provider.texts) - before <= 3  # the last chunk, the chunk it spills into, and the line itself
    fresh = sessions_manager(make_manager, CountingProvider())
    fresh.sync(force=True)
    assert manager.status().counts["chunks"] == fresh.status().counts["chunks"]


def test_transcripts_stay_out_unless_both_settings_ask_for_them(make_manager: Any) -> None:
    manager = make_manager(sources=["memory", "sessions"])
    manager.location.sessions_dir.mkdir(parents=True)
    (manager.location.sessions_dir / "s1.jsonl").write_text(message("The lighthouse is red."))
    manager.sync()
    assert manager.status().counts["files"] == 0


def test_unused_embeddings_go_when_there_are_too_many(make_manager: Any) -> None:
    manager = make_manager(CountingProvider(), cache={"enabled": True, "maxEntries": 5})
    file = write(manager, "memory/a.md", "")
    for number in range(20):
        file.write_text(f"The lighthouse has {number} windows.\n")
        manager.sync()
    assert manager.status().counts["embeddings"] == 5
    assert manager.status().is_healthy


def test_an_embedding_in_use_is_never_dropped(make_manager: Any) -> None:
    manager = make_manager(CountingProvider(), cache={"enabled": False})
    for number in range(12):
        write(manager, f"memory/{number}.md", f"The lighthouse has {number} windows.\n")
    manager.sync()
    assert manager.status().counts["vectors"] == manager.status().counts["embeddings"] == 12


def test_hostile_names_do_not_stop_a_sync(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "memory/good.md", "The lighthouse is red.\n")
    for name in ("new\nline.md", "tab\there.md", "quote'\".md", "%s %n.md", "-n.md", "emoji 😀.md"):
        write(manager, f"memory/{name}", "The windmill is white.\n")
    os.mkfifo(manager.workspace / "memory" / "pipe.md")
    (manager.workspace / "memory" / "folder.md").mkdir()
    report = manager.sync()
    assert report.indexed == 5
    assert found(manager, "lighthouse") == ["memory/good.md"]


def test_a_file_with_a_very_long_line_is_indexed(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "memory/long.md", "The lighthouse is red. " + "word " * 2_000_000 + "the windmill is white")
    manager.sync()
    assert found(manager, "windmill white") == ["memory/long.md"]
    assert all(len(hit.snippet) <= 700 for hit in manager.search("windmill white").hits)


class JobProvider(HashingProvider):
    """Embeds by jobs that are done at the second look."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[str, list[tuple[str, str]]] = {}
        self.looks: dict[str, int] = {}
        self.is_slow = False

    def submit_batch(self, requests: Any) -> str:
        self.jobs[name := f"job{len(self.jobs)}"] = list(requests)
        self.looks[name] = 0
        return name

    def poll_batch(self, job_id: str) -> BatchState:
        self.looks[job_id] += 1
        is_done = self.looks[job_id] > 1 and not self.is_slow
        return BatchState("done" if is_done else "running")

    def fetch_batch(self, job_id: str) -> dict[str, Any]:
        rows = super().embed_documents([text for _, text in self.jobs[job_id]])
        return {name: row for (name, _), row in zip(self.jobs[job_id], rows, strict=True)}

    def cancel_batch(self, job_id: str) -> None:
        self.jobs.pop(job_id, None)


def test_a_batch_api_gets_all_texts_in_one_job(make_manager: Any) -> None:
    provider = JobProvider()
    manager = make_manager(provider, remote={"batch": {"enabled": True, "pollIntervalMs": 100}})
    for number in range(900):
        write(manager, f"memory/{number}.md", f"Note number {number}.\n")
    manager.sync()
    assert [len(job) for job in provider.jobs.values()] == [900]
    assert manager.status().counts["vectors"] == 900


def test_a_job_that_nobody_waits_for_is_fetched_by_a_later_sync(make_manager: Any) -> None:
    provider = JobProvider()
    provider.is_slow = True
    manager = make_manager(provider, remote={"batch": {"enabled": True, "wait": False, "pollIntervalMs": 100}})
    write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    assert (manager.status().counts["chunks"], manager.status().counts["vectors"]) == (1, 0)
    assert found(manager, "lighthouse") == ["memory/a.md"]
    provider.is_slow = False
    manager.sync()
    assert manager.status().counts["vectors"] == 1
    assert len(provider.jobs) == 1


class WrongSize(CountingProvider):
    """Gives vectors that are shorter than it says, until it is mended."""

    def __init__(self) -> None:
        super().__init__()
        self.is_mended = False
        self.calls = 0

    def embed_documents(self, texts: Any) -> Any:
        self.calls += 1
        made = super().embed_documents(texts)
        # The background takes several requests, and the last of them may end when the test goes on.
        return made if self.is_mended or not own_texts(texts) else [vector[:7] for vector in made]


def test_a_provider_whose_vectors_do_not_fit_is_asked_once_until_the_settings_change(make_manager: Any) -> None:
    first = make_manager(WrongSize())
    for number in range(40):
        write(first, f"memory/{number}.md", f"The lighthouse number {number} is red.\n")
    assert any("7 dimensions" in problem for problem in first.sync().problems)
    first.close()

    circuits._open.clear()  # as in a new process
    provider = WrongSize()
    manager = make_manager(provider)
    report = manager.sync()
    assert (report.indexed, report.unchanged) == (0, 40)
    assert any("7 dimensions" in problem for problem in report.problems)
    outcome = manager.search("lighthouse number 7", fresh_seconds=60.0)
    assert outcome.hits
    assert outcome.mode == "keywords"
    assert "7 dimensions" in (outcome.warning or "")
    assert any("7 dimensions" in problem for problem in manager.status().problems)
    assert provider.calls == 0
    manager.close()

    other = make_manager(HashingProvider())
    assert other.sync().embedded == 40
    assert other.search("lighthouse number 7").mode == "hybrid"


def test_a_forced_index_asks_a_provider_again_whose_vectors_did_not_fit(make_manager: Any) -> None:
    provider = WrongSize()
    manager = make_manager(provider)
    write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    provider.is_mended = True
    circuits._open.clear()
    assert manager.sync(force=True).embedded == 1
    write(manager, "memory/b.md", "The windmill is white.\n")
    assert manager.sync().embedded == 1


def test_freshness_is_told_from_when_files_were_looked_at_not_from_the_end_of_the_sync(make_manager: Any) -> None:
    written_at: list[float] = []

    class Meanwhile(CountingProvider):
        """While texts are embedded, somebody writes another note."""

        def embed_documents(self, texts: Any) -> Any:
            if not written_at:
                written_at.append(time.time())
                write(manager, "memory/late.md", "The windmill is white.\n")
            return super().embed_documents(texts)

    manager = make_manager(Meanwhile())
    write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    status = manager.status()
    assert status.details["syncedAt"] <= written_at[0]
    assert status.details["changedSince"] == 1


def test_a_look_at_some_paths_does_not_make_all_files_fresh(make_manager: Any) -> None:
    manager = make_manager()
    seen = write(manager, "memory/a.md", "The lighthouse is red.\n")
    manager.sync()
    before = manager.status().details["syncedAt"]
    seen.write_text("The lighthouse is green.\n")
    write(manager, "memory/unseen.md", "The windmill is white.\n")
    report = manager.sync(near=[str(seen)])
    assert (report.indexed, report.scan) == (1, None)
    status = manager.status()
    assert status.details["syncedAt"] == before
    assert status.details["changedSince"] == 1
