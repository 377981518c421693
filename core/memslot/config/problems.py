"""A config problem, with what a user needs to fix it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConfigProblem:
    """A problem at a dotted `key`; `value` is already safe to print, `hint` is the likely fix."""

    key: str
    reason: str
    value: str | None = None
    hint: str | None = None
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else ""
        value = f" is {self.value}" if self.value is not None else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.key}{value}: {self.reason}{hint}"
