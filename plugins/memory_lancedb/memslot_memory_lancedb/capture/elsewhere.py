"""Checks whether another memory in the slot already has a statement, so that it is not captured twice."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from memslot import CanRead, MemoryStack, MemoryWritten, MemslotError, Session, read_parts

from memslot_memory_lancedb.decisions import DecisionLog

SEARCH_SECONDS = 5.0
_SAME_TALK = 0.6
"""Share of a message's words that a recent note must contain: the model writes notes in its own words."""
_HITS = 3
_MOST_PARTS = 20


@dataclass(frozen=True)
class Kept:
    """Where a statement is already stored."""

    memory_id: str
    path: str

    def __str__(self) -> str:
        return f"{self.memory_id} keeps it already" + (f": {self.path}" if self.path else "")


class OtherMemories:
    """The other memories in the slot. Knows their latest writes from the hook, and searches them for older ones."""

    def __init__(self, own_id: str, log: DecisionLog, stack: MemoryStack | None) -> None:
        self._own_id = own_id
        self._log = log
        self._stack = stack

    def note(self, written: MemoryWritten) -> None:
        """Log what another memory has just stored; the agent's other processes read the log, too."""
        self._log.note_written(written.memory_id, written.path, written.text)

    def find(self, text: str, session: Session | None) -> Kept | None:
        """Return where another memory has this statement, if one does."""
        others = self._others()
        if not others:
            return None
        return next(self._search(text, others, session), None)

    def find_for_message(self, text: str, session: Session) -> Kept | None:
        """Like `find`, for a user's message: a note that the model has just written about it counts, too."""
        others = self._others()
        if not others:
            return None
        for memory_id, path, note in self._log.recently_written():
            about = _part_about(note, text) if memory_id in others else None
            if about is not None and self._still_has(memory_id, path, about):
                return Kept(memory_id, path)
        return next(self._search(text, others, session), None)

    def _still_has(self, memory_id: str, path: str, note: str) -> bool:
        """Whether a memory still has a note where it wrote it; yes, where it cannot say."""
        from memslot.retrieval import says

        assert self._stack is not None
        memory = dict(self._stack.having(CanRead)).get(memory_id)
        if memory is None or not path:
            return True

        def read() -> str:
            return "\n".join(part.text for part in islice(read_parts(memory, path), _MOST_PARTS))

        try:
            return says(self._stack.call(memory_id, "read", read, seconds=SEARCH_SECONDS), note)
        except MemslotError:
            return True

    def _others(self) -> list[str]:
        return [each for each in self._stack.ids if each != self._own_id] if self._stack is not None else []

    def _search(self, text: str, others: list[str], session: Session | None) -> Iterator[Kept]:
        from memslot.retrieval import says

        with contextlib.suppress(MemslotError):  # a memory that cannot be searched must not prevent capture
            assert self._stack is not None
            outcome = self._stack.search(text, max_results=_HITS, only=others, session=session, seconds=SEARCH_SECONDS)
            for found in outcome.hits:
                if says(found.hit.snippet, text):
                    yield Kept(found.memory_id, found.hit.citation)


def _part_about(note: str, message: str) -> str | None:
    """The line of a note, or all of it, that holds most words of a message and all of its numbers."""
    from memslot.retrieval import shared_words

    return next((each for each in (*note.split("\n"), note) if shared_words(each, message) >= _SAME_TALK), None)
