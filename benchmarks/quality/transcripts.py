"""LongMemEval: each question with a haystack of conversations, which are one agent's transcripts."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from question_sets import Question
from series import Item, Series
from systems import SYSTEMS, load_host

AMONG = 5
RANKED = 50
"""Results asked for to rank sessions; enough for five sessions in all but odd cases."""
_SETTINGS = {"sources": ["sessions"], "experimental": {"sessionMemory": True}}


@dataclass(frozen=True)
class Haystack:
    """Conversations by id with their day, and a question that some of them answer together."""

    question: Question
    sessions: Sequence[tuple[str, str, Sequence[dict[str, str]]]]
    answers: frozenset[str]


def read_haystacks(file: Path) -> list[Haystack]:
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        rows = json.load(stream)
    return [
        Haystack(
            Question(row["question_id"], row["question"], is_open=number % 2 == 0),
            list(zip(row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True)),
            frozenset(row["answer_session_ids"]),
        )
        for number, row in enumerate(rows)
    ]


def ask_haystacks(system_name: str, haystacks: Sequence[Haystack], folder: Path) -> list[Series]:
    """all@5, any@5: all or any of the answer sessions are among the first five, ranked by their best result.
    all shown: all of them are among the six results that a search gives by default."""
    measured: dict[str, list[Item]] = {f"all@{AMONG}": [], f"any@{AMONG}": [], "all shown": []}
    for haystack in haystacks:
        with _opened(system_name, haystack, folder / haystack.question.id) as (memory, ids):
            text = haystack.question.text
            shown = [ids[Path(hit.path).stem] for hit in memory.search(text).hits]
            ranked = [ids[Path(hit.path).stem] for hit in memory.search(text, max_results=RANKED).hits]
        first = set(list(dict.fromkeys(ranked))[:AMONG])
        for measure, held in (
            (f"all@{AMONG}", haystack.answers <= first),
            (f"any@{AMONG}", bool(haystack.answers & first)),
            ("all shown", haystack.answers <= set(shown)),
        ):
            measured[measure].append(Item(haystack.question.id, haystack.question.is_open, float(held)))
    return [Series("longmemeval", measure, items) for measure, items in measured.items()]


@contextlib.contextmanager
def _opened(system_name: str, haystack: Haystack, folder: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """The memory of an agent that held these conversations, and their ids by the names of its transcripts."""
    system, home = SYSTEMS[system_name], folder / "home"
    sessions = home / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    ids = {}
    for number, (session_id, said_at, messages) in enumerate(haystack.sessions):
        name = f"{number:03d}"
        ids[name] = session_id
        (sessions / f"{name}.jsonl").write_text("".join(_transcript(said_at, messages)), encoding="utf-8")
    try:
        with system.ablation():
            host = load_host(home, {**system.settings, **_SETTINGS}, plugins=system.plugins)
            with contextlib.closing(host):
                memory: Any = host.memory
                memory.sync()
                yield memory, ids
    finally:
        shutil.rmtree(folder)


def _transcript(said_at: str, messages: Sequence[dict[str, str]]) -> Iterator[str]:
    moment = datetime.strptime(said_at, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
    for message in messages:
        said = {"role": message["role"], "content": message["content"]}
        yield json.dumps({"type": "message", "timestamp": moment.isoformat(), "message": said}) + "\n"
