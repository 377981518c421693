"""Index ownership: an index belongs to one agent and workspace, and is never used for another."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import apsw

from memslot_memory_core.index import generation as generations
from memslot_memory_core.index.connection import IndexFault
from memslot_memory_core.index.index_metadata import IndexMetadata
from memslot_memory_core.index.schema import transaction

_WORKSPACE = "workspace"


@dataclass(frozen=True)
class Owner:
    """An agent and the real path of its workspace."""

    agent: str
    workspace: str

    def owns(self, db: apsw.Connection) -> bool:
        """Whether the index may be used. False if it must be claimed first; raises IndexFault for another owner's.

        An index must be claimed if it is new, predates the workspace field, or if the folder at the workspace's path
        was replaced, as with containers that mount every project at the same path.
        """
        metadata = IndexMetadata(db)
        agent, held = metadata.read("agent"), metadata.read(_WORKSPACE)
        if agent is not None and agent != self.agent:
            raise IndexFault(
                f'the index belongs to the agent "{agent}", not to "{self.agent}"; '
                "add {agentId} to memorySearch.store.path"
            )
        if held is None:
            return False
        folder = folder_inode(self.workspace)
        if held["path"] == self.workspace:
            return agent is not None and (folder is None or held["folder"] in (None, folder))
        if folder is not None and folder == held["folder"] and not os.path.lexists(held["path"]):
            return False  # the folder was moved
        raise IndexFault(
            f"the index belongs to the workspace {held['path']}, not to {self.workspace}; "
            "add {workspace} to memorySearch.store.path, or delete the index if the workspace was moved"
        )

    def claim(self, db: apsw.Connection, drop: Callable[[int], object]) -> None:
        """Assign the index to this owner in one transaction, dropping content of unknown origin.

        Cached vectors are kept, so text that is still on disk is not embedded again.
        """
        if self.owns(db):
            return
        with transaction(db):
            for number in generations.numbers(db):
                drop(number)
                generations.drop(db, number)
            db.execute("DELETE FROM facts WHERE name <> 'last_generation'")
            metadata = IndexMetadata(db)
            metadata.write("agent", self.agent)
            metadata.write(_WORKSPACE, {"path": self.workspace, "folder": folder_inode(self.workspace)})


def folder_inode(path: str) -> int | None:
    """The folder's inode, to notice a replaced folder; None if it is unreliable.

    Some network file systems return a new inode number on each call.
    """
    try:
        first, second = os.stat(path).st_ino, os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return None
    return first if first and first == second else None
