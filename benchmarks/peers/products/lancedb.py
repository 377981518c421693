"""LanceDB with its full-text index, by a short script."""

from __future__ import annotations

from environments import python_environment
from peer import Peer

from products.plain_script import answer_with, search_with, sync_with

SCRIPT = "lancedb_store.py"

PEER = Peer(
    id="lancedb",
    title="LanceDB with full-text index",
    searches="hybrid",
    remark="a library; a script cuts and syncs files",
    install=lambda folder: python_environment(folder, ["lancedb", "openai"], "lancedb"),
    sync=sync_with(SCRIPT),
    search=search_with(SCRIPT),
    answer=answer_with(SCRIPT),
)
