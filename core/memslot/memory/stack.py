"""The memories in the slot as one: queried concurrently, each isolated and time-limited, with results merged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from memslot.diagnostics import Diagnostics
from memslot.errors import MemslotError, NameClashError
from memslot.events import MemoryWritten
from memslot.memory.answers import read_forgotten, read_outcome, read_receipt, read_status
from memslot.memory.capabilities import CanForget, CanRemember, MemoryReceipt, capabilities_of, has_capability
from memslot.memory.contract import Memory, MemoryHit, MemorySearchOutcome, MemoryStatus, search_memory
from memslot.memory.passages import CanEdit, Passage, without
from memslot.plugins.hooks import HookRunner, describe_failure

if TYPE_CHECKING:
    from memslot.events import Session

Value = TypeVar("Value")
DEFAULT_RESULTS = 6
SEARCH_SECONDS = 60.0
CALL_SECONDS = 15.0
WRITE_SECONDS = 60.0
STATUS_SECONDS = CLOSE_SECONDS = 30.0
HANGING_CLOSE_SECONDS = 1.0


@dataclass(frozen=True)
class StackHit:
    """A hit and the memory it is from."""

    memory_id: str
    hit: MemoryHit


@dataclass(frozen=True)
class StackOutcome:
    """Results of a search of all memories: one ranked list, and each memory's own outcome."""

    hits: Sequence[StackHit]
    outcomes: Mapping[str, MemorySearchOutcome] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    """Memories that did not answer, with the reason."""
    weak: bool = False
    """Whether no hit is a good match: they are only the closest ones."""


