"""Memories that are right, and memories that are wrong in one way each; run by test_memory_contract.py."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from pathlib import Path

from memslot import (
    EmbeddingPipeline,
    MemoryFiles,
    MemoryHit,
    MemorySearchOutcome,
    MemoryStatus,
    MemslotError,
    ProviderError,
)
from memslot.embeddings.retries import RetryPolicy
from memslot.testing import HashingProvider, MemoryContract


class Lines:
    """A small memory that is right: a file of JSON lines for each agent."""

    def __init__(self, folder: Path, agent_id: str) -> None:
        self.file = folder / f"{agent_id}.jsonl"
        self.lock = threading.Lock()

    def keep(self, text: str) -> None:
        with self.lock, self.file.open("a") as file:
            file.write(json.dumps(text) + "\n")

    def stored(self) -> tuple[list[str], int]:
        texts, torn = [], 0
        for line in self.file.read_bytes().splitlines() if self.file.exists() else []:
            try:
                texts.append(str(json.loads(line)))
            except ValueError:
                torn += 1
        return texts, torn

    def hits(self, query: str) -> list[MemoryHit]:
        words = set(re.findall(r"\w+", query.casefold()))
        scores = {t: sum(w in t.casefold() for w in words) / max(1, len(words)) for t in self.stored()[0]}
        ranked = sorted(scores.items(), key=lambda item: -item[1])
        return [MemoryHit(self.file.name, score, text) for text, score in ranked if score]

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        return MemorySearchOutcome(self.hits(query)[: max_results or 6], "keywords")

    def status(self) -> MemoryStatus:
        torn = self.stored()[1]
        return MemoryStatus("lines", problems=[f"{torn} damaged lines"] if torn else [])

    def close(self) -> None:
        pass


class Base(MemoryContract):
    memory = Lines

    def make_memory(self, folder: Path, agent_id: str):
        return self.memory(folder, agent_id)

    def remember(self, memory, text: str) -> None:
        memory.keep(text)


class TestGood(Base):
    pass


class TestGoodThatRefuses(Base):
    """An empty query and a damaged file may also be errors."""

    class memory(Lines):  # noqa: N801
        def __init__(self, folder: Path, agent_id: str) -> None:
            super().__init__(folder, agent_id)
            if self.stored()[1]:
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


class Notes(Lines):
    """Lines, and a folder of note files beside them."""

    def __init__(self, folder: Path, agent_id: str) -> None:
        super().__init__(folder, agent_id)
        self.root = folder.absolute() / f"{agent_id}-notes"
        self.known: dict[str, str] = {}

    def files(self) -> MemoryFiles:
        return MemoryFiles(self.root, "notes", named=("ABOUT.md",))

    def files_changed(self, *paths: str) -> None:
        found = {path: self.root / path for path in paths}
        self.known |= {path: file.read_text() for path, file in found.items() if file.exists()}
        self.known = {path: text for path, text in self.known.items() if path not in found or found[path].exists()}

    def hits(self, query: str) -> list[MemoryHit]:
        notes = [MemoryHit(path, 1.0, text.strip()) for path, text in self.known.items() if text.strip() == query]
        return [*notes, *super().hits(query)]


class TestGoodWithNoteFiles(Base):
    capabilities = ("files",)
    memory = Notes


class TestDeafToNoteFiles(Base):
    capabilities = ("files",)
    soon_seconds = 0.2

    class memory(Notes):  # noqa: N801
        def files_changed(self, *paths: str) -> None:
            pass


class TestNoteFilesOutside(Base):
    capabilities = ("files",)

    class memory(Notes):  # noqa: N801
        def files(self) -> MemoryFiles:
            return MemoryFiles(self.root, "../notes")


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
            return super().hits(query) if query.strip() else [MemoryHit("x", 0.5, t) for t in self.stored()[0]]


class Sql(Lines):
    """Builds statements from the query's own text."""

    def __init__(self, folder: Path, agent_id: str) -> None:
        self.file = folder / "all.sqlite"
        self.agent = agent_id
        self.lock = threading.RLock()
        self.db = sqlite3.connect(self.file, check_same_thread=False)
        self.db.execute("create table if not exists texts (agent, text)")

    def keep(self, text: str) -> None:
        with self.lock:
            self.db.execute("insert into texts values (?, ?)", (self.agent, text))
            self.db.commit()

    def stored(self):
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
        def keep(self, text: str) -> None:
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


# Memories that embed


