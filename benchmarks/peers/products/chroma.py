"""Chroma, by a short script."""

from __future__ import annotations

from environments import python_environment
from peer import Peer

from products.plain_script import answer_with, search_with, sync_with

SCRIPT = "chroma_store.py"

PEER = Peer(
    id="chroma",
    title="chroma",
    searches="vectors",
    remark="a library; a script cuts and syncs files",
    install=lambda folder: python_environment(folder, ["chromadb", "openai"], "chromadb"),
    sync=sync_with(SCRIPT),
    search=search_with(SCRIPT),
    answer=answer_with(SCRIPT),
)
