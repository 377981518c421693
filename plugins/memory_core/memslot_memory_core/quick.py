"""`memslot memory search` without the host: the index as it is, where nothing on disk has changed since.

Every import here is paid for by each search from a shell. What is out of the ordinary is left to the usual way.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from types import SimpleNamespace

from memslot_memory_core.index.facts import Facts
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.store import IndexFile, Snapshot
from memslot_memory_core.outcome import hit_lines, outcome_json
from memslot_memory_core.search.reading_once import gather_once
from memslot_memory_core.searching import Searcher
from memslot_memory_core.sources.files import discover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 2
"""Of what `quick_notes` keeps for this."""
MOST_RESULTS = 200
_SYNCED_SECONDS = 3600.0
"""Once an hour the usual way compares the disk with the index, and notes when it did, as the status shows."""


def search(arguments: list[str], kept: dict[str, Any]) -> dict[str, Any] | str | None:
    """What `memslot memory search` prints with these arguments, or None where only the usual way can tell."""
    if kept["format"] != FORMAT:
        raise ValueError("another version kept this")
    asked = read_arguments(arguments)
    if asked is None or (sys.stdout.isatty() and not asked.as_json):
        return None
    index = IndexFile(kept["index"], kept["agent"])
    try:
        with index.snapshot() as snapshot:
            if snapshot is None or not _is_settled(snapshot, kept) or not (asked.no_sync or _is_fresh(snapshot, kept)):
                return None
            last_chunk = snapshot.db.execute(f"SELECT max(id) FROM {snapshot.generation.tables.chunks}").get or 0
            words = partial(_open_words, kept, snapshot.generation.number, last_chunk)
        embedder = _Embedder(kept["embedder"])
        searcher = _make_searcher(index, embedder, words, kept)
        found = searcher.find(asked.query, max_results=asked.max_results, min_score=asked.min_score)
        embedder.close()
    finally:
        index.close()
    if not found.hits:
        return None
    if asked.as_json:
        return outcome_json(found, cites=kept["cites"], footer=False)
    if found.warning or found.action or found.stale:
        return None  # these go to stderr
    return "\n".join(line for hit in found.hits for line in (*hit_lines(hit), ""))


def _make_searcher(index: IndexFile, embedder: Any, open_words: Any, kept: dict[str, Any]) -> Searcher:
    """The usual searcher, with what it asks of its surroundings."""
    settings: Any = _namespace(kept["settings"])
    sources: Any = _Sources(kept)
    vectors: Any = None
    if kept["embedder"] is not None:
        from memslot_memory_core.index.vector_tables import VectorTables

        vectors = VectorTables(settings.store.vector.engine, settings.store.vector.extension_path)

    def read_texts(provider: Any) -> Any:
        return gather_once if provider is None else partial(gather_once, similar=open_words(provider).similar)

    return Searcher(index, sources, embedder, vectors, settings, read_texts=read_texts)


def _open_words(kept: dict[str, Any], generation: int, last_chunk: int, provider: Any) -> Any:
    from memslot_memory_core.search.kept_words import KeptWords

    extension_path = kept["settings"]["store"]["vector"]["extension_path"]
    return KeptWords(kept["words"], provider.embed_documents, generation, last_chunk, extension_path)


class _Sources:
    """What is indexed: as the index says, since that is settled."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self.workspace = kept["workspace"]
        self._identity = kept["identity"]

    def identity_of(self, pipeline: object) -> Identity:
        return Identity.from_json(self._identity)


class _Embedder:
    """The embedder that was chosen the last time, or none where the settings ask for none."""

    def __init__(self, kept: dict[str, Any] | None) -> None:
        self.advice: Any = None
        self.knows_words = False
        self._chosen: tuple[Any, Any] = (None, SimpleNamespace(requested="none", provider=None))
        if kept is not None:
            from memslot import QuickTwin

            pipeline = QuickTwin(*kept["twin"])
            self.advice, self.knows_words = SimpleNamespace(**kept["advice"]), kept["knowsWords"]
            self._chosen = pipeline, SimpleNamespace(requested=kept["requested"], provider=pipeline.provider)

    def choose(self) -> tuple[Any, Any]:
        return self._chosen

    def close(self) -> None:
        if self._chosen[0] is not None:
            self._chosen[0].close()


def read_arguments(arguments: list[str]) -> SimpleNamespace | None:
    """The query and the options, if they are plain; None where the usual way should read them."""
    asked = SimpleNamespace(query=None, max_results=None, min_score=None, no_sync=False, as_json=False)
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        if argument == "--json":
            asked.as_json = True
        elif argument == "--no-sync":
            asked.no_sync = True
        elif name in ("-n", "--max-results", "--min-score"):
            text = value if equals else next(left, "")
            # Only ASCII digits: Python would also take "1_0", " 7" and other scripts' digits, as the usual way does.
            if not text.isascii() or not text.replace(".", "", name == "--min-score").isdigit():
                return None
            if name == "--min-score":
                asked.min_score = float(text)
            else:
                asked.max_results = int(text)
        elif argument.startswith("-") or asked.query is not None:
            return None
        else:
            asked.query = argument
    is_plain = (
        (asked.query or "").replace("\0", " ").strip()
        and (asked.max_results is None or 1 <= asked.max_results <= MOST_RESULTS)
        and (asked.min_score is None or 0 <= asked.min_score <= 1)
    )
    return asked if is_plain else None


def _is_settled(snapshot: Snapshot, kept: dict[str, Any]) -> bool:
    """Whether a sync that finds nothing new would leave the index as it is."""
    generation = snapshot.generation
    ago = time.time() - (generation.synced_at or 0.0)
    tables = generation.tables
    waiting = "SELECT 1 FROM {} WHERE embedding_id IS NULL LIMIT 1"
    return (
        dict(generation.identity) == kept["identity"]
        and 0 <= ago < _SYNCED_SECONDS
        and snapshot.db.execute("SELECT count(*) FROM generations").get == 1
        and not Facts(snapshot.db).problems()
        and not (
            kept["embedder"]
            and any(snapshot.db.execute(waiting.format(table)).get for table in (tables.chunks, tables.turns))
        )
    )


def _is_fresh(snapshot: Snapshot, kept: dict[str, Any]) -> bool:
    """Whether the index has all files, as they are on disk now."""
    extra = [each if isinstance(each, str) else SimpleNamespace(**each) for each in kept["extraPaths"]]
    disk = discover(kept["workspace"], extra_paths=extra, sessions_dir=kept["sessions"])
    look = {"links": disk.skipped_links, "doubles": disk.doubles, "problems": [], "complete": True}
    if disk.problems or disk.unread or Facts(snapshot.db).read("look") != look:
        return False
    files = snapshot.db.execute(f"SELECT source, path, stamp FROM {snapshot.generation.tables.files}")
    return {(file.source, file.path, file.stamp) for file in disk.files} == set(files)


def _namespace(value: Any) -> Any:
    """Settings by their names, as the usual way has them."""
    if not isinstance(value, dict):
        return value
    return SimpleNamespace(**{key: _namespace(each) for key, each in value.items()})