class Vectors(Lines):
    """Words and vectors; the vectors are made when somebody searches, by a pipeline that checks and limits them."""

    def __init__(self, folder: Path, agent_id: str, provider=None) -> None:
        super().__init__(folder, agent_id)
        self.pipeline = EmbeddingPipeline(provider or HashingProvider(), retries=RetryPolicy(tries=1))
        self.problem = ""

    def search(self, query: str, *, max_results: int | None = None):
        by_text = {hit.snippet: hit.score for hit in self.hits(query)}
        try:
            for text, score in self.likenesses(query).items():
                by_text[text] = max(by_text.get(text, 0.0), score)
            self.problem = ""
        except Exception as error:
            self.give_up(error)
        ranked = sorted(by_text.items(), key=lambda item: -item[1])[: max_results or 6]
        hits = [MemoryHit(self.file.name, score, text) for text, score in ranked]
        return MemorySearchOutcome(hits, "keywords" if self.problem else "hybrid", warning=self.problem or None)

    def likenesses(self, query: str) -> dict[str, float]:
        texts = [text for text in self.stored()[0] if query.strip() and text.isprintable()]
        if not texts:
            return {}
        rows, wanted = self.pipeline.embed_documents(texts), self.pipeline.embed_query(query)
        return {t: float(row @ wanted) for t, row in zip(texts, rows, strict=True) if float(row @ wanted) > 0.5}

    def give_up(self, error: Exception) -> None:
        self.problem = f"search is by words only: {error}"

    def status(self):
        known = super().status()
        return MemoryStatus("vectors", problems=[*known.problems, *([self.problem] if self.problem else [])])

    def close(self) -> None:
        self.pipeline.close()


class Embedding(Base):
    memory = Vectors

    def make_memory_with_provider(self, folder: Path, agent_id: str, provider):
        return self.memory(folder, agent_id, provider)


class TestGoodThatEmbeds(Embedding):
    pass


class TestGoodThatRefusesWithoutVectors(Embedding):
    """No search by words: a sentence instead."""

    class memory(Vectors):  # noqa: N801
        def give_up(self, error: Exception) -> None:
            super().give_up(error)
            raise ProviderError("nothing can be searched while the embedding provider does not work")


class TestHidesTheProvidersFault(Embedding):
    class memory(Vectors):  # noqa: N801
        def status(self):
            return Lines.status(self)


class TestProvidersFaultEscapes(Embedding):
    class memory(Vectors):  # noqa: N801
        def give_up(self, error: Exception) -> None:
            raise RuntimeError("no vectors") from error


class TestFindsNothingWithoutVectors(Embedding):
    class memory(Vectors):  # noqa: N801
        def search(self, query: str, *, max_results: int | None = None):
            outcome = super().search(query, max_results=max_results)
            return MemorySearchOutcome([], "none", warning=self.problem) if self.problem else outcome


class TestToldInManyWords(Embedding):
    class memory(Vectors):  # noqa: N801
        def give_up(self, error: Exception) -> None:
            super().give_up(error)
            raise MemslotError(f"no vectors\nTraceback:\n  {error}")


class Plain(Vectors):
    """Asks the provider itself, and believes what it says."""

    def likenesses(self, query: str) -> dict[str, float]:
        provider = self.pipeline.provider
        texts = [text for text in self.stored()[0] if query.strip()]
        rows, wanted = provider.embed_documents(texts), provider.embed_query(query)
        found = {t: sum(a * b for a, b in zip(row, wanted, strict=False)) for t, row in zip(texts, rows, strict=True)}
        return {text: min(score, 1.0) for text, score in found.items() if not score <= 0.5}


class TestBelievesVectors(Embedding):
    """NaN becomes a score, and vectors of the wrong length are compared as if nothing had happened."""

    patience_seconds = 2.0
    memory = Plain


class TestWaitsForever(Embedding):
    patience_seconds = 2.0

    class memory(Vectors):  # noqa: N801
        def likenesses(self, query: str) -> dict[str, float]:
            self.pipeline.provider.embed_query(query)
            return super().likenesses(query)


class TestNeedsProviderToOpen(Embedding):
    class memory(Vectors):  # noqa: N801
        def __init__(self, folder: Path, agent_id: str, provider=None) -> None:
            super().__init__(folder, agent_id, provider)
            self.pipeline.embed_query("are you there?")


class TestIllWithAGoodProvider(Embedding):
    class memory(Vectors):  # noqa: N801
        def status(self):
            known = super().status()
            is_default = self.pipeline.provider.model == HashingProvider.model
            return known if is_default else MemoryStatus("vectors", problems=["a provider that I do not know"])
