"""The memory searched by QMD."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memslot import MemorySearchOutcome, MemoryStatus, Session, redact

from memslot_memory_core.qmd.collections import Collection, desired_collections, read_text
from memslot_memory_core.qmd.errors import QmdError, QmdPathError, QmdTimeoutError
from memslot_memory_core.qmd.home import QmdHome
from memslot_memory_core.qmd.output import make_hits, missing_vectors, read_rows
from memslot_memory_core.qmd.program import Output, QmdProgram
from memslot_memory_core.qmd.settings import QmdSettings, SearchMode, is_allowed
from memslot_memory_core.qmd.updates import UpdateLoop, Updater, UpdateReport
from memslot_memory_core.search_output import age, unavailable

_LEGS = {"search": "keywords", "vsearch": "vectors", "query": "hybrid"}
_SPARE_RESULTS = 10
_NOT_ALLOWED = "memory.qmd.scope does not allow memory in this chat"
FIRST_UPDATE_SECONDS = 3.0
"""How long a search waits for QMD's first index."""
_MAX_QUERY_CHARS = 2000
# Characters that are invalid in a program argument, or would start a new line of a structured query.
_UNFIT = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff\s]+")
_EXCLUSION = re.compile(r"(?:^|(?<=\s))-+")
_DIRECTIVE = re.compile(r"^(lex|vec|hyde|expand|intent):", re.IGNORECASE)


