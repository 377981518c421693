"""The keyword leg: a contentless FTS5 table, and BM25 over all words of a query.

FTS5 ranks every row with any word of a query, and common words are in most rows. `search` lets it rank only rows with
one of the rarer words, computes full scores for the best of these, and stops once common words alone could not lift
another row into the result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol
from weakref import WeakKeyDictionary

import apsw
from memslot.retrieval import QueryTerms, choose_words, index_text

from memslot_memory_core.index.bm25 import (
    FEW_ROWS,
    FUNCTION,
    WeighedQuery,
    inverse_frequency,
    register_bm25,
    weights_for,
)
from memslot_memory_core.index.posting_lists import score_postings
from memslot_memory_core.index.tokenizer import FTS5, TOKENIZER

Read = Callable[[Sequence[int]], Mapping[int, str]]
"""Returns the texts of rows, as passed to `add`."""

MOST_TERMS = 64  # in one search
_FEW_MATCHES = 1000  # so few rows are simply ranked
_WORTH_LEAVING = 10_000  # postings of common words: skipping fewer saves less than rescoring the best rows costs
_MOST_MATCHES = 0.3  # of all rows: beyond that the plain query is as fast
_LEFT_OUT = 0.3  # of the query's weight: the most that skipped common words may add to a row
_SURE = 24  # top hits that are almost certainly right; those after them are the best of the rows seen
_MOST_COMPOUNDS = 200  # compound words considered per term
_STEPS = 8  # times the limit: rows that may get a full score
# Measured cost of scoring a chunk's text, against reading one posting.
_READING, _PASSING = 50.0, 0.12


@dataclass(frozen=True)
class KeywordHits:
    """Rows with their BM25 scores, best first.

    `exact` says that these are provably the best. Otherwise the first 24 almost certainly are, and most of the others.
    `scored` counts the rows with a full score.
    """

    hits: tuple[tuple[int, float], ...]
    query: WeighedQuery
    exact: bool
    scored: int


_Counts = dict[str, tuple[bytes, dict[str, int]]]
_known: WeakKeyDictionary[apsw.Connection, _Counts] = WeakKeyDictionary()
"""Per connection with our SQL function, by table: document frequencies, and the stamp they were read at."""
_lock = threading.Lock()


def create(db: apsw.Connection, table: str) -> None:
    """Create an empty keyword table and its vocabulary table."""
    db.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5(text, content='', contentless_delete=1, tokenize=\"{TOKENIZER}\")"
    )
    db.execute(f"CREATE VIRTUAL TABLE {table}_vocab USING fts5vocab({table}, row)")


def drop(db: apsw.Connection, table: str) -> None:
    """Drop a keyword table, if it exists."""
    db.execute(f"DROP TABLE IF EXISTS {table}_vocab")
    db.execute(f"DROP TABLE IF EXISTS {table}")


def add(db: apsw.Connection, table: str, rows: Iterable[tuple[int, str]]) -> None:
    """Index texts by row id; the ids must be new."""
    db.executemany(
        f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", ((rowid, index_text(text)) for rowid, text in rows)
    )


def remove(db: apsw.Connection, table: str, rowids: Iterable[int]) -> None:
    """Remove rows; missing ids are ignored."""
    db.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((rowid,) for rowid in rowids))


def optimize(db: apsw.Connection, table: str) -> None:
    """Merge all segments into one: worth it after a build, not after an edit."""
    db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def count(db: apsw.Connection, table: str) -> int:
    """How many rows are in the table."""
    return int(db.execute(f"SELECT count(*) FROM {table}_docsize").get)


def frequencies(db: apsw.Connection, table: str, stems: Iterable[str]) -> dict[str, int]:
    """Document frequency of each stem."""
    wanted = list(dict.fromkeys(stems))
    known = _counts_for(db)
    writing = db.txn_state("main") == apsw.SQLITE_TXN_WRITE  # the stamp is written when the transaction ends
    stamp = b"" if writing else _stamp(db, table)
    stored = known.get(table)
    counts = dict(stored[1]) if stored is not None and stored[0] == stamp and not writing else {}
    missing = [stem for stem in wanted if stem not in counts]
    if missing:
        query = f"SELECT doc FROM {table}_vocab WHERE term = ?"
        counts |= {stem: db.execute(query, (stem,)).get or 0 for stem in missing}
        if not writing and _stamp(db, table) == stamp:
            known[table] = (stamp, counts)
    return {stem: counts[stem] for stem in wanted}


def _vocabulary(db: apsw.Connection, table: str, first: str, last: str) -> list[tuple[str, int]]:
    query = f"SELECT term, doc FROM {table}_vocab WHERE term > ? AND term < ? LIMIT {_MOST_COMPOUNDS}"
    return [(term, rows) for term, rows in db.execute(query, (first, last))]


def weigh(db: apsw.Connection, table: str, terms: QueryTerms) -> WeighedQuery:
    """Weigh a query's terms by their rarity in the table, and select the ones to search for."""
    chosen = choose_words(terms, partial(frequencies, db, table), partial(_vocabulary, db, table), FTS5)
    shares, forms = chosen.shares, chosen.forms
    rows, length = _totals(db, table)  # after the frequencies, which flush a writer's own rows into the table
    found = {stem: chosen.frequency(stem, rows) for stem in chosen.held}
    present = sorted((stem for stem in found if found[stem]), key=lambda stem: (found[stem], stem))[:MOST_TERMS]
    absent = [stem for stem in found if not found[stem] and shares.get(stem, 1.0) > 0][: MOST_TERMS - len(present)]
    idf = {stem: inverse_frequency(rows, found[stem]) for stem in (*present, *absent)}
    sum_idf = sum(shares.get(stem, 1.0) * each for stem, each in idf.items())
    return WeighedQuery(
        rows=rows,
        mean_length=length / rows if rows else 0.0,
        asked=tuple(present),
        words={stem: chosen.terms[stem].word if stem in chosen.terms else stem for stem in present},
        frequency={stem: found[stem] for stem in present},
        idf=idf,
        sum_idf=sum_idf or sum(idf.values()),
        shares=shares,
        forms={stem: tuple(forms.found[stem]) for stem in present if {*forms.found.get(stem, (stem,))} != {stem}},
        hints={hint: held for hint, held in chosen.hints.items() if hint not in idf},
    )


