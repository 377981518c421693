"""LanceDB with its OpenAI embedding function and its full-text index; hybrid search with its own reranker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lancedb
from lancedb.embeddings import get_registry
from lancedb.pydantic import LanceModel, Vector
from plain_store import RESULTS, main

ROWS_AT_ONCE = 1000
"""Its embedding function sends all rows of an insert in one request; OpenAI takes 2,048 texts."""


class LanceStore:
    def __init__(self, home: Path) -> None:
        model: Any = get_registry().get("openai").create(name="text-embedding-3-small")

        class Chunk(LanceModel):
            path: str
            text: str = model.SourceField()
            vector: Vector(model.ndims()) = model.VectorField()  # type: ignore[valid-type]

        db = lancedb.connect(home / "lancedb")
        self._is_new = "chunks" not in db.table_names()
        self._table = db.create_table("chunks", schema=Chunk) if self._is_new else db.open_table("chunks")

    def replace(self, files: dict[str, list[str]], known: dict[str, Any]) -> dict[str, Any]:
        for name in known:
            self._table.delete(f"path = '{name}'")
        rows = [{"path": name, "text": chunk} for name, chunks in files.items() for chunk in chunks]
        for start in range(0, len(rows), ROWS_AT_ONCE):
            self._table.add(rows[start : start + ROWS_AT_ONCE])
        if self._is_new:
            self._table.create_fts_index("text")
        else:
            self._table.optimize()
        return {}

    def search(self, question: str) -> list[Any]:
        found = self._table.search(question, query_type="hybrid").limit(RESULTS).to_arrow()
        return found.select(["path", "text"]).to_pylist()


if __name__ == "__main__":
    main(LanceStore)
