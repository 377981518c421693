"""Files and batch jobs as a server keeps them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Job:
    """One job: what it was told, and the statuses it will go through, one for each look."""

    id: str
    told: dict[str, Any]
    lines: list[dict[str, Any]]
    ahead: list[str]
    output: str | None = None
    errors: str | None = None

    @property
    def status(self) -> str:
        return self.ahead[0]

    def look(self) -> None:
        if len(self.ahead) > 1:
            self.ahead.pop(0)


@dataclass
class Jobs:
    """`ahead` is what new jobs will go through; the last status stays. Texts with "FAIL" in them fail."""

    ahead: tuple[str, ...] = ("validating", "in_progress", "completed")
    unfinished: int = 0  # so many last requests are not done when the job ends
    files: dict[str, bytes] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def keep(self, content: bytes, prefix: str = "file-") -> str:
        name = f"{prefix}{next(self._numbers)}"
        self.files[name] = content
        return name

    def start(self, told: dict[str, Any], input_file: str, prefix: str = "batch-") -> Job:
        lines = [json.loads(line) for line in self.files[input_file].decode().splitlines()]
        job = Job(f"{prefix}{next(self._numbers)}", told, lines, list(self.ahead))
        self.jobs[job.id] = job
        return job

    def split(self, job: Job, is_bad: Callable[[dict[str, Any]], bool]) -> tuple[list[Any], list[Any], list[Any]]:
        """The requests that worked, last one first; those that failed; and those there was no time for."""
        reached = job.lines[: len(job.lines) - self.unfinished]
        good = [line for line in reversed(reached) if not is_bad(line)]
        return good, [line for line in reached if is_bad(line)], job.lines[len(reached) :]


def as_lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
