"""The `memory.qmd` section of the config."""

# No `from __future__ import annotations`: the fields' types are read.

from typing import Any, Literal

from memslot import Section, Text, setting

_DURATION: dict[str, Any] = {"pattern": "^[0-9]{1,9}(ms|s|m|h|d)$", "examples": ["90s", "5m", "1h"]}


class QmdPath(Section):
    path: Text = setting(..., "A file or folder that QMD should index; ~ is your home.")
    pattern: Text | None = setting(None, "Only files that match this glob, such as **/*.md.")
    name: Text | None = setting(None, "A stable name for the collection, used in result paths.")


class QmdSessions(Section):
    enabled: bool = setting(False, "Export transcripts, cleaned, for QMD to index.")
    export_dir: Text | None = setting(None, "Folder for the exported transcripts.")
    retention_days: int | None = setting(
        None, "Exported transcripts older than this are removed.", minimum=1, maximum=36_500
    )


class QmdUpdate(Section):
    interval: str = setting("5m", "How often QMD checks for changes, such as 90s, 5m or 1h.", **_DURATION)
    debounce_ms: int = setting(
        15_000, "Minimum time between two updates, in milliseconds.", minimum=0, maximum=3_600_000
    )
    on_boot: bool = setting(True, "Update when the host starts.")
    embed_interval: str | None = setting(None, "How often vectors are updated; unset: with every update.", **_DURATION)


class QmdLimits(Section):
    max_results: int = setting(6, "Maximum results per search.", minimum=1, maximum=200)
    max_snippet_chars: int = setting(700, "Maximum snippet length, in characters.", minimum=20, maximum=100_000)
    max_injected_chars: int = setting(
        4000, "Maximum total length of all snippets, in characters.", minimum=20, maximum=1_000_000
    )
    timeout_ms: int = setting(
        4000, "Time-out in milliseconds, after which the builtin index is used instead.", minimum=100, maximum=600_000
    )


class ScopeMatch(Section):
    chat_type: Literal["direct", "group", "channel"] | None = setting(None, "Only chats of this kind.")
    channel: Text | None = setting(None, "Only this channel.")
    key_prefix: Text | None = setting(None, "Only sessions whose key starts with this.")


class ScopeRule(Section):
    action: Literal["allow", "deny"] = setting(..., "What happens when the rule matches.")
    match: ScopeMatch = setting(ScopeMatch, "Conditions; {} always matches.")


class Scope(Section):
    default: Literal["allow", "deny"] = setting("deny", "What happens when no rule matches.")
    rules: tuple[ScopeRule, ...] = setting(
        (ScopeRule(action="allow", match=ScopeMatch(chat_type="direct")),),
        "Rules; the first match decides. Default: direct chats only.",
    )


class Qmd(Section):
    command: Text = setting("qmd", "The program's name or path.", format="code")
    search_mode: Literal["search", "vsearch", "query"] = setting(
        "search", "Keywords (search), meaning (vsearch), or both with re-ranking (query)."
    )
    include_default_memory: bool = setting(True, "Index MEMORY.md and memory/**/*.md.")
    paths: tuple[QmdPath, ...] = setting((), "More files and folders to index.")
    sessions: QmdSessions = setting(QmdSessions, "Transcripts in QMD.")
    update: QmdUpdate = setting(QmdUpdate, "When QMD's index is updated.")
    limits: QmdLimits = setting(QmdLimits, "Sizes and times.")
    scope: Scope = setting(Scope, "In which chats QMD answers.")
