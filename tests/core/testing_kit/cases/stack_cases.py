"""Memory plugins that share the slot well, and some that do not: each in one way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memslot import (
    AgentStart,
    MemoryHit,
    MemoryReceipt,
    MemorySearchOutcome,
    MemoryStatus,
    RecalledItem,
    Tool,
    fence,
    hookimpl,
)
from memslot.testing import InlinePlugin, StackContract


class Files:
    """A text file for each agent."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        words = [word for word in query.casefold().rstrip("?").split() if len(word) > 3]
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        found = [(sum(word in line.casefold() for word in words) / (len(words) or 1), line) for line in lines]
        hits = [MemoryHit(self.file.name, score, line) for score, line in sorted(found, reverse=True) if score]
        return MemorySearchOutcome(hits[:max_results], mode="words")

    def remember(self, text: str, *, session: object = None) -> MemoryReceipt:
        with self.file.open("a") as file:
            file.write(f"{text}\n")
        return MemoryReceipt(self.file.name)

    def status(self) -> MemoryStatus:
        return MemoryStatus("files")

    def close(self) -> None: ...


class Good:
    """The plugin; subclasses spoil one thing."""

    tool = "my_look"

    def memory(self, ctx: Any) -> Files:
        return ctx.shared("files", lambda: Files(ctx.state_dir() / f"{ctx.agent_id}.txt"))

    @hookimpl
    def register_memory(self, ctx: Any) -> Any:
        return self.memory(ctx)

    @hookimpl
    def register_tools(self, ctx: Any) -> list[Tool]:
        return [Tool(self.tool, "Look.", {}, lambda args: "")]

    @hookimpl
    def before_agent_start(self, ctx: Any, run: Any) -> AgentStart | None:
        hits = self.memory(ctx).search(run.prompt).hits
        return self.start([hit.snippet for hit in hits])

    def start(self, texts: list[str]) -> AgentStart | None:
        return AgentStart(recalled=[RecalledItem(text, 0.8) for text in texts])

    @hookimpl
    def memory_written(self, ctx: Any, written: Any) -> None: ...


class Kit(StackContract):
    hooks: Any = Good

    @property
    def plugin(self) -> InlinePlugin:  # type: ignore[override]
        hooks = self.hooks()
        return InlinePlugin(hooks, "mine", "memory", {"provides": {"tools": [hooks.tool]}})


class TestGood(Kit):
    pass


class Silent(Good):
    def start(self, texts: list[str]) -> AgentStart | None:
        return None


class TestGoodWithoutRecall(Kit):
    hooks = Silent
    recalls = False


class TestRecallsNothing(Kit):
    hooks = Silent


class FencesItself(Good):
    def start(self, texts: list[str]) -> AgentStart | None:
        return AgentStart(prepend_context=fence(texts))


class TestFencesItself(Kit):
    hooks = FencesItself


class Greedy(Good):
    tool = "memory_search"


class TestTakesAToolOfAnother(Kit):
    hooks = Greedy
    beside = ("memory-core",)


class OneFile(Good):
    def memory(self, ctx: Any) -> Files:
        return ctx.shared("files", lambda: Files(ctx.state_dir() / "all.txt"))


class TestOneFileForAllAgents(Kit):
    hooks = OneFile


class Sensitive(Good):
    @hookimpl
    def memory_written(self, ctx: Any, written: Any) -> None:
        raise RuntimeError("nobody else may write")


class TestChokesOnNews(Kit):
    hooks = Sensitive


class Jealous(Good):
    """Looks at who else is in the slot, and refuses to search where that one is ill."""

    def memory(self, ctx: Any) -> Files:
        def make() -> Files:
            files = Files(ctx.state_dir() / f"{ctx.agent_id}.txt")
            search = files.search

            def search_after(query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
                for plugin_id, other in ctx.memories:
                    if plugin_id != "mine" and not other.search(query).hits:
                        raise RuntimeError("the other one found nothing")
                return search(query, max_results=max_results)

            files.search = search_after  # type: ignore[method-assign]
            return files

        return ctx.shared("files", make)


class TestLeansOnItsNeighbour(Kit):
    hooks = Jealous


class CannotClose(Good):
    def memory(self, ctx: Any) -> Files:
        memory = super().memory(ctx)
        memory.close = lambda: 1 / 0  # type: ignore[method-assign, assignment]
        return memory


class TestCannotClose(Kit):
    hooks = CannotClose
