"""The memory in the slot, and the parts that hooks, tools and commands share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from memslot import (
    MemoryHit,
    MemoryItem,
    MemoryPage,
    MemoryPoint,
    MemoryReceipt,
    MemorySearchOutcome,
    MemoryStatus,
    MemoryText,
    MemoryVersion,
    MemslotError,
    PluginContext,
    Session,
    SingleFlight,
    StillRunningError,
    one_line,
    redact,
    write_file,
)

from memslot_memory_lancedb.auto_capture import AutoCapture, CaptureRules
from memslot_memory_lancedb.capture.elsewhere import OtherMemories
from memslot_memory_lancedb.decisions import DecisionLog
from memslot_memory_lancedb.embedding.embedder import Choose, Embedder, pipeline_factory
from memslot_memory_lancedb.errors import NoSuchMemoryError
from memslot_memory_lancedb.maintenance import Maintenance
from memslot_memory_lancedb.memory_record import MemoryRecord, Origin, SearchHit
from memslot_memory_lancedb.memory_writer import MemoryWriter, WriteResult
from memslot_memory_lancedb.recall.background import Backgrounds
from memslot_memory_lancedb.recall.context import AutoRecall, RecallLimits
from memslot_memory_lancedb.recall.search import MemorySearcher
from memslot_memory_lancedb.settings import Settings
from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.predicate import WAITING, Owner
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.versions import history as list_history
from memslot_memory_lancedb.store.versions import restore as restore_version

DEFAULT_RESULTS = 5
MOST_DROPPED = 20
"""Candidates beyond the results that an explanation names."""
POINT_CHARS = 160
_PREFIX = "ltm/"
STATUS_SECONDS = 15.0


@dataclass(frozen=True)
class _StoreState:
    """The state of the store."""

    counts: dict[str, int]
    details: dict[str, object]
    problems: tuple[str, ...] = ()


class LanceMemory:
    """Long-term memory of one agent."""

    def __init__(
        self,
        location: str,
        agent_id: str,
        choose: Choose,
        state_dir: Path,
        *,
        storage_options: dict[str, str] | None = None,
        recall: RecallLimits = RecallLimits(),  # noqa: B008  it is frozen
        capture: CaptureRules = CaptureRules(),  # noqa: B008  it is frozen
        history: timedelta = timedelta(days=7),
        purge_on_forget: bool = False,
        tell: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self.embedder = Embedder(choose)
        database = Database(location, storage_options)
        self.store = MemoryStore(database, Owner(agent_id), machine=_machine(state_dir))
        self.writer = MemoryWriter(self.store, self.embedder)
        backgrounds = Backgrounds(self.embedder, state_dir)
        self.searcher = MemorySearcher(self.store, self.embedder, backgrounds)
        self.log = DecisionLog(state_dir / "decisions.sqlite", agent_id)
        self.auto_recall = AutoRecall(self.searcher, recall, database.prepare, tell)
        self.auto_capture = AutoCapture(self.writer, self.log, capture)
        self.maintenance = Maintenance(
            self.store, self.embedder, backgrounds, keep=history, purge_on_forget=purge_on_forget
        )
        self._status_flight: SingleFlight[_StoreState] = SingleFlight("status")

    def search(self, query: str, *, max_results: int | None = None, explain: bool = False) -> MemorySearchOutcome:
        """Search; a hit's score is its relevance, and its explanation, if asked for, has the details."""
        from memslot.retrieval import WEAK_SCORE

        limit = max_results or DEFAULT_RESULTS
        recalled = self.searcher.find(query, limit + MOST_DROPPED if explain else limit)
        hits, dropped = recalled.found[:limit], recalled.found[limit:]
        self.maintenance.check_now()
        identity = self.embedder.identity if self.embedder.is_chosen else None
        return MemorySearchOutcome(
            hits=[
                MemoryHit(
                    path=path_of(each.memory.id),
                    score=round(each.relevance, 4),
                    snippet=redact(each.memory.text),
                    explanation={**each.to_json(), "parts": each.parts} if explain else None,
                )
                for each in hits
            ],
            mode=recalled.mode,
            provider=identity.provider if identity is not None else None,
            model=identity.model if identity is not None else None,
            warning=recalled.warning,
            action=recalled.action,
            weak=bool(hits) and hits[0].relevance < WEAK_SCORE,
            explanation={"dropped": [_dropped(each) for each in dropped]} if explain else None,
        )

    def keep(self, text: str) -> WriteResult:
        """Remember a text."""
        kept = self.writer.keep(text)
        self.maintenance.check_now()
        return kept

    # Capabilities

    def read(
        self, path: str, *, start_line: int = 1, max_lines: int = 200, session: Session | None = None
    ) -> MemoryText:
        """A memory's text by its path, `ltm/<id>`; empty if missing."""
        try:
            lines = redact(self.store.get(_id_in(path)).text).split("\n")
        except NoSuchMemoryError:
            return MemoryText(path, "", start_line)
        part = lines[start_line - 1 : start_line - 1 + max_lines]
        end = start_line + len(part)
        return MemoryText(path, "\n".join(part), start_line, len(part), end if part and end <= len(lines) else None)

    def list_items(self, *, cursor: str | None = None, limit: int = 100, session: Session | None = None) -> MemoryPage:
        """Memories, the newest first."""
        start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
        found, total = self.store.newest(limit, start)
        items = [_item(each) for each in found]
        end = start + len(found)
        return MemoryPage(items, str(end) if found and end < total else None)

    def remember(self, text: str, *, session: Session | None = None) -> MemoryReceipt:
        """Store a text, unless it is a duplicate."""
        kept = self.writer.keep(text, origin=Origin(session=session.id if session is not None else ""))
        self.maintenance.check_now()
        return MemoryReceipt(path_of(kept.memory.id), kept.action == "created", kept.warning)

    def forget(self, path: str) -> bool:
        """Delete a memory by its path."""
        try:
            return self.forget_all([self.store.get(_id_in(path))]) > 0
        except NoSuchMemoryError:
            return False

    def update(self, path: str, text: str, *, expected: str | None = None) -> MemoryReceipt:
        """Replace a memory's text; its previous form stays in the history."""
        changed = self.writer.change(_id_in(path), text=text, expected=expected)
        self.maintenance.check_now()
        if changed.action == "duplicate":
            raise MemslotError(f"the same is remembered as {path_of(changed.memory.id)}, and nothing was written")
        return MemoryReceipt(path, is_new=False, warning=changed.warning)

    def versions(self, *, limit: int = 50) -> list[MemoryVersion]:
        """The versions of the table, the newest first."""
        newest = reversed(list_history(self.store)[-limit:])
        return [MemoryVersion(str(each.number), each.at, each.memories) for each in newest]

    def restore(self, version: str) -> None:
        """Go back to a version, as `memslot ltm restore` does."""
        if not version.isdecimal():
            raise MemslotError(f"there is no version {version!r}")
        restore_version(self.store, int(version))
        self.maintenance.check_now()

    def points(self, *, limit: int = 500) -> list[MemoryPoint]:
        """An even sample of the memories that have a vector."""
        table = self.store.live()
        rows = table.sample_rows(limit) if table is not None else []
        return [
            MemoryPoint(
                path_of(row.memory.id),
                one_line(redact(row.memory.text), POINT_CHARS),
                row.vector.tolist(),
                row.memory.category,
                changed_at=row.memory.changed_at,
            )
            for row in rows
            if row.vector is not None
        ]

    def forget_all(self, memories: Sequence[MemoryRecord]) -> int:
        """Delete memories, and blank their text in the decision log; returns how many existed."""
        removed = self.writer.forget([each.id for each in memories])
        self.log.blank(memories)
        self.maintenance.check_now(forgotten=removed > 0)
        return removed

    def status(self) -> MemoryStatus:
        """The status; waits a while for a store that hangs, once. The first call also imports LanceDB."""
        try:
            seen = self._status_flight.call(STATUS_SECONDS, self._inspect)
        except (TimeoutError, StillRunningError):
            seen = _StoreState({}, {}, (f"{self.store.database.place} does not answer",))
        except MemslotError as error:
            seen = _StoreState({}, {}, (str(error),))
        known = (
            self.embedder.problem,
            self.auto_recall.problem,
            self.maintenance.problem,
            self.maintenance.reembedding,
        )
        problems = dict.fromkeys([*seen.problems, *(each for each in known if each)])
        details = {"dbPath": self.store.database.location, **seen.details}
        return MemoryStatus("lancedb", seen.counts, tuple(problems), details)

    def _inspect(self) -> _StoreState:
        table = self.store.live()
        if table is None:
            return _StoreState({"memories": 0}, {})
        stored, identity = table.generation.identity, None
        problems = []
        if self.embedder.is_chosen:
            identity = self.embedder.identity
            if identity is not None and identity != stored and self.maintenance.reembedding is None:
                problems.append(
                    f"the memories' vectors come from {stored or 'no embedder'}, but {identity} is in use, so search "
                    "uses keywords only; run: memslot ltm optimize"
                )
        memories = table.count()
        counts = {
            "memories": memories,
            "withWords": memories - table.count_without_stems(),
            "withVector": memories - table.count_without_vectors(),
        }
        if table.count_without_vectors():
            counts["withoutVector"] = table.count_without_vectors()
            counts["waitingForVector"] = table.count(WAITING)
        details: dict[str, object] = {
            "table": table.generation.table,
            "embedder": str(stored) if stored is not None else None,
            "version": table.version,
        }
        return _StoreState(counts, details, tuple(problems))

    def close(self) -> None:
        """Stop background work and close the store."""
        self.maintenance.close()
        self.embedder.close()
        self.store.close()


