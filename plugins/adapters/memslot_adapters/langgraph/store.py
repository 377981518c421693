"""A store of LangGraph whose items are notes of the agent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import UTC, datetime

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)
from memslot import CanRefresh, Host, MemslotError, search_memory

from memslot_adapters.langgraph.files import NoteFiles, shown_path
from memslot_adapters.langgraph.filters import fits, matches
from memslot_adapters.langgraph.item import Stored
from memslot_adapters.memory_run import to_the_end

_RANKED = 200
"""How many passages the memory is asked for; it ranks all notes, and the namespace is looked at afterwards."""
_log = logging.getLogger("memslot.adapters")


class MemoryStore(BaseStore):
    """Long-term items in the agent's notes: `graph.compile(store=MemoryStore(host))`.

    Each is a Markdown file below `memory/store/` of the workspace, which a person can read and `memory_search` finds.
    A search with a query gives first what the memory ranks, best first and with a score, then the others without one,
    newest first; so it never leaves an item out. There is no time to live.
    """

    __slots__ = ("_files", "_host", "_warned")

    def __init__(self, host: Host) -> None:
        self._host = host
        workspace = host.config.workspace(host.agent_id, host.places)
        self._files = NoteFiles(workspace)
        self._warned: set[str] = set()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several things at once: all that is read is as it was before what is written."""
        listed = list(ops)
        for op in listed:
            validate_op_namespace(op)
        results = [self._look(op) for op in listed]
        # The last word on an item counts.
        puts = {(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)}
        if puts:
            with self._files.locked(puts):
                self._put(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The async twin of batch; it waits in a worker thread. What is written is written, also for who is gone."""
        listed = list(ops)
        if any(isinstance(op, PutOp) for op in listed):
            return await to_the_end(self.batch, listed)
        return await asyncio.to_thread(self.batch, listed)

    # Writing

    def _put(self, ops: list[PutOp]) -> None:
        now = datetime.now(UTC)
        written: list[tuple[Stored, bytes]] = []
        for op in ops:
            if op.value is not None:
                before = self._before(op)
                created = now if before is None else before.created
                stored = Stored(op.namespace, op.key, dict(op.value), created, now, op.index)
                written.append((stored, stored.to_note()))
        for stored, note in written:
            self._files.write(stored, note)
        for op in ops:
            if op.value is None:
                self._files.delete(op.namespace, op.key)

    def _before(self, op: PutOp) -> Stored | None:
        try:
            return self._files.get(op.namespace, op.key)
        except MemslotError as error:
            _log.warning("%s, and is replaced", error)
            return None

    # Reading

    def _look(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            found = self._files.get(op.namespace, op.key)
            return None if found is None else found.to_item()
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"a store has no operation of type {type(op).__name__}")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found = [stored for stored in self._files.below(op.namespace_prefix) if fits(stored.value, op.filter)]
        found.sort(key=lambda stored: (stored.updated, stored.namespace, stored.key), reverse=True)
        scores = self._scores(op.query) if found and op.query and op.query.strip() else {}
        results = [stored.to_search_item(self._score(scores, stored)) for stored in found]
        results.sort(key=lambda item: -1.0 if item.score is None else item.score, reverse=True)
        return results[op.offset : op.offset + op.limit]

    def _score(self, scores: dict[str, float], stored: Stored) -> float | None:
        return None if stored.index is False else scores.get(shown_path(stored))

    def _scores(self, query: str) -> dict[str, float]:
        """How well notes fit, by their path: of each the passage that fits best."""
        memory = self._host.memory
        if memory is None:
            self._warn(f"items are not ranked: {self._host.memory_problem or 'there is no memory'}")
            return {}
        if not isinstance(memory, CanRefresh):
            self._warn(f"items are not ranked: {self._host.memory_owner} does not search notes")
            return {}
        memory.refresh()
        outcome = search_memory(memory, query, max_results=_RANKED, min_score=0.0)
        if outcome.mode == "unavailable":
            self._warn(f"items are not ranked: {outcome.warning}")
        best: dict[str, float] = {}
        for hit in outcome.hits:
            best[hit.path] = max(hit.score, best.get(hit.path, 0.0))
        return best

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            _log.warning("%s", text)

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        known = {stored.namespace for stored in self._files.below(())}
        meant = (
            namespace
            for namespace in known
            if all(matches(namespace, condition) for condition in op.match_conditions or ())
        )
        depth = op.max_depth
        cut = sorted({namespace if depth is None else namespace[:depth] for namespace in meant})
        return cut[op.offset : op.offset + op.limit]
