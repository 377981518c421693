"""A LangGraph store whose items are notes of the agent."""

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
from memslot import CanKeepFiles, CanRefresh, Host, MemslotError, search_memory

from memslot_adapters.langgraph.filters import fits, matches
from memslot_adapters.langgraph.item import Stored
from memslot_adapters.langgraph.item_files import NoteFiles
from memslot_adapters.memory_run import run_to_completion

_RANKED = 200
"""Passages to ask the memory for; it ranks all notes, and namespaces are filtered afterwards."""
_log = logging.getLogger("memslot.adapters")


class MemoryStore(BaseStore):
    """Long-term items in the agent's notes: `graph.compile(store=MemoryStore(host))`.

    Each is a note file of the memory, in the folder `store`: people can read it, and the memory finds it. A search
    with a query returns the items that the memory ranks, best first and with a score, then all others, newest first and
    without a score. TTL is not supported.
    """

    __slots__ = ("_files", "_memory", "_warned")

    def __init__(self, host: Host) -> None:
        """Use the first of the host's memories that keeps note files. Raises a MemslotError if none does."""
        found = host.memories.first(CanKeepFiles)
        if found is None:
            reason = host.memory_problem or f"{' and '.join(host.memories.ids)} keeps none"
            raise MemslotError(f"the store keeps its items in the memory's note files: {reason}")
        _, memory = found
        self._memory = memory
        self._files = NoteFiles(memory.files())
        self._warned: set[str] = set()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out several operations; reads see the state before the writes."""
        listed = list(ops)
        for op in listed:
            validate_op_namespace(op)
        results = [self._look(op) for op in listed]
        # The last write to an item wins.
        puts = {(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)}
        if puts:
            with self._files.locked(puts):
                self._put(list(puts.values()))
            self._memory.files_changed(*(self._files.path_of(namespace, key) for namespace, key in puts))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The async twin of batch, in a worker thread. Writes finish even if the caller is cancelled."""
        listed = list(ops)
        if any(isinstance(op, PutOp) for op in listed):
            return await run_to_completion(self.batch, listed)
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
        raise ValueError(f"unknown operation: {type(op).__name__}")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found = [stored for stored in self._files.below(op.namespace_prefix) if fits(stored.value, op.filter)]
        found.sort(key=lambda stored: (stored.updated, stored.namespace, stored.key), reverse=True)
        scores = self._scores(op.query) if found and op.query and op.query.strip() else {}
        results = [stored.to_search_item(self._score(scores, stored)) for stored in found]
        results.sort(key=lambda item: -1.0 if item.score is None else item.score, reverse=True)
        return results[op.offset : op.offset + op.limit]

    def _score(self, scores: dict[str, float], stored: Stored) -> float | None:
        return None if stored.index is False else scores.get(self._files.path_of(stored.namespace, stored.key))

    def _scores(self, query: str) -> dict[str, float]:
        """Each note's best score, by path."""
        if isinstance(self._memory, CanRefresh):
            self._memory.refresh()
        outcome = search_memory(self._memory, query, max_results=_RANKED, min_score=0.0)
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
