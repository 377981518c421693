"""The column of words: the stems of each text, which LanceDB's full-text index searches.

A store of an older version gets it by itself: the column is added empty, then filled in parts. A process that ends in
between leaves rows without stems; searches read those one by one, and the next process goes on with them.
"""

from __future__ import annotations

import threading

from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.predicate import WORDLESS
from memslot_memory_lancedb.store.schema import STEMS
from memslot_memory_lancedb.store.table import MemoryTable

WORDS_INDEX = "stems_idx"
AT_ONCE = 500
"""Rows that are written together."""


def are_due(table: MemoryTable) -> bool:
    """Whether rows lack their stems."""
    return not table.has_stems or table.count_wordless() > 0


def fill_stems(table: MemoryTable, cancelled: threading.Event | None = None) -> int:
    """Store the stems of all rows that lack them; how many. Two processes may do it at once."""
    if not table.has_stems:
        table.add_stems_column()
    missing = table.read(WORDLESS)
    for start in range(0, len(missing), AT_ONCE):
        if cancelled is not None and cancelled.is_set():
            return start
        table.fill_stems(missing[start : start + AT_ONCE])
    return len(missing)


def has_words_index(table: MemoryTable, database: Database) -> bool:
    return any(each.name == WORDS_INDEX for each in database.attempt(table.handle.list_indices))


def make_words_index(table: MemoryTable, database: Database) -> None:
    """Build the full-text index, anew where there is one. The stems are ours, so it only splits at blanks."""
    from lancedb.index import FTS

    config = FTS(
        base_tokenizer="whitespace",
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
        max_token_length=None,
    )
    database.attempt(lambda: table.handle.create_index(STEMS, config=config, name=WORDS_INDEX, replace=True))
