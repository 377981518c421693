"""once, when the plugin is activated, and only for the plugin that owns the memory slot."""

from memslot import MemoryHit, MemorySearchOutcome, MemoryStatus, PluginContext, hookimpl


class OneFact:
    """A memory that knows one thing."""

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        hit = MemoryHit(path="fact.md", score=1.0, snippet="The answer is 42.", start_line=1, end_line=1)
        return MemorySearchOutcome(hits=[hit] if "answer" in query else [], mode="keywords")

    def status(self) -> MemoryStatus:
        return MemoryStatus(backend="one-fact", counts={"facts": 1})

    def close(self) -> None:
        """Nothing is open."""


@hookimpl
def register_memory(ctx: PluginContext) -> OneFact:
    return OneFact()
