"""`memorySearch`: what is indexed, with which embedder, and how it is searched."""

from typing import Annotated, Any, Literal

from memslot.config.section import Section, Text, choice, items, required, section, setting

# Tags of a union show up in error paths; the angle brackets let them be told from keys.
TEXT_TAG, OBJECT_TAG = "<text>", "<object>"


class ExtraPath(Section):
    path: Text = required("A file or folder, absolute or relative to the workspace; ~ is your home.")
    pattern: Text | None = setting(None, "Only files that match this glob, such as **/*.md.")


class _TextOrObject:
    """Lets a fault name one of the two kinds, not both."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic import Discriminator, Tag

        kinds = Annotated[Text, Tag(TEXT_TAG)] | Annotated[ExtraPath, Tag(OBJECT_TAG)]
        tagged = Annotated[kinds, Discriminator(lambda value: OBJECT_TAG if isinstance(value, dict) else TEXT_TAG)]
        return handler.generate_schema(tagged)


AnyPath = Annotated[Text | ExtraPath, _TextOrObject()]


class RemoteBatch(Section):
    enabled: bool = setting(False, "Use the provider's batch API, which is cheaper and slower.")
    wait: bool = setting(True, "Wait for a batch job to finish before indexing goes on.")
    concurrency: int = setting(2, "Batch jobs at one time.", ge=1, le=64)
    poll_interval_ms: int = setting(2000, "Milliseconds between status checks.", ge=100, le=600_000)
    timeout_minutes: int = setting(60, "Minutes after which a job is given up.", ge=1, le=10_080)


class Remote(Section):
    base_url: Text | None = setting(None, "Address of an API that speaks the provider's protocol.")
    api_key: str | None = setting(None, 'The key; better "${NAME}", which reads an environment variable.', shown=False)
    headers: dict[str, str] = setting({}, "Extra HTTP headers for every request.", shown=False)
    batch: RemoteBatch = section(RemoteBatch, "The provider's batch API.")


class Local(Section):
    model_path: Text | None = setting(None, "A GGUF file, or hf:owner/repo/file.gguf to download.")
    model_cache_dir: Text | None = setting(None, "Folder for downloaded models.")


class VectorStore(Section):
    enabled: bool = setting(True, "Keep vectors in the index; off means keywords only.")
    extension_path: Text | None = setting(None, "The sqlite-vec library to load instead of ours.")
    engine: Literal["auto", "sqlite-vec", "vec1", "numpy"] = choice(
        "auto", "How vectors are searched; auto picks by what is there and how many there are."
    )
    parts: Literal["auto", "on", "off"] = choice(
        "auto",
        "Embed the list items and paragraphs of a chunk as well, so that a fact in a list is found by meaning. "
        "It doubles the text that is embedded; auto does it where nothing is sent to a service.",
    )


class Store(Section):
    driver: Literal["sqlite"] = choice("sqlite", "The kind of index.")
    path: Text | None = setting(
        None,
        "Index file; {agentId} stands for the agent, {workspace} for a short name of the workspace. "
        "Default: <home>/memory/{agentId}.sqlite for the home's own workspace, "
        "<home>/memory/{agentId}-{workspace}.sqlite for any other.",
    )
    vector: VectorStore = section(VectorStore, "Vectors inside the index.")


class Chunking(Section):
    tokens: int = setting(400, "Size of a chunk, in tokens.", ge=1, le=32_000)
    overlap: int = setting(80, "Tokens that a chunk shares with the one before it; kept below tokens.", ge=0, le=32_000)

    def __post_init__(self) -> None:
        self.__dict__["overlap"] = min(self.overlap, self.tokens - 1)


class SessionSync(Section):
    delta_bytes: int = setting(100_000, "Bytes a transcript grows by before it is indexed.", ge=0)
    delta_messages: int = setting(50, "Messages a transcript grows by before it is indexed.", ge=0)


class Sync(Section):
    on_session_start: bool = setting(True, "Look for changes when a session starts.")
    on_search: bool = setting(True, "Look for changes, in the background, when a search runs.")
    watch: bool = setting(True, "Watch the files for changes.")
    watch_debounce_ms: int = setting(1500, "Milliseconds of quiet before a change is indexed.", ge=0, le=600_000)
    interval_minutes: int = setting(0, "Check for changes every N minutes; 0 turns it off.", ge=0, le=10_080)
    sessions: SessionSync = section(SessionSync, "When transcripts are indexed.")


class Mmr(Section):
    enabled: bool = setting(False, "Prefer results that differ from each other.")
    lambda_: float = setting(0.7, "1 is relevance only, 0 is diversity only.", alias="lambda", ge=0, le=1)


class TemporalDecay(Section):
    enabled: bool = setting(False, "Let dated notes lose weight as they age.")
    half_life_days: float = setting(30.0, "Days after which a dated note counts half.", gt=0, le=36_500)


class Hybrid(Section):
    enabled: bool = setting(True, "Search by keywords as well as by meaning.")
    vector_weight: float | None = setting(
        None, "Weight of meaning; unset: both count as measured best.", ge=0, le=1_000_000
    )
    text_weight: float | None = setting(
        None, "Weight of keywords; unset: both count as measured best.", ge=0, le=1_000_000
    )
    candidate_multiplier: int = setting(4, "Candidates looked at for each result.", ge=1, le=100)
    mmr: Mmr = section(Mmr, "Diversity among results.")
    temporal_decay: TemporalDecay = section(TemporalDecay, "Age of dated notes.")

    def __post_init__(self) -> None:
        vector, text = normalised_weights(self.vector_weight, self.text_weight)
        self.__dict__.update(vector_weight=vector, text_weight=text)


class Query(Section):
    max_results: int = setting(6, "Results of one search.", ge=1, le=200)
    min_score: float | None = setting(
        None,
        "Results below this are dropped. Unset: where the best result is below 0.35, all are marked as weak.",
        ge=0,
        le=1,
    )
    snippet_max_chars: int = setting(700, "Longest snippet, in characters.", ge=20, le=100_000)
    hybrid: Hybrid = section(Hybrid, "Keywords and meaning together.")


class Cache(Section):
    enabled: bool = setting(True, "Keep embeddings, so that the same text is embedded once.")
    max_entries: int = setting(50_000, "Embeddings kept; oldest use goes.", ge=1, le=100_000_000)


class Experimental(Section):
    session_memory: bool = setting(False, 'Allow "sessions" in sources.')


class MemorySearch(Section):
    """How one agent's memory is indexed and searched."""

    enabled: bool = setting(True, "Index and search memory.")
    provider: Text = setting("auto", 'Embedding provider; "auto" picks one, "none" searches by keywords only.')
    model: Text | None = setting(None, "Embedding model; unset: the provider's own default.")
    dimensions: int | None = setting(
        None, "Vector length to ask the provider for; unset: the model's own.", ge=1, le=65_536
    )
    fallback: Text = setting("none", 'Provider used when the first one fails; "none" for none.')
    sources: tuple[Literal["memory", "sessions"], ...] = items(
        ("memory",), "What is indexed: Markdown files (memory), transcripts (sessions).", min_length=1
    )
    extra_paths: tuple[AnyPath, ...] = items((), "More Markdown files and folders, as a path or as {path, pattern}.")
    remote: Remote = section(Remote, "Providers reached over the network.")
    local: Local = section(Local, "The local GGUF provider.")
    store: Store = section(Store, "Where the index is kept.")
    chunking: Chunking = section(Chunking, "How files are cut into pieces.")
    sync: Sync = section(Sync, "When changes are indexed.")
    query: Query = section(Query, "How results are found and ranked.")
    cache: Cache = section(Cache, "Embeddings kept for the next time.")
    experimental: Experimental = section(Experimental, "Not settled yet.")


def normalised_weights(vector: float | None, text: float | None) -> tuple[float | None, float | None]:
    """Weights that sum to 1; two unset or two zeros stay open for the provider's advice."""
    if not vector and not text and (vector is None) == (text is None):
        return None, None
    if vector is None or text is None:
        given = vector if vector is not None else text
        assert given is not None
        rest = max(0.0, round(1.0 - given, 12))
        vector, text = (given, rest) if vector is not None else (rest, given)
    total = vector + text
    return vector / total, text / total
