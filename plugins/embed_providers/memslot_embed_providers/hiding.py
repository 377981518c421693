"""Keeps keys out of everything that is said."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from memslot import redact

HIDDEN = "***"
_PIECE = 8  # a server that shortens a key when it names it shows about this much


class Hider:
    """Takes known secrets, and longer pieces of them, out of a text; then whatever else looks like a key."""

    def __init__(self, secrets: Iterable[str]) -> None:
        whole = {secret for secret in secrets if len(secret) >= 4}
        self._whole = sorted({*whole, *(quote(secret, safe="") for secret in whole)}, key=len, reverse=True)
        self._pieces = {secret[i : i + _PIECE] for secret in self._whole for i in range(len(secret) - _PIECE + 1)}

    def __call__(self, text: str) -> str:
        for secret in self._whole:
            text = text.replace(secret, HIDDEN)
        return redact(self._without_pieces(text))

    def _without_pieces(self, text: str) -> str:
        kept: list[str] = []
        hidden_until = 0
        for i, letter in enumerate(text):
            if text[i : i + _PIECE] in self._pieces:
                if i >= hidden_until:
                    kept.append(HIDDEN)
                hidden_until = i + _PIECE
            elif i >= hidden_until:
                kept.append(letter)
        return "".join(kept)

    def __repr__(self) -> str:
        return "<Hider>"
