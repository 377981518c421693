"""What the benchmark needs to know of a peer: how it is installed, and the commands that a person would type."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from environments import Environment

SCRIPTS = Path(__file__).parent / "scripts"
EMBEDDING_MODEL = "text-embedding-3-small"

Command = list[str]


@dataclass(frozen=True)
class Place:
    """Where a peer works: the notes are in `workspace/memory`, all that it writes goes into `home`."""

    environment: Environment
    workspace: Path
    home: Path
    url: str

    @property
    def notes(self) -> Path:
        return self.workspace / "memory"

    @property
    def env(self) -> dict[str, str]:
        """A plain environment, so that no setting of the person who measures gets in."""
        return {
            "PATH": self.environment.path,
            "HOME": str(self.home),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "NO_COLOR": "1",
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": self.url,
            "ANONYMIZED_TELEMETRY": "False",  # chroma
            "MEM0_TELEMETRY": "False",
            "LLM_USER_PATH": str(self.home / "llm"),
        }


def nothing_to_configure(place: Place) -> None:
    """Most peers take all from the environment."""


@dataclass(frozen=True)
class Peer:
    """A product: `searches` says by what, `remark` what a reader of its row must know."""

    id: str
    title: str
    searches: str
    remark: str
    install: Callable[[Path], Environment]
    sync: Callable[[Place], Command]
    search: Callable[[Place, str], Command]
    answer: Callable[[Place], Command]
    """Starts a process that answers questions; see cost.Answerer."""
    configure: Callable[[Place], None] = nothing_to_configure
    first_index: Callable[[Place], Command] | None = None
    """Where that is another command than `sync`."""
