"""The config sections of memory-core: its keys of `memorySearch`, and `memory`.

The manifest's `sections` are generated from these classes (`make docs`).
"""

# No `from __future__ import annotations`: the fields' types are read.

from typing import Literal

from memslot import MemorySearch, PluginContext, Section, Text, setting

from memslot_memory_core.qmd.section import Qmd


class ExtraPath(Section):
    path: Text = setting(..., "A file or folder, absolute or relative to the workspace; ~ is your home.")
    pattern: Text | None = setting(None, "Only files that match this glob, such as **/*.md.")


class VectorStore(Section):
    enabled: bool = setting(True, "Keep vectors in the index; off means keywords only.")
    extension_path: Text | None = setting(
        None, "A sqlite-vec library to load instead of the bundled one.", format="code"
    )
    engine: Literal["auto", "sqlite-vec", "vec1", "numpy"] = setting(
        "auto", "Vector search engine; auto picks by what is available and how many vectors there are."
    )
    parts: Literal["auto", "on", "off"] = setting(
        "auto",
        "Embed the list items and paragraphs of a chunk as well, so that a fact in a list is found by meaning. "
        "It doubles the text that is embedded; auto does so only if no text is sent to a service.",
    )


class Store(Section):
    driver: Literal["sqlite"] = setting("sqlite", "The kind of index.")
    path: Text | None = setting(
        None,
        "Index file; {agentId} stands for the agent, {workspace} for a short name of the workspace. "
        "Default: <home>/memory/{agentId}.sqlite for the home's own workspace, "
        "<home>/memory/{agentId}-{workspace}.sqlite for any other.",
    )
    vector: VectorStore = setting(VectorStore, "Vectors inside the index.")


class Chunking(Section):
    tokens: int = setting(400, "Size of a chunk, in tokens.", minimum=1, maximum=32_000)
    overlap: int = setting(
        80, "Tokens a chunk shares with the previous one; kept below tokens.", minimum=0, maximum=32_000
    )

    def __post_init__(self) -> None:
        self.__dict__["overlap"] = min(self.overlap, self.tokens - 1)


class SessionSync(Section):
    delta_bytes: int = setting(100_000, "Bytes a transcript grows by before it is indexed.", minimum=0)
    delta_messages: int = setting(50, "Messages a transcript grows by before it is indexed.", minimum=0)


class Sync(Section):
    on_session_start: bool = setting(True, "Look for changes when a session starts.")
    on_search: bool = setting(True, "Look for changes, in the background, when a search runs.")
    watch: bool = setting(True, "Watch the files for changes.")
    watch_debounce_ms: int = setting(
        1500, "Milliseconds of quiet before a change is indexed.", minimum=0, maximum=600_000
    )
    interval_minutes: int = setting(0, "Check for changes every N minutes; 0 turns it off.", minimum=0, maximum=10_080)
    sessions: SessionSync = setting(SessionSync, "When transcripts are indexed.")


class Mmr(Section):
    enabled: bool = setting(False, "Prefer results that differ from each other.")
    lambda_: float = setting(0.7, "1 is relevance only, 0 is diversity only.", alias="lambda", minimum=0, maximum=1)


class TemporalDecay(Section):
    enabled: bool = setting(False, "Lower the score of dated notes as they age.")
    half_life_days: float = setting(
        30.0, "Days after which a dated note's score is halved.", exclusiveMinimum=0, maximum=36_500
    )


class Hybrid(Section):
    enabled: bool = setting(True, "Search by keywords as well as by meaning.")
    vector_weight: float | None = setting(
        None, "Weight of meaning; unset: the built-in balance.", minimum=0, maximum=1_000_000
    )
    text_weight: float | None = setting(
        None, "Weight of keywords; unset: the built-in balance.", minimum=0, maximum=1_000_000
    )
    candidate_multiplier: int = setting(4, "Candidates examined per result.", minimum=1, maximum=100)
    mmr: Mmr = setting(Mmr, "Diversity among results.")
    temporal_decay: TemporalDecay = setting(TemporalDecay, "Age of dated notes.")

    def __post_init__(self) -> None:
        vector, text = normalised_weights(self.vector_weight, self.text_weight)
        self.__dict__.update(vector_weight=vector, text_weight=text)


class Query(Section):
    max_results: int = setting(6, "Maximum results per search.", minimum=1, maximum=200)
    min_score: float | None = setting(
        None,
        "Results below this are dropped. Unset: if the best result is below 0.35, all are marked as weak.",
        minimum=0,
        maximum=1,
    )
    snippet_max_chars: int = setting(700, "Maximum snippet length, in characters.", minimum=20, maximum=100_000)
    hybrid: Hybrid = setting(Hybrid, "Keywords and meaning together.")


class Cache(Section):
    enabled: bool = setting(True, "Cache embeddings, so that the same text is embedded only once.")
    max_entries: int = setting(
        50_000, "Maximum cached embeddings; the least recently used are evicted.", minimum=1, maximum=100_000_000
    )


class Experimental(Section):
    session_memory: bool = setting(False, 'Allow "sessions" in sources.')


class SearchSettings(MemorySearch):
    """How one agent's memory is indexed and searched."""

    sources: tuple[Literal["memory", "sessions"], ...] = setting(
        ("memory",), "What is indexed: Markdown files (memory), transcripts (sessions).", minItems=1
    )
    extra_paths: tuple[Text | ExtraPath, ...] = setting(
        (), "More Markdown files and folders, as a path or as {path, pattern}."
    )
    store: Store = setting(Store, "Where the index is kept.")
    chunking: Chunking = setting(Chunking, "How files are split into chunks.")
    sync: Sync = setting(Sync, "When changes are indexed.")
    query: Query = setting(Query, "How results are found and ranked.")
    cache: Cache = setting(Cache, "The embedding cache.")
    experimental: Experimental = setting(Experimental, "Features that may still change.")


class MemorySettings(Section):
    """Agent-independent memory settings."""

    backend: Literal["builtin", "qmd"] = setting("builtin", "The search backend.")
    citations: Literal["auto", "on", "off"] = setting(
        "auto", "Name the source under each snippet; auto does so in direct chats."
    )
    qmd: Qmd = setting(Qmd, "Settings of the QMD backend.")


def normalised_weights(vector: float | None, text: float | None) -> tuple[float | None, float | None]:
    """Return weights that sum to 1; two unset or two zeros stay None, so that the defaults apply."""
    if not vector and not text and (vector is None) == (text is None):
        return None, None
    if vector is None or text is None:
        given = vector if vector is not None else text
        assert given is not None
        rest = max(0.0, round(1.0 - given, 12))
        vector, text = (given, rest) if vector is not None else (rest, given)
    total = vector + text
    return vector / total, text / total


def search_settings(ctx: PluginContext) -> SearchSettings:
    """The agent's `memorySearch`, all layers merged."""
    return SearchSettings.from_tree(ctx.memory_search.written())


def memory_settings(ctx: PluginContext) -> MemorySettings:
    """The keys of `memory`."""
    return MemorySettings.from_tree(ctx.host_config.memory.written())
