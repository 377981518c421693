"""How quickly words are found: the keyword leg beside the plain FTS5 query, and its indexing beside bare inserts.

    python benchmarks/speed/keywords.py                 10,000 and 100,000 chunks, 5 rounds
    python benchmarks/speed/keywords.py --quick         10,000 chunks, 3 rounds
    python benchmarks/speed/keywords.py --sizes 1000000 other sizes
    python benchmarks/speed/keywords.py --json FILE     write the numbers, too

The texts are made up: 120 to 300 words each from 60,000 invented ones, used as unevenly as a language's are (the
n-th in proportion to 1/(n+2.7)), with six words of its own that a text comes back to. Queries have 4, 7 and 10 words
from the most common to the rarest. The plain query is what anybody would write: all words joined by OR, `ORDER BY
rank LIMIT 60`. Seed 7. All take turns on one file; ratios are formed for each query, and their median is reported.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from corpus import SEED, Language
from memslot_memory_core.index import keywords
from memslot_memory_core.index.tokenizer import TOKENIZER, query_terms
from ratios import Ratio, publish

LIMIT = 60
QUERIES_EACH = 8
BATCH = 2_000


def invent_queries(language: Language, length: int) -> list[str]:
    return [language.hard_query(length) for _ in range(QUERIES_EACH)]


def seconds(step: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = step()
    return time.perf_counter() - start, result


class Corpus:
    """One file with the texts, the product's table and a bare one; filled in turns, so that both feel the same load."""

    def __init__(self, file: Path, size: int) -> None:
        self.language = Language(random.Random(SEED), function_words=())
        self.db = apsw.Connection(str(file))
        self.db.pragma("journal_mode", "wal")
        self.db.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)")
        self.db.execute(f"CREATE VIRTUAL TABLE bare USING fts5(text, content='', tokenize=\"{TOKENIZER}\")")
        keywords.create(self.db, "ours")
        self.adding: list[float] = []
        self.inserting: list[float] = []
        rows = ((number, self.language.text(120, 300)) for number in range(1, size + 1))
        while batch := list(islice(rows, BATCH)):
            self.db.executemany("INSERT INTO texts VALUES (?, ?)", batch)
            self.adding.append(seconds(lambda batch=batch: self._add(batch))[0])
            self.inserting.append(seconds(lambda batch=batch: self._insert(batch))[0])

    def _add(self, batch: list[tuple[int, str]]) -> None:
        with self.db:
            keywords.add(self.db, "ours", batch)

    def _insert(self, batch: list[tuple[int, str]]) -> None:
        with self.db:
            self.db.executemany("INSERT INTO bare (rowid, text) VALUES (?, ?)", batch)

    def read(self, rowids: Sequence[int]) -> dict[int, str]:
        named = ",".join(map(str, rowids))
        return dict(self.db.execute(f"SELECT id, text FROM texts WHERE id IN ({named})"))

    def plain(self, query: str) -> list[tuple[int, float]]:
        words = " OR ".join(f'"{term.word}"' for term in query_terms(query).terms)
        return list(self.db.execute("SELECT rowid, -rank FROM bare(?) ORDER BY rank LIMIT ?", (words, LIMIT)))

    def search(self, query: str, *, by_text: bool) -> keywords.KeywordHits:
        weighed = keywords.weigh(self.db, "ours", query_terms(query))
        return keywords.search(self.db, "ours", weighed, LIMIT, read=self.read if by_text else None)

    def forget(self) -> None:
        """As in a new process: no word has been counted."""
        keywords._counts_for(self.db).clear()


def measure(corpus: Corpus, size: int, rounds: int, taken: dict[str, list[float]]) -> list[Ratio]:
    ratios = [
        Ratio(
            f"add, {size:,}",
            "bare inserts",
            len(corpus.adding),
            f"{size / sum(corpus.adding):.0f} chunks/s",
            statistics.median(a / b for a, b in zip(corpus.adding, corpus.inserting, strict=True)),
            2.0,
        )
    ]
    chance = random.Random(SEED)
    for length in (4, 7, 10):
        queries = invent_queries(corpus.language, length)
        times: dict[str, list[float]] = {name: [] for name in ("plain", "search", "again", "by text", "score 100")}
        same = proved = 0
        for number in range(rounds + 1):
            for query in queries:
                plain, wanted = seconds(lambda query=query: corpus.plain(query))
                corpus.forget()
                first, _ = seconds(lambda query=query: corpus.search(query, by_text=False))
                again, _ = seconds(lambda query=query: corpus.search(query, by_text=False))
                by_text, answer = seconds(lambda query=query: corpus.search(query, by_text=True))
                rowids = chance.sample(range(1, size + 1), 100)
                scoring, _ = seconds(
                    lambda answer=answer, rowids=rowids: keywords.score(
                        corpus.db, "ours", answer.query, rowids, read=corpus.read
                    )
                )
                if number:
                    for name, one in zip(times, (plain, first, again, by_text, scoring), strict=True):
                        times[name].append(one)
                else:
                    # By score, not by id: rows may tie.
                    floor = wanted[-1][1] * (1 - 1e-9)
                    same += sum(r >= floor for _, r in answer.hits) / len(wanted)
                    proved += answer.exact
        for name, each in times.items():
            taken[f"{name}, {length} words, {size}"] = each
            against = [one / base for one, base in zip(each, times["plain"], strict=True)]
            label = {"search": "search, first", "again": "search, words counted", "by text": "search with texts"}
            remark = f" (same {same / len(queries):.4f}, proved {proved}/{len(queries)})" if name == "by text" else ""
            ratios.append(
                Ratio(
                    f"{label.get(name, name)}, {length} words, {size:,}{remark}",
                    "plain OR query",
                    len(each),
                    f"{statistics.median(each) * 1000:.2f} ms",
                    statistics.median(against),
                )
            )
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the keyword leg, as ratios.")
    parser.add_argument("--quick", action="store_true", help="10,000 chunks only, 3 rounds")
    parser.add_argument("--sizes", type=int, nargs="+", help="other numbers of chunks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    sizes: list[int] = options.sizes or ([10_000] if options.quick else [10_000, 100_000])
    rounds = 3 if options.quick else 5
    taken: dict[str, list[float]] = {}
    ratios: list[Ratio] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Corpus(Path(folder) / "words.sqlite", size)
            ratios += measure(corpus, size, rounds, taken)
            corpus.db.close()
    publish(ratios, taken, rounds=rounds, file=options.json, remark=f"; best {LIMIT}, seed {SEED}")


if __name__ == "__main__":
    main()
