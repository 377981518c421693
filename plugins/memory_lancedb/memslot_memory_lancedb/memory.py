"""The memory that memory-lancedb puts in the slot, and the parts that its hooks, tools and commands share."""

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
    MemoryReceipt,
    MemorySearchOutcome,
    MemoryStatus,
    MemoryText,
    MemslotError,
    PluginContext,
    Session,
    SingleFlight,
    StillRunningError,
    redact,
    write_file,
)

from memslot_memory_lancedb.capturing import AutoCapture, CaptureRules
from memslot_memory_lancedb.decisions import DecisionLog
from memslot_memory_lancedb.embedding.choice import choose_by
from memslot_memory_lancedb.embedding.embedder import Choose, Embedder
from memslot_memory_lancedb.errors import NoSuchMemoryError
from memslot_memory_lancedb.memories import Origin, Remembered
from memslot_memory_lancedb.recall.background import Backgrounds
from memslot_memory_lancedb.recall.context import AutoRecall, RecallLimits
from memslot_memory_lancedb.recall.finding import Recalling
from memslot_memory_lancedb.remembering import Kept, Remembering
from memslot_memory_lancedb.settings import Settings
from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.predicate import WAITING, Owner
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.upkeep import Upkeep

DEFAULT_RESULTS = 5
_PREFIX = "ltm/"
STATUS_SECONDS = 5.0


@dataclass(frozen=True)
class _Seen:
    """What a look at the store found."""

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
        self.remembering = Remembering(self.store, self.embedder)
        backgrounds = Backgrounds(self.embedder, state_dir)
        self.recalling = Recalling(self.store, self.embedder, backgrounds)
        self.log = DecisionLog(state_dir / "decisions.sqlite", agent_id)
        self.auto_recall = AutoRecall(self.recalling, recall, database.prepare, tell)
        self.auto_capture = AutoCapture(self.remembering, self.log, capture)
        self.upkeep = Upkeep(self.store, self.embedder, backgrounds, keep=history, purge_on_forget=purge_on_forget)
        self.history = history
        self._looking: SingleFlight[_Seen] = SingleFlight("status")

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        """Memories that fit a query, best first; a hit's score is its relevance, its explanation has the rest."""
        from memslot.retrieval import WEAK_SCORE

        recalled = self.recalling.find(query, max_results or DEFAULT_RESULTS)
        self.upkeep.nudge()
        identity = self.embedder.identity if self.embedder.is_chosen else None
        return MemorySearchOutcome(
            hits=[
                MemoryHit(
                    path=_path_of(each.memory),
                    score=round(each.relevance, 4),
                    snippet=redact(each.memory.text),
                    explanation=each.to_json(),
                )
                for each in recalled.found
            ],
            mode=recalled.mode,
            provider=identity.provider if identity is not None else None,
            model=identity.model if identity is not None else None,
            warning=recalled.warning,
            action=recalled.action,
            weak=bool(recalled.found) and recalled.found[0].relevance < WEAK_SCORE,
        )

    def keep(self, text: str) -> Kept:
        """Remember a text."""
        kept = self.remembering.keep(text)
        self.upkeep.nudge()
        return kept

    # Capabilities

    def read(
        self, path: str, *, start_line: int = 1, max_lines: int = 200, session: Session | None = None
    ) -> MemoryText:
        """A memory's text by its path, `ltm/<id>`; empty where there is none."""
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
        items = [MemoryItem(_path_of(each), redact(each.text), each.category, each.changed_at) for each in found]
        end = start + len(found)
        return MemoryPage(items, str(end) if found and end < total else None)

    def remember(self, text: str, *, session: Session | None = None) -> MemoryReceipt:
        """Keep a text, unless a memory says the same already."""
        kept = self.remembering.keep(text, origin=Origin(session=session.id if session is not None else ""))
        self.upkeep.nudge()
        return MemoryReceipt(_path_of(kept.memory), kept.action == "created", kept.warning)

    def forget(self, path: str) -> bool:
        """Remove a memory for good, by its path."""
        try:
            return self.forget_all([self.store.get(_id_in(path))]) > 0
        except NoSuchMemoryError:
            return False

    def forget_all(self, memories: Sequence[Remembered]) -> int:
        """Remove memories, and their words from the log of decisions; how many were there."""
        removed = self.remembering.forget([each.id for each in memories])
        self.log.blank(memories)
        self.upkeep.nudge(forgotten=removed > 0)
        return removed

    def status(self) -> MemoryStatus:
        """How it is; a store that hangs is waited for a few seconds, once."""
        try:
            seen = self._looking.call(STATUS_SECONDS, self._look)
        except (TimeoutError, StillRunningError):
            seen = _Seen({}, {}, (f"{self.store.database.place} does not answer",))
        except MemslotError as error:
            seen = _Seen({}, {}, (str(error),))
        known = (self.embedder.problem, self.auto_recall.problem, self.upkeep.problem, self.upkeep.reembedding)
        problems = dict.fromkeys([*seen.problems, *(each for each in known if each)])
        details = {"dbPath": self.store.database.location, **seen.details}
        return MemoryStatus("lancedb", seen.counts, tuple(problems), details)

    def _look(self) -> _Seen:
        table = self.store.live()
        if table is None:
            return _Seen({"memories": 0}, {})
        stored, identity = table.generation.identity, None
        problems = []
        if self.embedder.is_chosen:
            identity = self.embedder.identity
            if identity is not None and identity != stored and self.upkeep.reembedding is None:
                problems.append(
                    f"the memories' vectors are of {stored or 'no embedder'}, and {identity} is in use, so search "
                    "goes by words; run: memslot ltm optimize"
                )
        memories = table.count()
        counts = {
            "memories": memories,
            "withWords": memories - table.count_wordless(),
            "withVector": memories - table.count_vectorless(),
        }
        if table.count_vectorless():
            counts["withoutVector"] = table.count_vectorless()
            counts["waitingForVector"] = table.count(WAITING)
        details: dict[str, object] = {
            "table": table.generation.table,
            "embedder": str(stored) if stored is not None else None,
            "version": table.version,
        }
        return _Seen(counts, details, tuple(problems))

    def close(self) -> None:
        """Stop work in the background and let the store go."""
        self.upkeep.close()
        self.embedder.close()
        self.store.close()