class Scores(Protocol):
    """The BM25 scores of a query."""

    def best(self, limit: int) -> Sequence[tuple[int, float]]:
        """The highest-scoring rows, best first."""

    def of(self, rowids: Sequence[int]) -> dict[int, float]:
        """The score of each of these rows; 0.0 without any of the words."""


def score_query(db: apsw.Connection, table: str, query: WeighedQuery, *, read: Read | None = None) -> Scores:
    """Score a query by the fastest method available; some need `read`."""
    if query.asked and len(_rarer(query)) == len(query.asked):
        listed = score_postings(db, table, query)
        if listed is not None:
            return listed
    return _Ranking(db, table, query, read)


@dataclass(frozen=True)
class _Ranking:
    """Scores from FTS5's own ranking."""

    db: apsw.Connection
    table: str
    query: WeighedQuery
    read: Read | None

    def best(self, limit: int) -> Sequence[tuple[int, float]]:
        return search(self.db, self.table, self.query, limit, read=self.read).hits

    def of(self, rowids: Sequence[int]) -> dict[int, float]:
        return score(self.db, self.table, self.query, rowids, read=self.read)


def search(
    db: apsw.Connection, table: str, query: WeighedQuery, limit: int, *, read: Read | None = None, exact: bool = False
) -> KeywordHits:
    """The `limit` highest-scoring rows.

    With `read`, large tables are searched faster: the texts of a few hundred rows cost less than the postings of common
    words. `exact` demands the provably best rows, whatever the cost.
    """
    if not query.asked or limit < 1:
        return KeywordHits((), query, exact=True, scored=0)
    if query.rows < FEW_ROWS:
        # FTS5's ranking doesn't use our weights for small tables.
        scores = _scan_postings(db, table, query, None)
        return KeywordHits(_best(scores, limit), query, exact=True, scored=len(scores))
    rare = _rarer(query)
    if not exact and len(rare) < len(query.asked):
        answer = _search_rare(db, table, query, rare, limit, read)
        if answer is not None:
            return answer
    hits = _rank(db, table, query, query.asked, limit)
    return KeywordHits(_best(dict(hits), limit), query, exact=True, scored=len(hits))


def score(
    db: apsw.Connection, table: str, query: WeighedQuery, rowids: Sequence[int], *, read: Read | None = None
) -> dict[int, float]:
    """BM25 scores of the given rows; 0.0 without any of the terms."""
    if not query.asked or not rowids:
        return dict.fromkeys(rowids, 0.0)
    if read is not None and _reading_is_cheaper(query, len(rowids)):
        texts = read(rowids)
        return {rowid: query.score_text(texts[rowid]) if rowid in texts else 0.0 for rowid in rowids}
    return dict.fromkeys(rowids, 0.0) | _scan_postings(db, table, query, rowids)