def _dropped(hit: SearchHit) -> dict[str, object]:
    return {"path": path_of(hit.memory.id), "score": round(hit.relevance, 4), "outcome": "beyond maxResults"}


def _item(memory: MemoryRecord) -> MemoryItem:
    details = {
        "category": memory.category,
        "importance": memory.importance,
        "created": memory.created_at,
        **({"session": memory.origin.session} if memory.origin.session else {}),
    }
    return MemoryItem(
        path_of(memory.id), redact(memory.text), memory.category, memory.changed_at, len(memory.text.encode()), details
    )


def path_of(memory_id: str) -> str:
    """The path that search and read use for a memory."""
    return _PREFIX + memory_id


def _id_in(path: str) -> str:
    return path.removeprefix(_PREFIX)


def memory_of(ctx: PluginContext) -> LanceMemory:
    """The agent's memory, shared by all hooks."""

    def make() -> LanceMemory:
        settings = Settings.of(ctx)
        return LanceMemory(
            settings.location,
            settings.owner,
            pipeline_factory(ctx, settings.embedding),
            _state_dir(ctx),
            storage_options=dict(settings.storage_options),
            recall=settings.recall,
            capture=settings.capture,
            history=settings.history,
            purge_on_forget=settings.purge_on_forget,
            tell=_warning_reporter(ctx),
        )

    return ctx.shared("memory", make)


def others_of(ctx: PluginContext) -> OtherMemories:
    """The other memories in the slot."""
    return ctx.shared("other memories", lambda: OtherMemories(ctx.plugin_id, memory_of(ctx).log, ctx.memories))


def _warning_reporter(ctx: PluginContext) -> Callable[[str], None]:
    """A function that adds a warning to the host's diagnostics."""
    return lambda problem: ctx.report("auto-recall", problem)


def _state_dir(ctx: PluginContext) -> Path:
    """The plugin's state folder; reading works without it if it can't be created."""
    try:
        return ctx.state_dir()
    except OSError:
        return ctx.places.plugin_state_dir(ctx.plugin_id)


def settings_of(ctx: PluginContext) -> Settings:
    return ctx.shared("settings", lambda: Settings.of(ctx))


def _machine(state_dir: Path) -> str:
    """An id of this installation, to distinguish machines that share a store."""
    file = state_dir / "machine"
    try:
        if known := file.read_text(encoding="utf-8").strip():
            return known
    except (OSError, ValueError):
        pass
    name = uuid.uuid4().hex
    try:
        write_file(file, name, mode=0o600)
    except OSError:
        return "unknown"
    return name
