"""`memorySearch`: what is indexed, with which embedder, and how it is searched."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PrivateAttr, Tag, model_validator

from memslot.config.section import Listed, Section, Text

# Tags of a union show up in error paths; the angle brackets let them be told from keys.
TEXT_TAG, OBJECT_TAG = "<text>", "<object>"


class ExtraPath(Section):
    path: Text = Field(description="A file or folder, absolute or relative to the workspace; ~ is your home.")
    pattern: Text | None = Field(None, description="Only files that match this glob, such as **/*.md.")


def _kind_of_path(value: Any) -> str:
    return OBJECT_TAG if isinstance(value, dict | ExtraPath) else TEXT_TAG


AnyPath = Annotated[
    Annotated[Text, Tag(TEXT_TAG)] | Annotated[ExtraPath, Tag(OBJECT_TAG)], Discriminator(_kind_of_path)
]


class RemoteBatch(Section):
    enabled: bool = Field(False, description="Use the provider's batch API, which is cheaper and slower.")
    wait: bool = Field(True, description="Wait for a batch job to finish before indexing goes on.")
    concurrency: int = Field(2, ge=1, le=64, description="Batch jobs at one time.")
    poll_interval_ms: int = Field(2000, ge=100, le=600_000, description="Milliseconds between status checks.")
    timeout_minutes: int = Field(60, ge=1, le=10_080, description="Minutes after which a job is given up.")


class Remote(Section):
    base_url: Text | None = Field(None, description="Address of an API that speaks the provider's protocol.")
    api_key: str | None = Field(
        None, repr=False, description='The key; better "${NAME}", which reads an environment variable.'
    )
    headers: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Extra HTTP headers for every request."
    )
    batch: RemoteBatch = Field(default_factory=RemoteBatch.model_construct, description="The provider's batch API.")


class Local(Section):
    model_path: Text | None = Field(None, description="A GGUF file, or hf:owner/repo/file.gguf to download.")
    model_cache_dir: Text | None = Field(None, description="Folder for downloaded models.")


class VectorStore(Section):
    enabled: bool = Field(True, description="Keep vectors in the index; off means keywords only.")
    extension_path: Text | None = Field(None, description="The sqlite-vec library to load instead of ours.")
    engine: Literal["auto", "sqlite-vec", "vec1", "numpy"] = Field(
        "auto", description="How vectors are searched; auto picks by what is there and how many there are."
    )


class Store(Section):
    driver: Literal["sqlite"] = Field("sqlite", description="The kind of index.")
    path: Text | None = Field(
        None,
        description="Index file; {agentId} stands for the agent, {workspace} for a short name of the workspace. "
        "Default: <home>/memory/{agentId}.sqlite for the home's own workspace, "
        "<home>/memory/{agentId}-{workspace}.sqlite for any other.",
    )
    vector: VectorStore = Field(default_factory=VectorStore.model_construct, description="Vectors inside the index.")


class Chunking(Section):
    tokens: int = Field(400, ge=1, le=32_000, description="Size of a chunk, in tokens.")
    overlap: int = Field(
        80,
        ge=0,
        le=32_000,
        description="Tokens that a chunk shares with the one before it; kept below tokens.",
    )
    _overlap_as_written: int = PrivateAttr(0)

    @model_validator(mode="after")
    def _clamp_overlap(self) -> Chunking:
        self._overlap_as_written = self.overlap
        # Frozen for others: the validator is the one place that may still settle a value.
        self.__dict__["overlap"] = min(self.overlap, self.tokens - 1)
        return self

    def written(self) -> dict[str, Any]:
        tree = self.model_dump(by_alias=True, exclude_unset=True)
        return {**tree, "overlap": self._overlap_as_written} if "overlap" in tree else tree


class SessionSync(Section):
    delta_bytes: int = Field(100_000, ge=0, description="Bytes a transcript grows by before it is indexed.")
    delta_messages: int = Field(50, ge=0, description="Messages a transcript grows by before it is indexed.")


class Sync(Section):
    on_session_start: bool = Field(True, description="Look for changes when a session starts.")
    on_search: bool = Field(True, description="Look for changes, in the background, when a search runs.")
    watch: bool = Field(True, description="Watch the files for changes.")
    watch_debounce_ms: int = Field(
        1500, ge=0, le=600_000, description="Milliseconds of quiet before a change is indexed."
    )
    interval_minutes: int = Field(0, ge=0, le=10_080, description="Look for changes every so many minutes; 0 is never.")
    sessions: SessionSync = Field(
        default_factory=SessionSync.model_construct, description="When transcripts are indexed."
    )


class Mmr(Section):
    enabled: bool = Field(False, description="Prefer results that differ from each other.")
    lambda_: float = Field(0.7, alias="lambda", ge=0, le=1, description="1 is relevance only, 0 is diversity only.")


class TemporalDecay(Section):
    enabled: bool = Field(False, description="Let dated notes lose weight as they age.")
    half_life_days: float = Field(30.0, gt=0, le=36_500, description="Days after which a dated note counts half.")


class Hybrid(Section):
    enabled: bool = Field(True, description="Search by keywords as well as by meaning.")
    vector_weight: float | None = Field(
        None, ge=0, le=1_000_000, description="Weight of meaning; unset: what the provider advises."
    )
    text_weight: float | None = Field(
        None, ge=0, le=1_000_000, description="Weight of keywords; unset: what the provider advises."
    )
    candidate_multiplier: int = Field(4, ge=1, le=100, description="Candidates looked at for each result.")
    fusion: Literal["weighted", "rrf"] = Field("weighted", description="How the two rankings are joined.")
    mmr: Mmr = Field(default_factory=Mmr.model_construct, description="Diversity among results.")
    temporal_decay: TemporalDecay = Field(
        default_factory=TemporalDecay.model_construct, description="Age of dated notes."
    )
    _weights_as_written: dict[str, float | None] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _settle_weights(self) -> Hybrid:
        self._weights_as_written = {"vectorWeight": self.vector_weight, "textWeight": self.text_weight}
        vector, text = normalised_weights(self.vector_weight, self.text_weight)
        self.__dict__.update(vector_weight=vector, text_weight=text)
        return self

    def written(self) -> dict[str, Any]:
        tree = self.model_dump(by_alias=True, exclude_unset=True)
        return {key: self._weights_as_written.get(key, value) for key, value in tree.items()}


class Query(Section):
    max_results: int = Field(6, ge=1, le=200, description="Results of one search.")
    min_score: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Results below this are dropped; unset: what the provider advises, 0.35 if nothing.",
    )
    snippet_max_chars: int = Field(700, ge=20, le=100_000, description="Longest snippet, in characters.")
    hybrid: Hybrid = Field(default_factory=Hybrid.model_construct, description="Keywords and meaning together.")


class Cache(Section):
    enabled: bool = Field(True, description="Keep embeddings, so that the same text is embedded once.")
    max_entries: int = Field(50_000, ge=1, le=100_000_000, description="Embeddings kept; oldest use goes.")


class Experimental(Section):
    session_memory: bool = Field(False, description='Allow "sessions" in sources.')


class MemorySearch(Section):
    """How one agent's memory is indexed and searched."""

    enabled: bool = Field(True, description="Index and search memory.")
    provider: Text = Field(
        "auto", description='Embedding provider; "auto" picks one, "none" searches by keywords only.'
    )
    model: Text | None = Field(None, description="Embedding model; unset: the provider's own default.")
    dimensions: int | None = Field(
        None, ge=1, le=65_536, description="Vector length to ask the provider for; unset: the model's own."
    )
    fallback: Text = Field("none", description='Provider used when the first one fails; "none" for none.')
    sources: Listed[Literal["memory", "sessions"]] = Field(
        ("memory",),
        min_length=1,
        description="What is indexed: Markdown files (memory), transcripts (sessions).",
    )
    extra_paths: Listed[AnyPath] = Field(
        (), description="More Markdown files and folders, as a path or as {path, pattern}."
    )
    remote: Remote = Field(default_factory=Remote.model_construct, description="Providers reached over the network.")
    local: Local = Field(default_factory=Local.model_construct, description="The local GGUF provider.")
    store: Store = Field(default_factory=Store.model_construct, description="Where the index is kept.")
    chunking: Chunking = Field(default_factory=Chunking.model_construct, description="How files are cut into pieces.")
    sync: Sync = Field(default_factory=Sync.model_construct, description="When changes are indexed.")
    query: Query = Field(default_factory=Query.model_construct, description="How results are found and ranked.")
    cache: Cache = Field(default_factory=Cache.model_construct, description="Embeddings kept for the next time.")
    experimental: Experimental = Field(default_factory=Experimental.model_construct, description="Not settled yet.")

    def written(self) -> dict[str, Any]:
        """Only what somebody set, as they set it: layers merge on this and never on defaults."""
        tree = self.model_dump(by_alias=True, exclude_unset=True)
        if "chunking" in tree:
            tree["chunking"] = self.chunking.written()
        if "hybrid" in tree.get("query", {}):
            tree["query"]["hybrid"] = self.query.hybrid.written()
        return tree


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
