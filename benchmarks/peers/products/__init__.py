"""All peers, in the order of the table; the first is what the others are compared with."""

from __future__ import annotations

from peer import Peer

from products import chroma, lancedb, llm, mem0, memslot, openclaw, qmd

PEERS: tuple[Peer, ...] = (
    memslot.REMOTE,
    memslot.BUILT_IN,
    lancedb.PEER,
    chroma.PEER,
    qmd.PEER,
    mem0.PEER,
    llm.PEER,
    openclaw.PEER,
)
