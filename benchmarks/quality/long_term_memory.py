"""memory-lancedb: each line of the conversations is a memory, and questions are prompts."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measures import Found, injected, recalled
from question_sets import QuestionSet, off_topic, plain
from series import Series
from stages import Pick

SAMPLE = 150
"""Questions asked unless told otherwise."""
_CONFIG = {"plugins": {"slots": {"memory": "memory-lancedb"}}}


def ask_lancedb(asked: QuestionSet, pick: Pick, folder: Path) -> list[Series]:
    """The same as `recall`, for memories instead of notes."""
    home = folder / "home"
    home.mkdir(parents=True)
    import_lines(asked, home)
    name = "recall-lancedb"
    with contextlib.closing(_LanceMemory(home)) as memory:
        strange = [injected(memory, pick(off_topic(kind)), name, f"off-topic {kind}") for kind in ("far", "near")]
        found = [*recalled(memory, asked, name), *strange]
        memory.check()
        return found


def import_lines(asked: QuestionSet, home: Path) -> None:
    """Import all lines that say something, as `memslot ltm import` does, in batches; writes a config for it."""
    now = datetime.now(UTC).isoformat()
    texts = dict.fromkeys(plain(line) for lines in asked.files.values() for line in lines if not line.startswith("#"))
    memories = ({"id": f"m{number}", "text": text, "createdAt": now} for number, text in enumerate(texts) if text)
    file = home / "memories.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in memories), encoding="utf-8")
    (home / "memslot.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    env = {**os.environ, "MEMSLOT_HOME": str(home)}
    memslot = Path(sys.executable).with_name("memslot")
    done = subprocess.run([memslot, "ltm", "import", str(file)], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the memories could not be imported: {done.stderr.strip()}")


class _LanceMemory:
    def __init__(self, home: Path) -> None:
        from memslot import Host

        self._host: Any = Host.load(_CONFIG, home=home, env={"HOME": str(home)})
        # The first search embeds the background, for which a recall on a busy machine has too little time.
        self._host.memory.search("what was said first?")

    def search(self, query: str) -> Found:
        raise NotImplementedError("memories have no lines to be right about")

    def recall(self, prompt: str) -> str:
        with self._host.run(prompt) as run:
            return str(run.context)

    def check(self) -> None:
        """A recall that failed injects nothing, and must not count as one that kept silence."""
        if problems := self._host.memory.status().problems:
            raise SystemExit(f"memory-lancedb has problems: {'; '.join(problems)}")

    def close(self) -> None:
        self._host.close()