def _path_of(memory: Remembered) -> str:
    return _PREFIX + memory.id


def _id_in(path: str) -> str:
    return path.removeprefix(_PREFIX)


def memory_of(ctx: PluginContext) -> LanceMemory:
    """The agent's memory, one for all hooks."""

    def make() -> LanceMemory:
        settings = Settings.of(ctx)
        return LanceMemory(
            settings.location,
            settings.owner,
            choose_by(ctx, settings.embedding),
            _state_dir(ctx),
            storage_options=dict(settings.storage_options),
            recall=settings.recall,
            capture=settings.capture,
            history=settings.history,
            purge_on_forget=settings.purge_on_forget,
            tell=_teller(ctx),
        )

    return ctx.shared("memory", make)


def _teller(ctx: PluginContext) -> Callable[[str], None]:
    """Puts a line into the host's diagnostics; the log and the status have it anyway."""
    return lambda problem: ctx.report("auto-recall", problem)


def _state_dir(ctx: PluginContext) -> Path:
    """The plugin's own folder; where it cannot be made, reading goes on without what it would hold."""
    try:
        return ctx.state_dir()
    except OSError:
        return ctx.places.plugin_state_dir(ctx.plugin_id)


def settings_of(ctx: PluginContext) -> Settings:
    return ctx.shared("settings", lambda: Settings.of(ctx))


def _machine(state_dir: Path) -> str:
    """A name for this installation, by which machines that share a store tell each other apart."""
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
