"""A conversation of another program, in the form in which it is taken over."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from memslot.sessions.lines import encode_message

Program = Literal["claude-code", "codex", "openclaw", "chatgpt", "memslot"]
PROGRAMS: tuple[Program, ...] = get_args(Program)


class ForeignLine(NamedTuple):
    """A line of a transcript of ours; `key` is what tells it from the others, also when it is imported again."""

    key: str
    raw: bytes
    time: int | None


@dataclass(frozen=True)
class ForeignSession:
    """A conversation that was found: `id` is the one it gets here, and is the same each time it is found.

    `header` is the first line where the file has one that can be kept as it is. `skipped` counts unreadable lines.
    """

    program: Program
    id: str
    their_id: str
    lines: tuple[ForeignLine, ...]
    title: str = ""
    started_at: int | None = None
    header: bytes | None = field(default=None, repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict)
    skipped: int = 0

    @property
    def last_time(self) -> int | None:
        return max((line.time for line in self.lines if line.time is not None), default=self.started_at)


def spoken_line(key: str, time: int | None, role: str, text: str, **more: Any) -> ForeignLine:
    """What somebody said, as a line of ours."""
    return ForeignLine(key, encode_message(key, time, {"role": role, "content": text, **more}), time)


def made_key(*parts: object) -> str:
    """A key for a line that has none of its own, from what does not change about it."""
    text = "\0".join(map(str, parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
