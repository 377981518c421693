"""`memory.qmd` parsed: durations as seconds, resolved folders, and the chat scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from memslot_memory_core.qmd.section import Qmd

from memslot import Session

SearchMode = Literal["search", "vsearch", "query"]
Action = Literal["allow", "deny"]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True)
class ScopeRule:
    """One rule: what it decides, and the conditions that must all hold."""

    action: Action
    chat_type: str | None = None
    channel: str | None = None
    key_prefix: str | None = None


@dataclass(frozen=True)
class Scope:
    """Chats in which QMD may answer; the first matching rule decides."""

    default: Action = "deny"
    rules: Sequence[ScopeRule] = (ScopeRule("allow", chat_type="direct"),)


@dataclass(frozen=True)
class ExtraPath:
    """An additional file or folder to index."""

    path: str
    pattern: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class QmdSettings:
    """All settings in `memory.qmd`."""

    command: str = "qmd"
    mode: SearchMode = "search"
    include_default_memory: bool = True
    paths: Sequence[ExtraPath] = ()
    export_sessions: bool = False
    export_dir: Path | None = None
    retention_days: int | None = None
    interval: float = 300.0
    debounce: float = 15.0
    on_boot: bool = True
    embed_interval: float | None = None
    max_results: int = 6
    max_snippet_chars: int = 700
    max_injected_chars: int = 4000
    timeout: float = 4.0
    scope: Scope = field(default_factory=Scope)


def seconds(text: str) -> float:
    """Seconds in a duration such as "90s" or "5m", as the config allows them."""
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * _UNITS[unit]


def settings_from(qmd: Qmd) -> QmdSettings:
    """Read the checked `memory.qmd`."""
    update, limits, sessions = qmd.update, qmd.limits, qmd.sessions
    return QmdSettings(
        command=qmd.command,
        mode=qmd.search_mode,
        include_default_memory=qmd.include_default_memory,
        paths=tuple(ExtraPath(each.path, each.pattern, each.name) for each in qmd.paths),
        export_sessions=sessions.enabled,
        export_dir=Path(sessions.export_dir).expanduser() if sessions.export_dir else None,
        retention_days=sessions.retention_days,
        interval=seconds(update.interval),
        debounce=update.debounce_ms / 1000,
        on_boot=update.on_boot,
        embed_interval=seconds(update.embed_interval) if update.embed_interval else None,
        max_results=limits.max_results,
        max_snippet_chars=limits.max_snippet_chars,
        max_injected_chars=limits.max_injected_chars,
        timeout=limits.timeout_ms / 1000,
        scope=Scope(
            qmd.scope.default,
            tuple(
                ScopeRule(rule.action, rule.match.chat_type, rule.match.channel, rule.match.key_prefix)
                for rule in qmd.scope.rules
            ),
        ),
    )


def is_allowed(scope: Scope, session: Session | None) -> bool:
    """Whether QMD may answer in this chat; always without a session, as on the command line.

    Ids of chats in a channel start with its name, as in `discord:group:42`, and may have the agent before that, as in
    `agent:main:discord:group:42`. So `channel` is compared with the first part of the id, and `keyPrefix` with its
    beginning, with and without the agent.
    """
    if session is None:
        return True
    for rule in scope.rules:
        if _matches(rule, session):
            return rule.action == "allow"
    return scope.default == "allow"


def _matches(rule: ScopeRule, session: Session) -> bool:
    """Whether all conditions of the rule hold; a rule without conditions always matches."""
    agent = f"agent:{session.agent_id}:"
    key = session.id.removeprefix(agent)
    if rule.chat_type is not None and rule.chat_type != session.chat_type:
        return False
    if rule.channel is not None and rule.channel.casefold() != _channel(key):
        return False
    return rule.key_prefix is None or key.startswith(rule.key_prefix) or (agent + key).startswith(rule.key_prefix)


def _channel(key: str) -> str | None:
    parts = key.split(":")
    if parts[0] == "channel" and len(parts) > 1:
        return parts[1].casefold()
    return parts[0].casefold() if len(parts) > 1 else None
