"""Texts as sent to the provider: whole, or in parts that may return in different batches."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memslot.embeddings.long_texts import MAX_PARTS, cut, weighted_mean
from memslot.embeddings.tokens import estimate_tokens

if TYPE_CHECKING:
    from memslot.embeddings.vectors import Matrix, Row

logger = logging.getLogger("memslot.embeddings")


class Piece(NamedTuple):
    """A text, or a part of one that is too long; `owner` is the text's index."""

    owner: int
    part: int
    text: str
    tokens: int


def split(owner: int, text: str, max_tokens: int, max_parts: int = MAX_PARTS) -> list[Piece]:
    """Return the text as one piece if it fits, else its parts; none for a blank text."""
    tokens = estimate_tokens(text)
    if tokens <= max_tokens:
        return [Piece(owner, 0, text, tokens)] if text.strip() else []
    parts = list(itertools.islice((part for part in cut(text, max_tokens) if part.strip()), max_parts + 1))
    if len(parts) > max_parts:
        message = "a text of about %d tokens is truncated: at %d tokens per request, only %d parts are embedded"
        logger.warning(message, tokens, max_tokens, max_parts)
        del parts[max_parts:]
    return [Piece(owner, number, part, estimate_tokens(part)) for number, part in enumerate(parts)]


class Assembly:
    """Collects the rows of pieces and emits a text's row once its last piece has arrived."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces_of: dict[int, list[Piece]] = {}
        for piece in pieces:
            self._pieces_of.setdefault(piece.owner, []).append(piece)
        self._rows: dict[int, dict[int, Row]] = {}

    def add(self, pieces: Sequence[Piece], rows: Matrix) -> Iterator[tuple[int, Row]]:
        """Add rows; yield each text that is now complete, with its row."""
        import numpy

        for piece, row in zip(pieces, rows, strict=True):
            due = self._pieces_of[piece.owner]
            if len(due) == 1:
                yield piece.owner, row
                continue
            there = self._rows.setdefault(piece.owner, {})
            there[piece.part] = row
            if len(there) == len(due):
                stacked = numpy.stack([there[each.part] for each in due])
                del self._rows[piece.owner]
                yield piece.owner, weighted_mean(stacked, [each.tokens for each in due])


def batches(sizes: Sequence[int], *, max_tokens: int, max_items: int) -> Iterator[range]:
    """Group consecutive indices into batches within both limits; an oversized item gets its own batch."""
    start, tokens = 0, 0
    for number, size in enumerate(sizes):
        if number > start and (tokens + size > max_tokens or number - start >= max_items):
            yield range(start, number)
            start, tokens = number, 0
        tokens += size
    if start < len(sizes):
        yield range(start, len(sizes))
