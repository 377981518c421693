"""A workspace that changes, its index, and the question whether the index is what it should be."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
from memslot_memory_core.health import check_health
from memslot_memory_core.index.embeddings import Embedder
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.index.vector_tables import VectorTables
from memslot_memory_core.index.vectors.extensions import engine_of, load
from memslot_memory_core.manager import MemoryManager

from .index_worker import DigestProvider, location_below, make_manager

WORDS = [
    "lighthouse",
    "harbour",
    "windmill",
    "orchard",
    "tractor",
    "violin",
    "glacier",
    "market",
    "bridge",
    "lantern",
    "compass",
    "meadow",
]
NAMES = [
    f"{first}{second}" for first in ("bal", "dor", "fen", "gar", "lim") for second in ("ova", "uxi", "etto", "akim")
]
QUERIES = ("balova limetto", "what about the old garakim", "fenuxi")


class Nursery:
    """Processes that work on an index, and are killed."""

    def __init__(self) -> None:
        worker = Path(__file__).with_name("index_worker.py")
        self._process = subprocess.Popen(
            [sys.executable, str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def start(self, job: str, *, die_at: int | None = None, **arguments: Any) -> int:
        """Have a job begun in a process of its own; gives its number once it begins."""
        self._order({"job": job, "arguments": arguments, "die_at": die_at})
        return int(self._answer("started"))

    def end(self, child: int, *, kill: bool = False) -> int:
        """Wait for a child, killed first if so asked; gives its exit code, negative for a signal."""
        if kill:
            os.kill(child, signal.SIGKILL)  # it is not reaped yet, so the number is still its own
        self._order({"reap": child})
        return int(self._answer("ended"))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def _order(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")

    def _answer(self, kind: str) -> str:
        assert self._process.stdout is not None
        word, _, rest = self._process.stdout.readline().decode().partition(" ")
        assert word == kind, f"the nursery said {word} {rest}"
        return rest


class World:
    """One agent's notes and transcripts in a folder, edited at random but always in the same way for a seed."""

    def __init__(self, folder: Path, seed: int, *, files: int = 16) -> None:
        self.folder = folder
        self.location = location_below(folder)
        self._random = random.Random(seed)
        self._count = 0
        (self.location.workspace / "memory").mkdir(parents=True)
        self.location.sessions_dir.mkdir()
        for _ in range(files):
            self._write_note(self._new_note())
        for number in range(3):
            self._say(self.location.sessions_dir / f"s{number}.jsonl", 6)

    @property
    def notes(self) -> list[Path]:
        return sorted((self.location.workspace / "memory").glob("*.md"))

    def edit(self) -> None:
        """What a day brings: notes that are new, changed, gone, and a talk that goes on."""
        for _ in range(self._random.randint(1, 6)):
            action = self._random.choice(("new", "change", "change", "append", "remove", "talk"))
            notes = self.notes
            if action == "talk":
                self._say(self.location.sessions_dir / f"s{self._random.randrange(5)}.jsonl", 3)
            elif action == "new" or len(notes) < 10:
                self._write_note(self._new_note())
            elif action == "change":
                self._write_note(self._random.choice(notes))
            elif action == "append":
                with self._random.choice(notes).open("a") as file:
                    file.write(self._paragraph())
            elif len(notes) > 10:
                self._random.choice(notes).unlink()

    def manager(self, provider: Any = None, **settings: Any) -> MemoryManager:
        return make_manager(self.location, provider, **settings)

    def delete_index(self) -> None:
        shutil.rmtree(self.location.index_file.parent, ignore_errors=True)

    def _new_note(self) -> Path:
        self._count += 1
        return self.location.workspace / "memory" / f"note{self._count}.md"

    def _write_note(self, file: Path) -> None:
        """Paragraphs, or facts in a list, several of which are in one chunk."""
        paragraphs = [self._paragraph() for _ in range(self._random.randint(1, 6))]
        facts = [f"- {paragraph[-40:].strip()}\n" for paragraph in paragraphs]
        file.write_text("".join(facts if self._count % 3 == 0 else paragraphs))

    def _paragraph(self) -> str:
        number, name = self._random.randrange(1000), self._random.choice(NAMES)
        words = " ".join(self._random.choices(WORDS, k=self._random.randint(8, 18)))
        return f"Paragraph number {number}: {words} {name}.\n\n"

    def _say(self, file: Path, messages: int) -> None:
        with file.open("a") as out:
            for _ in range(messages):
                role = self._random.choice(("user", "assistant"))
                out.write(
                    json.dumps({"type": "message", "message": {"role": role, "content": self._paragraph()}}) + "\n"
                )


def check_whole(file: Path) -> None:
    """Whatever happened: the file is sound, and its live generation has as many words and vectors as chunks say."""
    if not file.exists():
        return
    index = IndexFile(file)
    try:
        with index.snapshot() as snapshot:
            if snapshot is None:
                return
            identity = Identity.from_json(snapshot.generation.identity)
            health = check_health(snapshot, VectorTables(), identity, Embedder(), deep=True)
            wrong = [each for each in health.problems if "damaged" in each or "count" in each or "as many" in each]
            assert not wrong, wrong
            generation, db = snapshot.generation, snapshot.db
            check_parts(db, generation)
            for table, rows in (
                (generation.tables.vectors, generation.vectors),
                (generation.tables.turn_vectors, generation.turn_vectors),
            ):
                if generation.engine != "numpy":
                    assert engine_of(db, table) == generation.engine
                    assert load(db, generation.engine) is None
                    assert db.execute(f"SELECT count(*) FROM {table}").get == rows
    finally:
        index.close()


