"""`memorySearch`: the embedder that memory is indexed with. A memory's manifest describes its other keys."""

from memslot.config.section import Section, Text, setting


class RemoteBatch(Section):
    enabled: bool = setting(False, "Use the provider's batch API, which is cheaper and slower.")
    wait: bool = setting(True, "Wait for a batch job to finish before indexing goes on.")
    concurrency: int = setting(2, "Batch jobs at one time.", minimum=1, maximum=64)
    poll_interval_ms: int = setting(2000, "Milliseconds between status checks.", minimum=100, maximum=600_000)
    timeout_minutes: int = setting(60, "Minutes after which a batch job is abandoned.", minimum=1, maximum=10_080)


class Remote(Section):
    base_url: Text | None = setting(None, "Base URL of an API that speaks the provider's protocol.")
    api_key: str | None = setting(None, 'The API key; prefer "${NAME}", an environment variable.', shown=False)
    headers: dict[str, str] = setting({}, "Extra HTTP headers for every request.", shown=False)
    batch: RemoteBatch = setting(RemoteBatch, "The provider's batch API.")


class Local(Section):
    model_path: Text | None = setting(None, "A GGUF file, or hf:owner/repo/file.gguf to download.")
    model_cache_dir: Text | None = setting(None, "Folder for downloaded models.")


class MemorySearch(Section):
    """The embedder of one agent's memory; `written` also contains the keys that the memory reads itself."""

    enabled: bool = setting(True, "Index and search memory.")
    provider: Text = setting("auto", 'Embedding provider; "auto" picks one, "none" searches by keywords only.')
    model: Text | None = setting(None, "Embedding model; unset: the provider's own default.")
    dimensions: int | None = setting(
        None, "Vector length to ask the provider for; unset: the model's own.", minimum=1, maximum=65_536
    )
    fallback: Text = setting("none", 'Provider used when the first one fails; "none" for none.')
    remote: Remote = setting(Remote, "Providers reached over the network.")
    local: Local = setting(Local, "The local GGUF provider.")


class Memory(Section):
    """Agent-independent memory settings."""

    search: MemorySearch = setting(MemorySearch, "Alias of agents.defaults.memorySearch.")
