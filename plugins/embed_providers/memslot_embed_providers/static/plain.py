"""The provider in plain Python, for a process that embeds one question: importing numpy takes longer than that."""

from __future__ import annotations

import json
import math
import struct
from operator import add, mul

from memslot import ProviderError

from memslot_embed_providers.static.cutting import readable, segments
from memslot_embed_providers.static.pieces import Pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_BYTES_PER_NUMBER = 2


class PlainStatic:
    """Makes the same vectors as `StaticProvider`, a hundred times as slowly for a text, and at once."""

    id = "static"
    max_input_tokens = 1_000_000

    def __init__(self, model: str, dims: int, pieces: str, weights: str) -> None:
        self.model = model
        self.dims = dims
        self._pieces = Pieces(pieces)
        self._weights = open(weights, "rb", buffering=0)  # noqa: PTH123, SIM115 (it lives as long as this)
        header = json.loads(self._weights.read(struct.unpack("<Q", self._weights.read(8))[0]))["embedding.weight"]
        if header["dtype"] != "F16" or header["data_offsets"][0] != 0:
            raise ProviderError("the weights of static are not stored as 16-bit numbers")
        self._start = self._weights.tell()
        self._width = header["shape"][1]

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """One row of length 1 each; a text without anything but white space gets zeros."""
        words = [segments(readable(text)) for text in texts]
        if None in words:
            raise ProviderError("a text with special tokens in it must be cut as a whole")
        cut = self._pieces.cut({word for each in words if each for word in each})
        row_of = {token: self._row(token) for tokens in cut.values() for token in tokens}
        return [self._unit([row_of[token] for word in each or () for token in cut[word]]) for each in words]

    def _row(self, token: int) -> tuple[float, ...]:
        self._weights.seek(self._start + _BYTES_PER_NUMBER * self._width * token)
        row: tuple[float, ...] = struct.unpack(f"<{self.dims}e", self._weights.read(_BYTES_PER_NUMBER * self.dims))
        return row

    def _unit(self, rows: Sequence[Sequence[float]]) -> Sequence[float]:
        total: Sequence[float] = [0.0] * self.dims
        for row in rows:
            total = list(map(add, total, row))
        length = math.sqrt(sum(map(mul, total, total))) or 1.0
        return [number / length for number in total]

    def close(self) -> None:
        self._weights.close()
