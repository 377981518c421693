"""`memory`: which backend answers, how sources are cited, and the QMD program's settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from memslot.config.search_model import MemorySearch
from memslot.config.section import Listed, Section, Text

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

Duration = Annotated[str, Field(pattern=r"^[0-9]{1,9}(ms|s|m|h|d)$", examples=["90s", "5m", "1h"])]


def duration_seconds(text: str) -> float:
    """Seconds in a checked duration such as "5m"."""
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * _UNITS[unit]


class QmdPath(Section):
    path: Text = Field(description="A file or folder that QMD should index; ~ is your home.")
    pattern: Text | None = Field(None, description="Only files that match this glob, such as **/*.md.")
    name: Text | None = Field(None, description="A stable name for the collection, used in result paths.")


class QmdSessions(Section):
    enabled: bool = Field(False, description="Export transcripts, cleaned, for QMD to index.")
    export_dir: Text | None = Field(None, description="Folder for the exported transcripts.")
    retention_days: int | None = Field(
        None, ge=1, le=36_500, description="Exported transcripts older than this are removed."
    )


class QmdUpdate(Section):
    interval: Duration = Field("5m", description="How often QMD looks for changes, such as 90s, 5m or 1h.")
    debounce_ms: int = Field(15_000, ge=0, le=3_600_000, description="Least time between two updates, in milliseconds.")
    on_boot: bool = Field(True, description="Update when the host starts.")
    embed_interval: Duration | None = Field(
        None, description="How often vectors are brought up to date; unset: with every update."
    )


class QmdLimits(Section):
    max_results: int = Field(6, ge=1, le=200, description="Results of one search.")
    max_snippet_chars: int = Field(700, ge=20, le=100_000, description="Longest snippet, in characters.")
    max_injected_chars: int = Field(4000, ge=20, le=1_000_000, description="Characters of all snippets together.")
    timeout_ms: int = Field(
        4000, ge=100, le=600_000, description="Milliseconds after which the builtin index answers instead."
    )


class ScopeMatch(Section):
    chat_type: Literal["direct", "group", "channel"] | None = Field(None, description="Only chats of this kind.")
    channel: Text | None = Field(None, description="Only this channel.")
    key_prefix: Text | None = Field(None, description="Only sessions whose key begins like this.")


class ScopeRule(Section):
    action: Literal["allow", "deny"] = Field(description="What happens when the rule matches.")
    match: ScopeMatch = Field(
        default_factory=ScopeMatch.model_construct, description="When the rule matches; {} is always."
    )


class Scope(Section):
    default: Literal["allow", "deny"] = Field("deny", description="What happens when no rule matches.")
    rules: Listed[ScopeRule] = Field(
        (ScopeRule(action="allow", match=ScopeMatch(chat_type="direct")),),
        description="Rules, the first that matches decides. Default: direct chats only.",
    )


class Qmd(Section):
    command: Text = Field("qmd", description="The program, by name or by path.")
    search_mode: Literal["search", "vsearch", "query"] = Field(
        "search", description="Keywords (search), meaning (vsearch), or both with re-ranking (query)."
    )
    include_default_memory: bool = Field(True, description="Index MEMORY.md and memory/**/*.md.")
    paths: Listed[QmdPath] = Field((), description="More files and folders to index.")
    sessions: QmdSessions = Field(default_factory=QmdSessions.model_construct, description="Transcripts in QMD.")
    update: QmdUpdate = Field(default_factory=QmdUpdate.model_construct, description="When QMD's index is updated.")
    limits: QmdLimits = Field(default_factory=QmdLimits.model_construct, description="Sizes and times.")
    scope: Scope = Field(default_factory=Scope.model_construct, description="In which chats QMD answers.")


class Memory(Section):
    """Settings of the memory that do not depend on the agent."""

    backend: Literal["builtin", "qmd"] = Field("builtin", description="What searches the memory.")
    citations: Literal["auto", "on", "off"] = Field(
        "auto", description="Name the source under each snippet; auto does so in direct chats."
    )
    search: MemorySearch = Field(
        default_factory=MemorySearch.model_construct, description="Another spelling of agents.defaults.memorySearch."
    )
    qmd: Qmd = Field(default_factory=Qmd.model_construct, description="Settings of the QMD backend.")
