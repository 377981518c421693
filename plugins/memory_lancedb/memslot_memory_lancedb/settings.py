"""The plugin's settings, validated by the host against the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from memslot import PluginContext, real_path

from memslot_memory_lancedb.auto_capture import CaptureRules
from memslot_memory_lancedb.recall.context import RecallLimits
from memslot_memory_lancedb.store.database import is_remote


@dataclass(frozen=True)
class Settings:
    """The settings, with defaults."""

    location: str
    owner: str
    """The owner of the memories: part of every query's condition and of table names."""
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    embedding: Mapping[str, Any] = field(default_factory=dict, repr=False)
    auto_recall: bool = True
    auto_capture: bool = False
    recall: RecallLimits = field(default_factory=RecallLimits)
    capture: CaptureRules = field(default_factory=CaptureRules)
    chat_types: tuple[str, ...] = ("direct",)
    history: timedelta = timedelta(days=7)
    purge_on_forget: bool = False
    duplicates_others: bool = False

    @classmethod
    def of(cls, ctx: PluginContext) -> Settings:
        config = ctx.config
        return cls(
            location=_location(config.get("dbPath"), ctx),
            owner=_owner(config["scope"], ctx),
            storage_options=dict(config.get("storageOptions") or {}),
            embedding=dict(config.get("embedding") or {}),
            auto_recall=config["autoRecall"],
            auto_capture=config["autoCapture"],
            recall=RecallLimits(
                count=config["recallLimit"],
                max_chars=config["recallMaxChars"],
                seconds=config["recallTimeoutMs"] / 1000,
            ),
            capture=CaptureRules(config["captureMaxChars"], tuple(config["customTriggers"])),
            chat_types=tuple(config["chatTypes"]),
            history=timedelta(days=config["historyDays"]),
            purge_on_forget=config["purgeOnForget"],
            duplicates_others=config["duplicateOtherMemories"],
        )


def _owner(scope: str, ctx: PluginContext) -> str:
    """The agent, or the agent in its workspace; agent ids contain no `@`, so they don't collide."""
    if scope == "agent":
        return ctx.agent_id
    real = real_path(ctx.workspace).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return f"{ctx.agent_id}@{real}"


def _location(written: str | None, ctx: PluginContext) -> str:
    """A local folder, relative to memslot's home, or an address as given."""
    if not written:
        return str(ctx.places.memory_dir / "lancedb")
    return written if is_remote(written) else str(ctx.places.home / Path(written).expanduser())
