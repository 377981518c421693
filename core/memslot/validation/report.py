"""What was found out about a plugin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `name` is stable, for scripts; `message` is for people."""

    name: str
    ok: bool
    message: str


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
        self.checks.append(Check(name, True, message))

    def bad(self, name: str, message: str) -> None:
        self.checks.append(Check(name, False, message))

    def to_json(self) -> dict[str, Any]:
        checks = [{"name": check.name, "ok": check.ok, "message": check.message} for check in self.checks]
        return {"id": self.plugin_id, "path": self.path, "ok": self.ok, "checks": checks}
