"""Parses vectors in responses into float32."""

from __future__ import annotations

import base64
import binascii
import math
import sys
from array import array
from typing import Any

from memslot import ProviderError

from memslot_embed_providers.service import Service

Floats = array  # float32: four bytes per value
_OTHER_BYTES, _BYTES_PER_VECTOR = 1024 * 1024, 256 * 1024


def room_for(vectors: int) -> int:
    """Byte limit of a response with this many vectors; generous."""
    return _OTHER_BYTES + vectors * _BYTES_PER_VECTOR


def read_vector(service: Service, value: Any) -> Floats[float]:
    """A vector from a list of numbers or base64 little-endian float32; non-finite values become 0."""
    vector = _from_base64(value) if isinstance(value, str) else _from_list(value)
    if not vector:
        raise ProviderError(f"{service} returned something that is not a vector")
    if not math.isfinite(sum(vector)):  # as doubles, float32 values cannot overflow
        return array("f", [x if math.isfinite(x) else 0.0 for x in vector])
    return vector


def zeros(dims: int) -> Floats[float]:
    """The vector of an empty text: never found, never compared."""
    return array("f", bytes(4 * dims))


def read_rows(service: Service, payload: Any, count: int) -> list[Floats[float]]:
    """The vectors of an OpenAI-style response, in the order of the texts."""
    data = payload.get("data") if isinstance(payload, dict) else None
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise ProviderError(f"{service} returned no list of vectors")
    places = [row.get("index", i) for i, row in enumerate(data)]
    if len(data) != count or sorted(i for i in places if isinstance(i, int)) != list(range(count)):
        raise wrong_count(service, len(data), count)
    rows = dict(zip(places, data, strict=True))
    return [read_vector(service, rows[i].get("embedding")) for i in range(count)]


def read_list(service: Service, payload: Any, count: int) -> list[Any]:
    """The embeddings in a response, as many as there were texts."""
    values = payload.get("embeddings") if isinstance(payload, dict) else None
    if not isinstance(values, list):
        raise ProviderError(f"{service} returned no embeddings")
    if len(values) != count:
        raise wrong_count(service, len(values), count)
    return values


def wrong_count(service: Service, got: int, due: int) -> ProviderError:
    return ProviderError(f"{service} returned {got} vectors for {due} texts")


def _from_base64(text: str) -> Floats[float] | None:
    try:
        raw = base64.b64decode(text, validate=True)
        vector = array("f", raw)
    except (binascii.Error, ValueError):
        return None
    if sys.byteorder == "big":
        vector.byteswap()
    return vector


def _from_list(value: Any) -> Floats[float] | None:
    if not isinstance(value, list):
        return None
    try:
        return array("f", [math.nan if x is None else x for x in value])
    except (TypeError, OverflowError):
        return None
