"""Notes with questions and known answers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CONVERSATIONS = HERE.parents[2] / "shared" / "eval" / "locomo_open.json.gz"
NAMES = ("locomo", "zh", "ja", "ko", "mixed")


@dataclass(frozen=True)
class Question:
    """`gold` are the lines that answer it, by path in the workspace and number."""

    id: str
    text: str
    gold: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class QuestionSet:
    """Files of one workspace, as lines by path, and questions about them."""

    id: str
    files: Mapping[str, Sequence[str]]
    questions: Sequence[Question]

    def line(self, path: str, number: int) -> str:
        return self.files[path][number - 1]

    def write(self, workspace: Path) -> None:
        for path, lines in self.files.items():
            file = workspace / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def load_set(name: str, conversations: Path) -> QuestionSet:
    """One of `NAMES`. The conversations are not part of the project; the other sets lie beside this file."""
    if name == "locomo":
        with gzip.open(conversations, "rt", encoding="utf-8") as file:
            return _pooled(name, json.load(file), below="memory/")
    whole = json.loads((HERE / "sets" / f"{name}.json").read_text(encoding="utf-8"))
    return _pooled(name, [whole], below="")


def _pooled(name: str, parts: Sequence[Mapping[str, Any]], *, below: str) -> QuestionSet:
    files = {below + file["path"]: file["lines"] for part in parts for file in part["files"]}
    questions = [
        Question(each["id"], each["q"], tuple((below + path, line) for path, line in each["gold"]))
        for part in parts
        for each in part["questions"]
    ]
    return QuestionSet(name, files, questions)
