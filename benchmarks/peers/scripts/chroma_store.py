"""Chroma's persistent client with its OpenAI embedding function; it searches by vectors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import chromadb
from chromadb.utils.embedding_functions import OpenAIEmbeddingFunction
from plain_store import RESULTS, main

ROWS_AT_ONCE = 1000
"""Its embedding function sends all rows of an insert in one request; OpenAI takes 2,048 texts."""


class ChromaStore:
    def __init__(self, home: Path) -> None:
        client = chromadb.PersistentClient(str(home / "chroma"))
        model = OpenAIEmbeddingFunction(
            api_key_env_var="OPENAI_API_KEY",
            model_name="text-embedding-3-small",
            api_base=os.environ["OPENAI_BASE_URL"],
        )
        self._notes: Any = client.get_or_create_collection("notes", embedding_function=model)  # type: ignore[arg-type]

    def replace(self, files: dict[str, list[str]], known: dict[str, Any]) -> dict[str, Any]:
        for name in known:
            self._notes.delete(where={"path": name})
        rows = [(name, number, chunk) for name, chunks in files.items() for number, chunk in enumerate(chunks)]
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[start : start + ROWS_AT_ONCE]
            self._notes.add(
                ids=[f"{name}#{number}" for name, number, _ in part],
                documents=[chunk for _, _, chunk in part],
                metadatas=[{"path": name} for name, _, _ in part],
            )
        return {}

    def search(self, question: str) -> list[Any]:
        found: list[Any] = self._notes.query(query_texts=[question], n_results=RESULTS)["documents"][0]
        return found


if __name__ == "__main__":
    main(ChromaStore)
