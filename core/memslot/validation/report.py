"""Validation reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["ok", "note", "problem"]
"""A note is informational; only a problem fails validation."""


@dataclass(frozen=True)
class Check:
    """The result of one check. `name` is stable, for scripts; `message` is for humans."""

    name: str
    level: Level
    message: str

    @property
    def ok(self) -> bool:
        return self.level != "problem"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "level": self.level, "ok": self.ok, "message": self.message}


@dataclass
class Report:
    """All checks of one plugin."""

    plugin_id: str
    path: str
    checks: list[Check] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    def good(self, name: str, message: str) -> None:
        self.checks.append(Check(name, "ok", message))

    def note(self, name: str, message: str) -> None:
        self.checks.append(Check(name, "note", message))

    def bad(self, name: str, message: str) -> None:
        self.checks.append(Check(name, "problem", message))

    def to_json(self) -> dict[str, Any]:
        checks = [check.to_json() for check in self.checks]
        return {"id": self.plugin_id, "path": self.path, "ok": self.ok, "checks": checks}
