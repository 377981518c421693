"""Whose index a file is: it belongs to one agent and one workspace, and is neither read nor written for another."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw
from memslot import atomic_file

from memslot_memory_core.index import generation as generations
from memslot_memory_core.index.connection import DAMAGE, IndexFault, open_to_read, writer_lock
from memslot_memory_core.index.index_metadata import Facts
from memslot_memory_core.index.schema import is_prepared, transaction

Stamps = Callable[[], set[tuple[str, str, str]]]
"""Source, path and stamp of every file that the workspace has now."""
_WORKSPACE = "workspace"


@dataclass(frozen=True)
class Owner:
    """An agent and the real path of its workspace."""

    agent: str
    workspace: str

    def owns(self, db: apsw.Connection) -> bool:
        """Whether the index may be served. False for one that has to be claimed first; IndexFault for another's.

        An index has to be claimed when it is new, was made before indexes held their workspace, or when another
        folder now lies at the workspace's path, as with containers that mount every project at the same place.
        """
        facts = Facts(db)
        agent, held = facts.read("agent"), facts.read(_WORKSPACE)
        if agent is not None and agent != self.agent:
            raise IndexFault(
                f'the index belongs to the agent "{agent}", not to "{self.agent}"; '
                "put {agentId} into memorySearch.store.path"
            )
        if held is None:
            return False
        folder = folder_number(self.workspace)
        if held["path"] == self.workspace:
            return agent is not None and (folder is None or held["folder"] in (None, folder))
        if folder is not None and folder == held["folder"] and not os.path.lexists(held["path"]):
            return False  # the folder was moved
        raise IndexFault(
            f"the index belongs to the workspace {held['path']}, not to {self.workspace}; "
            "put {workspace} into memorySearch.store.path, or delete the index if the workspace was moved"
        )

    def claim(self, db: apsw.Connection, drop: Callable[[int], object]) -> None:
        """Make the index this owner's, inside one transaction; what it holds of unknown origin is dropped.

        Vectors stay: they are found by their text's hash, so what is still on disk is not embedded again.
        """
        if self.owns(db):
            return
        with transaction(db):
            for number in generations.numbers(db):
                drop(number)
                generations.drop(db, number)
            db.execute("DELETE FROM facts WHERE name <> 'last_generation'")
            facts = Facts(db)
            facts.write("agent", self.agent)
            facts.write(_WORKSPACE, {"path": self.workspace, "folder": folder_number(self.workspace)})


def folder_number(path: str) -> int | None:
    """What tells a folder from another one at the same path; None where nothing does.

    Some network file systems make up a new inode number on each look.
    """
    try:
        first, second = os.stat(path).st_ino, os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return None
    return first if first and first == second else None


def take_over(older: Path, file: Path, agent: str, stamps: Stamps) -> None:
    """Move an index from the name it had before workspaces were part of it, if it was built from this workspace.

    That is so where files of the workspace are in it, down to their times and inodes. Call it with the writer's lock
    of `file`. The copy is unclaimed.
    """
    if not _was_built_from(older, agent, stamps):
        return
    with writer_lock(older, wait_seconds=10.0):
        if not _was_built_from(older, agent, stamps):  # another process was faster
            return
        with atomic_file(file, mode=0o600) as copy, closing(open_to_read(older)) as db:
            db.execute("VACUUM INTO ?", (copy.name,))
        for suffix in ("", "-wal", "-shm"):
            Path(f"{older}{suffix}").unlink(missing_ok=True)


def _was_built_from(older: Path, agent: str, stamps: Stamps) -> bool:
    if not older.exists():
        return False
    try:
        with closing(open_to_read(older)) as db:
            if not is_prepared(db):
                return False
            facts = Facts(db)
            live = generations.find(db, "live")
            if facts.read(_WORKSPACE) is not None or facts.read("agent") not in (None, agent) or live is None:
                return False
            rows = set(db.execute(f"SELECT source, path, rtrim(stamp, '?') FROM {live.tables.files}"))
    except (*DAMAGE, apsw.Error, IndexFault):
        return False
    return bool(rows) and not rows.isdisjoint(stamps())