def check_parts(db: apsw.Connection, generation: Generation) -> None:
    """Parts are counted, have as many bits as vectors, and belong to chunks that are there."""
    tables = generation.tables
    assert db.execute(f"SELECT count(*) FROM {tables.parts}").get == generation.part_vectors
    bytes_each = 8 * -(-int(generation.identity["dims"] or 0) // 64)
    assert db.execute(f"SELECT coalesce(sum(length(bits)), 0) FROM {tables.part_bits}").get == (
        bytes_each * generation.part_vectors
    )
    for table in (tables.parts, tables.part_bits):
        orphans = f"SELECT count(*) FROM {table} WHERE chunk_id NOT IN (SELECT id FROM {tables.chunks})"
        assert not db.execute(orphans).get


def content(file: Path) -> list[Any]:
    """All that the live generation says, in an order that does not depend on how it came in."""
    db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        number = db.execute("SELECT id FROM generations WHERE state = 'live'").get
        chunks = db.execute(
            "SELECT f.source, f.path, f.hash, f.resume, f.private, c.start_line, c.end_line, c.text, c.hash, e.vector "
            f"FROM chunks_{number} c JOIN files_{number} f ON f.id = c.file_id "
            "LEFT JOIN embeddings e ON e.id = c.embedding_id"
        ).fetchall()
        turns = db.execute(
            f"SELECT f.path, t.line, t.hash, e.vector FROM turns_{number} t JOIN files_{number} f ON f.id = t.file_id "
            "LEFT JOIN embeddings e ON e.id = t.embedding_id"
        ).fetchall()
        parts = db.execute(
            "SELECT f.path, c.start_line, c.hash, e.text_hash, e.vector "
            f"FROM parts_{number} p JOIN chunks_{number} c ON c.id = p.chunk_id JOIN files_{number} f "
            "ON f.id = c.file_id LEFT JOIN embeddings e ON e.id = p.embedding_id"
        ).fetchall()
        bits = db.execute(
            "SELECT f.path, c.start_line, c.hash, length(b.bits), b.waiting "
            f"FROM part_bits_{number} b LEFT JOIN chunks_{number} c ON c.id = b.chunk_id LEFT JOIN files_{number} f "
            "ON f.id = c.file_id"
        ).fetchall()
        files = db.execute(f"SELECT source, path, hash FROM files_{number}").fetchall()
        return [sorted(map(repr, rows)) for rows in (files, chunks, turns, parts, bits)]
    finally:
        db.close()


def tables(file: Path) -> set[str]:
    """The tables of the file that belong to a generation, by the generation's number."""
    db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name.split("_")[1] for name in names if name.startswith(("files_", "chunks_", "fts_", "vec_"))}
    finally:
        db.close()


def answers(manager: MemoryManager) -> list[Any]:
    """What searches give: all scores, and the results but for the last score, which others may share."""
    found = []
    for query in QUERIES:
        outcome = manager.search(query, max_results=6)
        assert outcome.mode == "hybrid", (outcome.mode, outcome.warning, outcome.stale)
        scores = [hit.score for hit in outcome.hits]
        hits = [(hit.score, hit.path, hit.start_line, hit.end_line, hit.snippet) for hit in outcome.hits]
        found.append((scores, sorted(hit for hit in hits if hit[0] > scores[-1])))
    return found


def scores(manager: MemoryManager) -> list[Any]:
    """What both legs say of every passage that has a word of the query.

    Not the results: among passages that fit equally well the one that came in first is looked at more closely.
    """
    found = []
    for query in QUERIES:
        outcome = manager.search(query, max_results=200, min_score=0.0, explain=True)
        assert outcome.mode == "hybrid", (outcome.mode, outcome.warning, outcome.stale)
        explained = [hit.explanation or {} for hit in outcome.hits]
        keys = ("path", "startLine", "endLine", "textScore", "vectorScore")
        found.append(sorted([each[key] for key in keys] for each in explained if each["textRank"]))
    assert any(found)
    return found


def assert_like_fresh(world: World, manager: MemoryManager, scratch: Path, **settings: Any) -> None:
    """A sync makes the index what a first one in an empty folder makes."""
    report = manager.sync()
    assert report.complete
    assert not report.problems, report.problems
    fresh_place = replace(world.location, index_file=scratch / "fresh.sqlite")
    shutil.rmtree(scratch, ignore_errors=True)
    fresh = make_manager(fresh_place, DigestProvider(), **settings)
    # One that has not searched yet: what is usual among the texts is learnt anew only when an index has grown.
    again = make_manager(world.location, DigestProvider(), **settings)
    try:
        fresh.sync()
        assert content(world.location.index_file) == content(fresh_place.index_file)
        assert scores(again) == scores(fresh)
    finally:
        fresh.close()
        again.close()
    check_whole(world.location.index_file)
    status = manager.status(deep=True)
    assert status.is_healthy, status.problems
    assert len(tables(world.location.index_file)) == 1


def wait_until(is_so: Any, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_so():
            return True
        time.sleep(0.01)
    return bool(is_so())
