"""Audit findings: location, redacted excerpt and suggested action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memslot import MemoryFinding

SECRET, RECALLED = "secret", "recalled"
UNREADABLE, TOO_LARGE, LINK = "unreadable", "too-large", "link"
DUPLICATE, NEAR_DUPLICATE, STALE = "duplicate", "near-duplicate", "stale"
KINDS = (SECRET, RECALLED, UNREADABLE, TOO_LARGE, LINK, DUPLICATE, NEAR_DUPLICATE, STALE)
"""All kinds, most important first."""
EXCERPT_CHARS = 160


class NoteLines(NamedTuple):
    """Lines of a note, counted from 1; no lines for a finding about the whole file."""

    path: str
    start_line: int | None = None
    end_line: int | None = None

    @property
    def citation(self) -> str:
        if self.start_line is None:
            return self.path
        end = "" if self.end_line in (None, self.start_line) else f"-L{self.end_line}"
        return f"{self.path}#L{self.start_line}{end}"

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "startLine": self.start_line, "endLine": self.end_line}


@dataclass(frozen=True)
class Finding:
    """One finding; `others` are further occurrences of the same text."""

    kind: str
    spot: NoteLines
    excerpt: str
    action: str
    others: tuple[NoteLines, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            **self.spot.to_json(),
            "excerpt": self.excerpt,
            "action": self.action,
            "others": [other.to_json() for other in self.others],
        }

    def to_public(self) -> MemoryFinding:
        """The finding in the form that every memory gives."""
        where, others = self.spot, [(other.path, other.start_line) for other in self.others]
        return MemoryFinding(self.kind, where.path, self.excerpt, self.action, where.start_line, where.end_line, others)


@dataclass(frozen=True)
class AuditReport:
    """All findings, most important first, with the number of notes and passages checked."""

    files: int
    passages: int
    findings: Sequence[Finding] = field(default_factory=tuple)

    @property
    def counts(self) -> dict[str, int]:
        return {kind: sum(finding.kind == kind for finding in self.findings) for kind in KINDS}

    def to_json(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "passages": self.passages,
            "counts": self.counts,
            "findings": [finding.to_json() for finding in self.findings],
        }


def excerpt_of(lines: Sequence[str]) -> str:
    """The start of some lines as one line; the lines must be redacted already."""
    text = " ".join(" ".join(lines).split())
    return text if len(text) <= EXCERPT_CHARS else text[: EXCERPT_CHARS - 1] + "…"
