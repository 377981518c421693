"""Vectors for texts: the same text always gets the same one."""

from __future__ import annotations

import base64
import struct

from memslot.testing import HashingProvider


def vectors_for(texts: list[str], dims: int) -> list[list[float]]:
    return HashingProvider(dims).embed_documents(texts)


def packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def unpacked(text: str) -> list[float]:
    raw = base64.b64decode(text)
    return list(struct.unpack(f"<{len(raw) // 4}f", raw))