class MemoryStack:
    """All memories of the slot, in the config's order; the first is the owner. Iterates as (plugin id, memory)."""

    def __init__(
        self,
        runner: HookRunner,
        diagnostics: Diagnostics,
        memories: Mapping[str, Memory],
        absent: Callable[[], Mapping[str, str]] = dict,
        tell_written: Callable[[MemoryWritten], None] = lambda written: None,
        cosine: Callable[[str, str], float | None] = lambda one, other: None,
    ) -> None:
        self._runner = runner
        self._diagnostics = diagnostics
        self._memories = memories
        self._absent = absent
        self._tell_written = tell_written
        self._cosine = cosine

    def __iter__(self) -> Iterator[tuple[str, Memory]]:
        return iter(tuple(self._memories.items()))

    def __len__(self) -> int:
        return len(self._memories)

    @property
    def ids(self) -> tuple[str, ...]:
        """The plugins' ids, the owner's first."""
        return tuple(self._memories)

    @property
    def absent(self) -> Mapping[str, str]:
        """Plugins that the slot names but that provide no memory, with the reason."""
        return {plugin_id: why for plugin_id, why in self._absent().items() if plugin_id not in self._memories}

    def get(self, plugin_id: str) -> Memory | None:
        return self._memories.get(plugin_id)

    def having(self, *capabilities: type) -> list[tuple[str, Any]]:
        """Return the memories with all of these capabilities, such as `CanRead`, and their ids."""
        return [(each, memory) for each, memory in self if all(has_capability(memory, can) for can in capabilities)]

    def first(self, capability: type) -> tuple[str, Any] | None:
        """Return the first memory with a capability such as `CanRemember`, and its id."""
        return next(iter(self.having(capability)), None)

    # Reading

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        only: str | Collection[str] | None = None,
        session: Session | None = None,
        min_score: float | None = None,
        explain: bool = False,
        seconds: float = SEARCH_SECONDS,
    ) -> StackOutcome:
        """Search all or some memories concurrently; merge the results, best first, without duplicates.

        Without `max_results` each memory returns its default number, and the list has six, or as many as the longest.
        A memory that has not answered after `seconds` is left out.
        """
        from memslot.retrieval.fusion import fuse, shortlist

        chosen = self._chosen(only)
        options = {"session": session, "min_score": min_score, "explain": explain}
        asked = {
            each: partial(search_memory, self._memories[each], query, max_results=max_results, **options)
            for each in chosen
            if each in self._memories
        }
        outcomes, problems = self._ask("search", asked, read_outcome, seconds)
        problems |= {each: why for each, why in self.absent.items() if each in chosen}
        found = [StackHit(each, hit) for each in outcomes for hit in outcomes[each].hits[:max_results]]
        fused = fuse(
            [each.hit.snippet for each in found],
            [each.hit.score for each in found],
            [each.memory_id for each in found],
            weak=[each for each, outcome in outcomes.items() if outcome.weak],
            cosine=self._cosine,
        )
        hits = [replace(found[index], hit=replace(found[index].hit, score=score)) for index, score in fused]
        hits = [each for each in hits if min_score is None or each.hit.score >= min_score]
        longest = max(DEFAULT_RESULTS, *(len(outcome.hits) for outcome in outcomes.values()), 0)
        most = longest if max_results is None else max_results
        hits = [hits[index] for index in shortlist([h.hit.snippet for h in hits], [h.hit.score for h in hits], most)]
        weak = bool(hits) and all(outcomes[each.memory_id].weak for each in hits)
        return StackOutcome(hits, outcomes, problems, weak)

    def call(
        self, memory_id: str, stage: str, function: Callable[[], Value], *, seconds: float = CALL_SECONDS
    ) -> Value:
        """Call a function that uses one memory, in the memory's own thread; `stage` names it in diagnostics.

        Raises a MemslotError: the memory's own, or one that says how it failed or that it took longer than `seconds`.
        """
        value: Value = self._call(memory_id, stage, function, None, seconds, in_a_hurry=True)
        return value

    def statuses(self, *, seconds: float = STATUS_SECONDS) -> Mapping[str, MemoryStatus]:
        """Return each memory's health, including those that fail to report it within `seconds` or are missing."""
        asked = {each: partial(_call, memory, "status") for each, memory in self}
        known, problems = self._ask("status", asked, read_status, seconds)
        lost = {
            each: MemoryStatus(each, problems=(f"it did not report its status: {why}",))
            for each, why in problems.items()
        }
        absent = {each: MemoryStatus(each, problems=(f"it does not run: {why}",)) for each, why in self.absent.items()}
        return {each: (known | lost)[each] for each in asked} | absent

    # Writing

    def remember(
        self, text: str, *, into: str | None = None, session: Session | None = None
    ) -> tuple[str, MemoryReceipt]:
        """Store a text in the first memory that can, or in the one named; return its id and the receipt."""
        if into is None:
            found = self.first(CanRemember)
            if found is None:
                raise MemslotError(
                    f"no memory in the slot can store text; the slot holds: {', '.join(self.ids) or 'none'}"
                )
            memory_id, memory = found
        else:
            memory_id, memory = into, self._able(into, CanRemember, "remember a text")
        receipt: MemoryReceipt = self._write(
            memory_id, "remember", partial(_call, memory, "remember", text, session=session), read_receipt
        )
        if receipt.is_new:
            try:
                self._tell_written(MemoryWritten(memory_id, text, receipt.path, session, "remember"))
            except NameClashError as error:  # of plugins that were started to be told; the text is stored
                self._diagnostics.add(memory_id, "memory_written", f"was not announced: {error}", level="warning")
        return memory_id, receipt

    def forget(self, memory_id: str, path: str) -> bool:
        """Delete an item permanently; return False if that memory has none at that path."""
        memory = self._able(memory_id, CanForget, "forget")
        forgotten: bool = self._write(memory_id, "forget", partial(_call, memory, "forget", path), read_forgotten)
        return forgotten

    def remove(self, memory_id: str, passages: Sequence[Passage]) -> None:
        """Delete passages of one text. Raises a MemslotError if it has changed since they were read."""
        memory = self._able(memory_id, CanEdit, "forget single lines")
        path, whole = passages[0].path, passages[0].whole
        change = partial(_call, memory, "update", path, without(whole, passages), expected=whole)
        self._write(memory_id, "forget", change, read_receipt)

    def close(self) -> None:
        """Close all memories concurrently; one that hangs already delays none of them."""
        closing = {each: partial(_call, memory, "close") for each, memory in self}
        hanging = {each: closing.pop(each) for each in self.ids if self._runner.hangs(each)}
        self._ask("close", closing, lambda value: value, CLOSE_SECONDS)
        self._ask("close", hanging, lambda value: value, HANGING_CLOSE_SECONDS)

    # Calling

    def _chosen(self, only: str | Collection[str] | None) -> tuple[str, ...]:
        named = (*self.ids, *self.absent)
        if only is None:
            return named
        wanted = (only,) if isinstance(only, str) else tuple(only)
        if unknown := [each for each in wanted if each not in named]:
            raise MemslotError(f'no memory "{unknown[0]}" is in the slot, which holds: {", ".join(named) or "none"}')
        return tuple(each for each in named if each in wanted)

    def _able(self, memory_id: str, capability: type, verb: str) -> Any:
        """Return a memory by id. Raises a MemslotError if it is not here or lacks the capability."""
        self._chosen(memory_id)
        memory = self.get(memory_id)
        if memory is None:
            raise MemslotError(f"{memory_id} does not run: {self.absent[memory_id]}")
        if not has_capability(memory, capability):
            can = ", ".join(("search", *capabilities_of(memory)))
            raise MemslotError(f"{memory_id} cannot {verb}; what it can: {can}")
        return memory

    def _write(self, memory_id: str, stage: str, call: Callable[[], Any], read: Callable[[Any], Any]) -> Any:
        return self._call(memory_id, stage, call, read, WRITE_SECONDS)

    def _call(
        self,
        memory_id: str,
        stage: str,
        call: Callable[[], Any],
        read: Callable[[Any], Any] | None,
        budget: float,
        *,
        in_a_hurry: bool = False,
    ) -> Any:
        value, error, seconds = self._runner.call_function(
            memory_id, stage, call, budget=budget, convert=read, in_a_hurry=in_a_hurry
        )
        if error is None:
            return value
        if isinstance(error, MemslotError):  # the memory's own error, in its own words
            raise error
        why = describe_failure(error)
        self._diagnostics.add(memory_id, stage, why, duration_ms=seconds * 1000)
        raise MemslotError(f"{memory_id} failed: {why}") from error

    def _ask(
        self, stage: str, calls: Mapping[str, Callable[[], Any]], read: Callable[[Any], Any], budget: float
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Call several memories concurrently; return their answers and the reasons for missing ones."""
        answers: dict[str, Any] = {}
        problems: dict[str, str] = {}
        done = self._runner.call_functions(stage, calls, budget, read, in_a_hurry=True)
        for memory_id, (value, error, seconds) in done.items():
            if error is None:
                answers[memory_id] = value
            else:
                event = self._diagnostics.add(memory_id, stage, describe_failure(error), duration_ms=seconds * 1000)
                problems[memory_id] = event.message
        return answers, problems


def _call(memory: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """Look a method up and call it, in the memory's own thread: already the look may run its code."""
    return getattr(memory, method)(*arguments, **options)
