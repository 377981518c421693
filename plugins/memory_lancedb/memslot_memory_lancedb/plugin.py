"""The hooks of memory-lancedb."""

from __future__ import annotations

from memslot import MemorySearchOutcome, MemoryStatus, PluginContext, hookimpl

NOT_YET = "this version opens no store yet: it neither captures nor recalls"


class LanceMemory:
    """Holds the place in the slot and says plainly what it cannot do."""

    def __init__(self, location: str) -> None:
        self.location = location

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        return MemorySearchOutcome(hits=(), mode="none", warning=NOT_YET, action="use memory-core")

    def status(self) -> MemoryStatus:
        return MemoryStatus(backend="lancedb", problems=(NOT_YET,), details={"dbPath": self.location})

    def close(self) -> None:
        """Nothing is open."""


@hookimpl
def register_memory(ctx: PluginContext) -> LanceMemory:
    return LanceMemory(ctx.config.get("dbPath") or str(ctx.places.memory_dir / "lancedb"))
