"""The plugin's settings, as its manifest describes them and the host has checked them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from memslot import PluginContext

from memslot_memory_lancedb.capturing import CaptureRules
from memslot_memory_lancedb.recall.context import RecallLimits
from memslot_memory_lancedb.store.database import is_remote


@dataclass(frozen=True)
class Settings:
    """What the person set, with defaults for the rest."""

    location: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    embedding: Mapping[str, Any] = field(default_factory=dict, repr=False)
    auto_recall: bool = True
    auto_capture: bool = False
    recall: RecallLimits = field(default_factory=RecallLimits)
    capture: CaptureRules = field(default_factory=CaptureRules)
    chat_types: tuple[str, ...] = ("direct",)
    history: timedelta = timedelta(days=7)

    @classmethod
    def of(cls, ctx: PluginContext) -> Settings:
        config = ctx.config
        return cls(
            location=_location(config.get("dbPath"), ctx),
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
        )


def _location(written: str | None, ctx: PluginContext) -> str:
    """A folder of this machine, relative to memslot's home; or an address, as it is."""
    if not written:
        return str(ctx.places.memory_dir / "lancedb")
    return written if is_remote(written) else str(ctx.places.home / Path(written).expanduser())