def _search_rare(
    db: apsw.Connection, table: str, query: WeighedQuery, rare: Sequence[str], limit: int, read: Read | None
) -> KeywordHits | None:
    """Search by the rarer words; None if rows without them may be among the best."""
    most = _STEPS * limit
    partial = _rank(db, table, query, rare, most)
    addable = query.ceiling(query.asked[len(rare) :])
    reading = read is not None and _reading_is_cheaper(query, 3 * limit)
    full: dict[int, float] = {}
    added = 0.0
    while len(full) < len(partial):
        step = most if not reading else limit if full else 3 * limit
        taken = partial[len(full) : len(full) + step]
        full |= score(db, table, query, [rowid for rowid, _ in taken], read=read if reading else None)
        added = max(added, *(full[rowid] - part for rowid, part in taken))
        # Rare-word score of the next row; rows without rare words have none.
        beyond = taken[-1][1] if len(full) < len(partial) or len(partial) == most else 0.0
        best = _best(full, limit)
        if len(best) == limit and best[:_SURE][-1][1] >= beyond + min(added, addable):
            return KeywordHits(best, query, exact=best[-1][1] >= beyond + addable, scored=len(full))
    return None


def _rarer(query: WeighedQuery) -> tuple[str, ...]:
    """The terms to search by: the rarest, until the remaining ones weigh little."""
    matches = 0
    for number, stem in enumerate(query.asked):
        few = matches + query.frequency[stem] <= _FEW_MATCHES
        left = query.asked[number:]
        if number and not few and query.ceiling(left) <= _LEFT_OUT * query.sum_idf:
            worth_it = sum(query.frequency[each] for each in left) >= _WORTH_LEAVING
            return query.asked[:number] if worth_it else query.asked
        matches += query.frequency[stem]
        if not few and matches > _MOST_MATCHES * query.rows:
            break
    return query.asked


def _rank(
    db: apsw.Connection, table: str, query: WeighedQuery, stems: Sequence[str], limit: int
) -> list[tuple[int, float]]:
    """FTS5's ranking of the rows with any of the words."""
    if any(len(query.forms_of(stem)) > 1 for stem in stems):  # FTS5 would weigh each form separately
        return list(_best(_scan_postings(db, table, query, None, stems), limit))
    found = db.execute(f"SELECT rowid, -rank FROM {table}(?) ORDER BY rank LIMIT ?", (_any_of(query, stems), limit))
    return [(rowid, r) for rowid, r in found]


def _scan_postings(
    db: apsw.Connection,
    table: str,
    query: WeighedQuery,
    rowids: Sequence[int] | None,
    stems: Sequence[str] | None = None,
) -> dict[int, float]:
    """Scores of the given rows, or of all matches, in one pass over the postings of all or some terms."""
    asked = query.asked if stems is None else stems
    _counts_for(db)
    # The plus sign stops FTS5 from running one lookup per id.
    named = "" if rowids is None else f"AND +rowid IN ({','.join(map(str, rowids))})"
    with weights_for(query, asked) as key:
        found = db.execute(
            f"SELECT rowid, {FUNCTION}({table}, ?) FROM {table} WHERE {table} MATCH ? {named}",
            (key, _any_of(query, asked)),
        )
        return dict(found)


def _reading_is_cheaper(query: WeighedQuery, rows: int) -> bool:
    return rows * _READING < sum(query.frequency.values()) * _PASSING


def _best(scores: Mapping[int, float], limit: int) -> tuple[tuple[int, float], ...]:
    return tuple(sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:limit])


def _any_of(query: WeighedQuery, stems: Iterable[str]) -> str:
    # A form from another language is a stem that FTS5 leaves unchanged.
    words = [query.words[form] if form == stem else form for stem in stems for form in query.forms_of(stem)]
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)


def _counts_for(db: apsw.Connection) -> _Counts:
    with _lock:
        counts = _known.get(db)
        if counts is None:
            register_bm25(db)
            counts = _known[db] = {}
        return counts


def _stamp(db: apsw.Connection, table: str) -> bytes:
    """A version stamp of the table: FTS5's records of its totals and segments."""
    return b"|".join(block for (block,) in db.execute(f"SELECT block FROM {table}_data WHERE id IN (1, 10)"))


def _totals(db: apsw.Connection, table: str) -> tuple[int, int]:
    """Row and token counts, which FTS5 keeps in its first record."""
    record = db.execute(f"SELECT block FROM {table}_data WHERE id = 1").get or b""
    numbers = []
    value = 0
    for byte in record:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return (numbers[0], numbers[1]) if len(numbers) >= 2 else (0, 0)
