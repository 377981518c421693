"""mem0 without a language model, by a short script."""

from __future__ import annotations

from environments import python_environment
from peer import Peer

from products.plain_script import answer_with, search_with, sync_with

SCRIPT = "mem0_store.py"

PEER = Peer(
    id="mem0",
    title="mem0",
    searches="vectors",
    remark="`infer=False`, no LLM; a script cuts and syncs files; one request for each chunk",
    install=lambda folder: python_environment(folder, ["mem0ai"], "mem0ai"),
    sync=sync_with(SCRIPT),
    search=search_with(SCRIPT),
    answer=answer_with(SCRIPT),
)
