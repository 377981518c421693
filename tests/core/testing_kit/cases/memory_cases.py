"""Memories that are right, and memories that are wrong in one way each; run by test_memory_contract.py."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from pathlib import Path

from memslot import MemoryHit, MemorySearchOutcome, MemoryStatus, MemslotError
from memslot.testing import MemoryContract


class Lines:
    """A small memory that is right: a file of JSON lines for each agent."""

    def __init__(self, folder: Path, agent_id: str) -> None:
        self.file = folder / f"{agent_id}.jsonl"
        self.lock = threading.Lock()

    def remember(self, text: str) -> None:
        with self.lock, self.file.open("a") as file:
            file.write(json.dumps(text) + "\n")

    def read(self) -> tuple[list[str], int]:
        texts, torn = [], 0
        for line in self.file.read_bytes().splitlines() if self.file.exists() else []:
            try:
                texts.append(str(json.loads(line)))
            except ValueError:
                torn += 1
        return texts, torn

    def hits(self, query: str) -> list[MemoryHit]:
        words = set(re.findall(r"\w+", query.casefold()))
        scores = {t: sum(w in t.casefold() for w in words) / max(1, len(words)) for t in self.read()[0]}
        ranked = sorted(scores.items(), key=lambda item: -item[1])
        return [MemoryHit(self.file.name, score, text) for text, score in ranked if score]

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        return MemorySearchOutcome(self.hits(query)[: max_results or 6], "keywords")

    def status(self) -> MemoryStatus:
        torn = self.read()[1]
        return MemoryStatus("lines", problems=[f"{torn} damaged lines"] if torn else [])

    def close(self) -> None:
        pass


class Base(MemoryContract):
    memory = Lines

    def make_memory(self, folder: Path, agent_id: str):
        return self.memory(folder, agent_id)

    def remember(self, memory, text: str) -> None:
        memory.remember(text)


class TestGood(Base):
    pass


class TestGoodThatRefuses(Base):
    """An empty query and a damaged file may also be errors."""

    class memory(Lines):  # noqa: N801
        def __init__(self, folder: Path, agent_id: str) -> None:
            super().__init__(folder, agent_id)
            if self.read()[1]:
                raise MemslotError(f"{self.file} is damaged; restore it from a backup")

        def search(self, query: str, *, max_results: int | None = None):
            if not query.strip():
                raise ValueError("say what to look for")
            return super().search(query, max_results=max_results)


class TestGoodWithoutFiles(Base):
    """A store that is somewhere else: there is no file to spoil."""

    keeps_files = False

    class memory(Lines):  # noqa: N801
        def __init__(self, folder: Path, agent_id: str) -> None:
            elsewhere = folder.parent / f"{folder.name}-server"
            elsewhere.mkdir(exist_ok=True)
            super().__init__(elsewhere, agent_id)


class TestNoMemory(Base):
    class memory(Lines):  # noqa: N801
        status = None


class TestFindsNothing(Base):
    class memory(Lines):  # noqa: N801
        def hits(self, query: str):
            return []


class TestMakesThingsUp(Base):
    class memory(Lines):  # noqa: N801
        def hits(self, query: str):
            return [*super().hits(query), MemoryHit("x", 0.001, "made up")]


class TestWorstFirst(Base):
    class memory(Lines):  # noqa: N801
        def hits(self, query: str):
            return super().hits(query)[::-1]


class TestScoresAbove1(Base):
    class memory(Lines):  # noqa: N801
        def hits(self, query: str):
            return [MemoryHit(h.path, h.score * 50, h.snippet) for h in super().hits(query)]


class TestIgnoresMaxResults(Base):
    class memory(Lines):  # noqa: N801
        def search(self, query: str, *, max_results: int | None = None):
            return super().search(query)


class TestWholeWordsOnly(Base):
    """Chinese and Japanese have no spaces, so a search for whole words finds nothing in them."""

    class memory(Lines):  # noqa: N801
        def hits(self, query: str):
            words = set(re.findall(r"\w+", query.casefold()))
            return [h for h in super().hits(query) if words & set(re.findall(r"\w+", h.snippet.casefold()))]


class TestEmptyQueryCrashes(Base):
    class memory(Lines):  # noqa: N801
        def search(self, query: str, *, max_results: int | None = None):
            query.split()[0]
            return super().search(query, max_results=max_results)


class TestEmptyQueryFindsAll(Base):
    class memory(Lines):  # noqa: N801
        def hits(self, query: str):
            return super().hits(query) if query.strip() else [MemoryHit("x", 0.5, t) for t in self.read()[0]]


class Sql(Lines):
    """Builds statements from the query's own text."""

    def __init__(self, folder: Path, agent_id: str) -> None:
        self.file = folder / "all.sqlite"
        self.agent = agent_id
        self.lock = threading.RLock()
        self.db = sqlite3.connect(self.file, check_same_thread=False)
        self.db.execute("create table if not exists texts (agent, text)")

    def remember(self, text: str) -> None:
        with self.lock:
            self.db.execute("insert into texts values (?, ?)", (self.agent, text))
            self.db.commit()

    def read(self):
        with self.lock:
            rows = self.db.execute("select text from texts where agent = ?", (self.agent,)).fetchall()
        return [text for (text,) in rows], 0

    def hits(self, query: str):
        with self.lock:
            self.db.executescript(f"select text from texts where text like '%{query}%'")
        return super().hits(query)


class TestSqlInjection(Base):
    memory = Sql


class TestSqliteDamageEscapes(Base):
    """Any other error than a MemslotError tells a caller nothing."""

    class memory(Sql):  # noqa: N801
        def hits(self, query: str):
            return Lines.hits(self, query)


class TestOneFileForAll(Base):
    class memory(Lines):  # noqa: N801
        def __init__(self, folder: Path, agent_id: str) -> None:
            super().__init__(folder, "everybody")


class TestForgetsAtRestart(Base):
    class memory(Lines):  # noqa: N801
        def close(self) -> None:
            self.file.unlink(missing_ok=True)


class TestClosesOnce(Base):
    class memory(Lines):  # noqa: N801
        closed = False

        def close(self) -> None:
            if self.closed:
                raise RuntimeError("already closed")
            self.closed = True


class TestAlwaysIll(Base):
    class memory(Lines):  # noqa: N801
        def status(self):
            return MemoryStatus("lines", problems=["something"])


class TestStatusRaises(Base):
    class memory(Lines):  # noqa: N801
        def status(self):
            return MemoryStatus("lines", counts={"bytes": self.file.stat().st_size})


class TestLosesConcurrentWrites(Base):
    """Reads all, adds one, writes all: what another thread added in between is gone."""

    class memory(Lines):  # noqa: N801
        def remember(self, text: str) -> None:
            old = self.file.read_text() if self.file.exists() else ""
            if threading.active_count() > 2:
                time.sleep(0.05)
            temporary = self.file.with_suffix(f".{threading.get_ident()}")
            temporary.write_text(f"{old}{json.dumps(text)}\n")
            temporary.replace(self.file)


class TestDamageIsSilent(Base):
    class memory(Lines):  # noqa: N801
        def status(self):
            return MemoryStatus("lines")


class TestForgotToNameFiles(Base):
    def store_files(self, folder: Path):
        return []
