"""The stems column, which LanceDB's full-text index searches.

A store of an older version gets it automatically: the column is added empty, then filled in batches. If that is
interrupted, searches scan the rows without stems, and the next process continues.
"""

from __future__ import annotations

import threading

from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.predicate import WORDLESS
from memslot_memory_lancedb.store.schema import STEMS
from memslot_memory_lancedb.store.table import MemoryTable

WORDS_INDEX = "stems_idx"
AT_ONCE = 500
"""Rows per batch."""


def needs_stems(table: MemoryTable) -> bool:
    """Whether any rows lack stems."""
    return not table.has_stems or table.count_without_stems() > 0


def fill_stems(table: MemoryTable, cancelled: threading.Event | None = None) -> int:
    """Fill in missing stems; returns how many. Safe with concurrent processes."""
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
    """Build or rebuild the full-text index. Texts are stemmed already, so it only splits at blanks."""
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
