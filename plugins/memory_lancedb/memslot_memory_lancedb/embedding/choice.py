"""Which embedder is meant: the plugin's own `embedding` settings, or what the agent uses anyway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memslot import EmbeddingPipeline, PluginContext, Selection

if TYPE_CHECKING:
    from memslot_memory_lancedb.embedding.embedder import Choose

OPENAI = "openai"


def choose_by(ctx: PluginContext, embedding: Mapping[str, Any]) -> Choose:
    """A function that makes the pipeline when the embedder is first needed."""

    def choose() -> tuple[EmbeddingPipeline | None, Selection]:
        return ctx.pipeline(search_settings(ctx.memory_search, embedding) if embedding else None)

    return choose


def search_settings(agent: Any, embedding: Mapping[str, Any]) -> Any:
    """The agent's `memorySearch` with another embedder in it.

    Key, address and model of the agent's own provider are kept for that provider only.
    """
    provider = embedding.get("provider") or _implied_provider(embedding) or agent.provider
    written = agent.written()
    if provider != agent.provider:
        written = {key: written[key] for key in ("local",) if key in written}
    written["provider"] = provider
    for key in ("model", "dimensions"):
        if key in embedding:
            written[key] = embedding[key]
    remote = {key: embedding[key] for key in ("apiKey", "baseUrl") if key in embedding}
    if remote:
        # Another address gets nothing of what was meant for the first.
        kept = {} if "baseUrl" in remote else written.get("remote", {})
        written["remote"] = {**kept, **remote}
    return type(agent).from_tree(written)


def _implied_provider(embedding: Mapping[str, Any]) -> str | None:
    """Settings from before there was a choice name no provider: then it was OpenAI, or what speaks its protocol."""
    named = any(key in embedding for key in ("apiKey", "baseUrl"))
    return OPENAI if named or str(embedding.get("model", "")).startswith("text-embedding-") else None
