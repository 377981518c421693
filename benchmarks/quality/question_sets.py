"""Notes with questions and known answers."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETS = Path(__file__).resolve().parent / "sets"
LANGUAGES = ("de", "es", "fr", "pt", "ru", "zh", "ja", "ko")
"""Languages of the paraphrases besides English."""
NOTE_SETS = ("zh", "ja", "ko", "mixed")
"""Sets of notes in scripts without spaces."""
FACTS_PER_LIST = 6
_MARKER = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")

Files = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Question:
    """`gold` are the lines that answer it, by path in the workspace and number; off-topic questions have none.

    `is_open` tells the half that was looked at while rules were chosen from the half that was kept.
    """

    id: str
    text: str
    gold: tuple[tuple[str, int], ...] = ()
    is_open: bool = True


@dataclass(frozen=True)
class QuestionSet:
    """Files of one workspace, as lines by path, and questions about them."""

    id: str
    files: Files
    questions: Sequence[Question]

    def line(self, path: str, number: int) -> str:
        return self.files[path][number - 1]

    def facts(self, question: Question) -> list[str]:
        """The lines that answer, without list markers and with single spaces."""
        return [plain(self.line(*gold)) for gold in question.gold]


def plain(line: str) -> str:
    return " ".join(_MARKER.sub("", line, count=1).split())


def write_files(files: Files, workspace: Path) -> None:
    """Make `files` all that the workspace holds."""
    workspace.mkdir(parents=True, exist_ok=True)
    for old in workspace.rglob("*.md"):
        if old.relative_to(workspace).as_posix() not in files:
            old.unlink()
    for path, lines in files.items():
        file, text = workspace / path, "\n".join(lines) + "\n"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")


def paraphrases(language: str = "en") -> QuestionSet:
    """One file for each note; no question shares a word with its note."""
    rows = list(_rows(SETS / "paraphrases" / f"{language}.jsonl"))
    return _one_file_each("paraphrases" if language == "en" else f"paraphrases-{language}", rows)


def cross() -> QuestionSet:
    """Notes in several languages, each with a question in another one."""
    return _one_file_each("cross", list(_rows(SETS / "cross.jsonl")))


def lists() -> QuestionSet:
    """The English paraphrases with their notes in files of six list items."""
    return _listed("lists", list(_rows(SETS / "paraphrases" / "en.jsonl")), "question")


def prompts() -> QuestionSet:
    """Long coding prompts with one fact to recall, among the English notes of the paraphrases."""
    asked = _listed("prompts", list(_rows(SETS / "prompts.jsonl")), "prompt")
    return QuestionSet(asked.id, {**paraphrases().files, **asked.files}, asked.questions)


def notes(name: str) -> QuestionSet:
    """One of `NOTE_SETS`."""
    whole = json.loads((SETS / f"{name}.json").read_text(encoding="utf-8"))
    return _pooled(name, [whole], below="")


def conversations(file: Path) -> QuestionSet:
    """LoCoMo, which is not part of the project: all conversations of a file in one workspace."""
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        return _pooled("locomo", json.load(stream), below="memory/")


def off_topic(kind: str) -> list[Question]:
    """Questions that the English paraphrases do not answer: "far" from all of them, or "near" to some."""
    rows = _rows(SETS / "off_topic.jsonl")
    return [Question(row["id"], row["question"], is_open=row["is_open"]) for row in rows if row["kind"] == kind]


def off_topic_for_notes(name: str) -> list[Question]:
    """Questions that one of `NOTE_SETS` does not answer, in its language."""
    if name == "mixed":
        return off_topic("far")
    rows = _rows(SETS / "off_topic_cjk.jsonl")
    return [Question(row["id"], row["question"], is_open=row["is_open"]) for row in rows if row["language"] == name]


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSONL file; the first, third, … line is of the open half."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
        yield {**json.loads(line), "is_open": number % 2 == 0}


def _one_file_each(name: str, rows: Sequence[Mapping[str, Any]]) -> QuestionSet:
    files = {f"memory/{row['id']}.md": [row["note"]] for row in rows}
    asked = [Question(row["id"], row["question"], ((f"memory/{row['id']}.md", 1),), row["is_open"]) for row in rows]
    return QuestionSet(name, files, asked)


def _listed(name: str, rows: Sequence[Mapping[str, Any]], key: str) -> QuestionSet:
    files: dict[str, list[str]] = {}
    asked = []
    for number, row in enumerate(rows):
        path = f"memory/{name}-{number // FACTS_PER_LIST + 1:02d}.md"
        files.setdefault(path, []).append(f"- {row['note']}")
        asked.append(Question(row["id"], row[key], ((path, len(files[path])),), row["is_open"]))
    return QuestionSet(name, files, asked)


def _pooled(name: str, parts: Sequence[Mapping[str, Any]], *, below: str) -> QuestionSet:
    files = {below + file["path"]: file["lines"] for part in parts for file in part["files"]}
    rows = [row for part in parts for row in part["questions"]]
    questions = [
        Question(row["id"], row["q"], tuple((below + path, line) for path, line in row["gold"]), number % 2 == 0)
        for number, row in enumerate(rows)
    ]
    return QuestionSet(name, files, questions)
