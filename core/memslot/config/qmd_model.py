"""`memory`: which backend answers, how sources are cited, and the QMD program's settings."""

from typing import Annotated, Any, Literal

from memslot.config.search_model import MemorySearch
from memslot.config.section import Section, Text, choice, items, required, section, setting

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class _DurationText:
    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.str_schema(pattern=r"^[0-9]{1,9}(ms|s|m|h|d)$", strict=True)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return {**handler(schema), "examples": ["90s", "5m", "1h"]}


Duration = Annotated[str, _DurationText()]


def duration_seconds(text: str) -> float:
    """Seconds in a checked duration such as "5m"."""
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * _UNITS[unit]


class QmdPath(Section):
    path: Text = required("A file or folder that QMD should index; ~ is your home.")
    pattern: Text | None = setting(None, "Only files that match this glob, such as **/*.md.")
    name: Text | None = setting(None, "A stable name for the collection, used in result paths.")


class QmdSessions(Section):
    enabled: bool = setting(False, "Export transcripts, cleaned, for QMD to index.")
    export_dir: Text | None = setting(None, "Folder for the exported transcripts.")
    retention_days: int | None = setting(None, "Exported transcripts older than this are removed.", ge=1, le=36_500)


class QmdUpdate(Section):
    interval: Duration = setting("5m", "How often QMD looks for changes, such as 90s, 5m or 1h.")
    debounce_ms: int = setting(15_000, "Least time between two updates, in milliseconds.", ge=0, le=3_600_000)
    on_boot: bool = setting(True, "Update when the host starts.")
    embed_interval: Duration | None = setting(
        None, "How often vectors are brought up to date; unset: with every update."
    )


class QmdLimits(Section):
    max_results: int = setting(6, "Results of one search.", ge=1, le=200)
    max_snippet_chars: int = setting(700, "Longest snippet, in characters.", ge=20, le=100_000)
    max_injected_chars: int = setting(4000, "Characters of all snippets together.", ge=20, le=1_000_000)
    timeout_ms: int = setting(4000, "Milliseconds after which the builtin index answers instead.", ge=100, le=600_000)


class ScopeMatch(Section):
    chat_type: Literal["direct", "group", "channel"] | None = choice(None, "Only chats of this kind.")
    channel: Text | None = setting(None, "Only this channel.")
    key_prefix: Text | None = setting(None, "Only sessions whose key begins like this.")


class ScopeRule(Section):
    action: Literal["allow", "deny"] = required("What happens when the rule matches.")
    match: ScopeMatch = section(ScopeMatch, "When the rule matches; {} is always.")


class Scope(Section):
    default: Literal["allow", "deny"] = choice("deny", "What happens when no rule matches.")
    rules: tuple[ScopeRule, ...] = items(
        (ScopeRule(action="allow", match=ScopeMatch(chat_type="direct")),),
        "Rules, the first that matches decides. Default: direct chats only.",
    )


class Qmd(Section):
    command: Text = setting("qmd", "The program, by name or by path.")
    search_mode: Literal["search", "vsearch", "query"] = choice(
        "search", "Keywords (search), meaning (vsearch), or both with re-ranking (query)."
    )
    include_default_memory: bool = setting(True, "Index MEMORY.md and memory/**/*.md.")
    paths: tuple[QmdPath, ...] = items((), "More files and folders to index.")
    sessions: QmdSessions = section(QmdSessions, "Transcripts in QMD.")
    update: QmdUpdate = section(QmdUpdate, "When QMD's index is updated.")
    limits: QmdLimits = section(QmdLimits, "Sizes and times.")
    scope: Scope = section(Scope, "In which chats QMD answers.")


class Memory(Section):
    """Settings of the memory that do not depend on the agent."""

    backend: Literal["builtin", "qmd"] = choice("builtin", "What searches the memory.")
    citations: Literal["auto", "on", "off"] = choice(
        "auto", "Name the source under each snippet; auto does so in direct chats."
    )
    search: MemorySearch = section(MemorySearch, "Another spelling of agents.defaults.memorySearch.")
    qmd: Qmd = section(Qmd, "Settings of the QMD backend.")
