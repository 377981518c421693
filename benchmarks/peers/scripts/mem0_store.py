"""mem0 without a language model (`infer=False`), on its default store, a Qdrant in the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mem0 import Memory
from plain_store import RESULTS, main

USER = "bench"


class Mem0Store:
    def __init__(self, home: Path) -> None:
        store = {"provider": "qdrant", "config": {"path": str(home / "qdrant"), "on_disk": True}}
        self._memory = Memory.from_config({"vector_store": store, "history_db_path": str(home / "history.db")})

    def replace(self, files: dict[str, list[str]], known: dict[str, Any]) -> dict[str, Any]:
        for memories in known.values():
            for memory in memories:
                self._memory.delete(memory)
        return {name: self._add(name, chunks) for name, chunks in files.items()}

    def _add(self, name: str, chunks: list[str]) -> list[str]:
        messages = [{"role": "user", "content": chunk} for chunk in chunks]
        added = self._memory.add(messages, user_id=USER, metadata={"path": name}, infer=False)
        return [each["id"] for each in added["results"]]

    def search(self, question: str) -> list[Any]:
        found: list[Any] = self._memory.search(question, top_k=RESULTS, filters={"user_id": USER})["results"]
        return found


if __name__ == "__main__":
    main(Mem0Store)