class QmdMemory:
    """One agent's notes, indexed and searched by the `qmd` program. Thread-safe. A search raises QmdError if QMD fails;
    `FallbackMemory` then uses the builtin index.
    """

    def __init__(
        self,
        settings: QmdSettings,
        *,
        workspace: Path,
        home: Path,
        transcripts: Path | None = None,
        render: Callable[[Path], str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.workspace = workspace.resolve()
        self._home = QmdHome(home)
        self._program = QmdProgram(settings.command, home)
        export = (settings.export_dir or self._home.sessions_dir) if settings.export_sessions and render else None
        self._export_dir = export
        self._updater = Updater(
            settings,
            self._program,
            self._home,
            collections=self.collections,
            transcripts=transcripts,
            export_dir=export,
            render=render,
            clock=clock,
        )
        self._loop: UpdateLoop | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def start(self) -> UpdateLoop | None:
        """Start updating QMD's index in the background; idempotent."""
        with self._lock:
            if self._loop is None and not self._is_closed:
                self._loop = UpdateLoop(
                    self._updater.try_update, interval=self.settings.interval, at_once=self.settings.on_boot
                )
            return self._loop

    def request_update(self) -> None:
        """Request a background update, limited by `debounceMs`."""
        if loop := self.start():
            loop.wake()

    def update(self, *, force: bool = True) -> UpdateReport | None:
        """Update QMD's index now; None if another process is doing so, or just did."""
        return self._updater.update(force=force)

    def collections(self) -> list[Collection]:
        """The collections by the current config and disk."""
        return desired_collections(self.settings, self.workspace, self._export_dir)

    def refusal(self, session: Session | None) -> MemorySearchOutcome | None:
        """The answer for a chat outside the scope, or None."""
        if is_allowed(self.settings.scope, session):
            return None
        return unavailable(_NOT_ALLOWED, "add a rule to memory.qmd.scope.rules to allow it")

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        session: Session | None = None,
        explain: bool = False,
        fresh_seconds: float | None = None,
        snippet_chars: int | None = None,
    ) -> MemorySearchOutcome:
        """Search with QMD; raises QmdError if it fails or exceeds the time limit.

        Sessions that are not direct don't see private notes. `fresh_seconds` is how long to wait for an update first.
        """
        if refusal := self.refusal(session):
            return refusal
        private = session is None or session.is_private
        limits, mode = self.settings, self.settings.mode
        text = plain_query(query, mode)
        self._refresh(fresh_seconds)
        collections, late = self._searchable(private=private)
        if not text or not collections:
            empty = "the query has no words" if not text else "there is nothing QMD may search in this chat"
            return MemorySearchOutcome(hits=[], mode=_LEGS[mode], provider="qmd", warning=empty)
        count = min(max_results or limits.max_results, limits.max_results)
        output = self._ask(text, collections, count + _SPARE_RESULTS)
        rows = read_rows(output.stdout)
        warnings, action = self._warnings(output.stderr)
        hits, dropped = make_hits(
            [row for row in rows if min_score is None or row.score >= min_score],
            collections,
            workspace=self.workspace,
            private=private,
            count=count,
            snippet_chars=snippet_chars or limits.max_snippet_chars,
            total_chars=limits.max_injected_chars,
        )
        if dropped:
            warnings.append(f"{dropped} of QMD's results were dropped: they belong to no collection of this agent")
        if not rows and mode == "search" and len(text.split()) > 1:
            warnings.append("QMD's keyword search finds only files that hold every word of the query")
            action = action or "Use fewer words, or set memory.qmd.searchMode to 'query'."
        if not hits:
            names = ", ".join(each.name for each in collections)
            warnings.append(f"no match in {names}, last indexed by QMD {age(self._home.read_state().updated_at)}")
            action = action or "Use other words, or update QMD with: memslot memory index"
        return MemorySearchOutcome(
            hits=hits,
            mode=_LEGS[mode],
            provider="qmd",
            warning="; ".join(warnings) or None,
            action=action,
            stale=self._staleness(late),
            explanation={"collections": [c.name for c in collections], "dropped": dropped} if explain else None,
        )

    def read_file(self, path: str, *, session: Session | None = None) -> str:
        """The text of `qmd/<collection>/<path>`, empty if the file is gone. Raises QmdPathError for other paths."""
        if self.refusal(session) is not None:
            raise QmdPathError(_NOT_ALLOWED)
        private = session is None or session.is_private
        return redact(read_text(self.collections(), path, private=private, workspace=self.workspace))

    def status(self, *, deep: bool = False) -> MemoryStatus:
        """The program's path, its collections and their freshness; `deep` also runs it."""
        state, updater = self._home.read_state(), self._updater
        problems = [problem for problem in (updater.problem, updater.embed_problem) if problem]
        try:
            program: str | None = str(self._program.find())
        except QmdError as error:
            program = None
            problems.append(f"{error}. {error.action}")
        try:
            collections: Sequence[Collection] = self.collections()
        except QmdError as error:
            collections = []
            problems.append(str(error))
        details: dict[str, Any] = {
            "program": program,
            "mode": _LEGS[self.settings.mode],
            "home": str(self._home.folder),
            "collections": [{"name": c.name, "root": str(c.root), "pattern": c.pattern} for c in collections],
            "updatedAt": _iso(state.updated_at),
            "embeddedAt": _iso(state.embedded_at),
        }
        if deep and program:
            try:
                details["version"] = self._program.run("--version", timeout=self.settings.timeout).stdout.strip()
            except QmdError as error:
                problems.append(str(error))
        if updater.skipped_sessions:
            details["skippedSessions"] = list(updater.skipped_sessions)
        return MemoryStatus("qmd", {"collections": len(collections)}, problems, details)

    def close(self) -> None:
        """Stop updating and kill the program if it is running."""
        with self._lock:
            self._is_closed = True
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.stop()
        self._program.stop()
        if loop is not None:
            loop.join()

    def _ask(self, text: str, collections: Sequence[Collection], count: int) -> Output:
        names = [part for each in collections for part in ("-c", each.name)]
        options = ("--json", "-n", str(count), *names)
        try:
            # After `--` nothing is an option, whatever the query starts with.
            return self._program.run(self.settings.mode, *options, "--", text, timeout=self.settings.timeout)
        except QmdTimeoutError as error:
            error.action = "Raise memory.qmd.limits.timeoutMs, or set memory.qmd.searchMode to 'search'."
            raise

    def _refresh(self, fresh_seconds: float | None) -> None:
        """Wait briefly for an update if requested, or if there has never been one."""
        never = not self._home.read_state().collections and self._updater.problem is None
        if fresh_seconds == 0 or (fresh_seconds is None and not never):
            return
        wait = FIRST_UPDATE_SECONDS if fresh_seconds is None else fresh_seconds
        if loop := self.start():
            loop.wake()
            loop.wait_for_update(min(wait, self.settings.timeout))

    def _searchable(self, *, private: bool) -> tuple[list[Collection], list[Collection]]:
        """The current collections that QMD has indexed, and those it has not.

        Raises QmdError before the first update.
        """
        state = self._home.read_state()
        wanted = [each for each in self.collections() if private or not each.private]
        ready = [each for each in wanted if state.collections.get(each.name) == each.key]
        if wanted and not ready:
            if problem := self._updater.problem:
                self.request_update()  # the problem may have been fixed since
                raise QmdError(problem, action=self._updater.action)
            raise QmdError("QMD has not indexed anything yet", retry_after=FIRST_UPDATE_SECONDS)
        return ready, [each for each in wanted if each not in ready]

    def _warnings(self, complaint: str) -> tuple[list[str], str | None]:
        """QMD's warnings about missing vectors; without any vectors a semantic search is no answer at all."""
        if self.settings.mode == "search" or (missing := missing_vectors(complaint)) is None:
            return [], None
        documents, percent = missing
        sentence = f"QMD has no vectors for {documents} documents ({percent} %)"
        action = "Wait for `qmd embed`, which runs in the background and downloads its model first."
        if percent >= 100 and self.settings.mode == "vsearch":
            raise QmdError(sentence, action=action)
        return [sentence], action

    def _staleness(self, late: Sequence[Collection]) -> str | None:
        parts = [f"QMD has not indexed {each.name} yet" for each in late]
        if problem := self._updater.problem:
            parts.append(f"QMD's index is from {_iso(self._home.read_state().updated_at)}: {problem}")
        return "; ".join(parts) or None


def _iso(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def plain_query(query: str, mode: SearchMode) -> str:
    """A query with QMD's syntax neutralized: `-n` doesn't exclude n, and a leading `lex:` is not a directive."""
    text = _UNFIT.sub(" ", query[: 2 * _MAX_QUERY_CHARS])
    text = _EXCLUSION.sub("", text).strip()[:_MAX_QUERY_CHARS]
    if mode == "query":
        text = _DIRECTIVE.sub(r"\1 ", text)
    return " ".join(text.split())
