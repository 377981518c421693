"""Reads the header of a GGUF file without llama.cpp, to check it before native code touches it."""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memslot import ProviderError

_MAGIC = b"GGUF"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
_MAX_DIMENSIONS = 8
_SAMPLES, _SAMPLE_BYTES = 64, 4096
# enum llama_pooling_type; 0 is none, 4 ranks pairs and returns no vector
_POOLING = (1, 2, 3)
"""Mean, CLS and last."""


@dataclass(frozen=True)
class ModelFile:
    """Metadata of a GGUF file."""

    path: Path
    architecture: str
    dims: int
    context: int
    fingerprint: str
    """A fingerprint of the model: a digest of the size, the header and samples of the weights.

    The header alone is not enough: a fine-tuned model keeps its names, vocabulary and shape.
    """

    @property
    def name(self) -> str:
        return self.path.name


def read_model_file(path: Path) -> ModelFile:
    """Read the header; raises, with the reason, if the file is not an embedding model."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise ProviderError(f'"{path}" is not a GGUF file')
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                head = _Head(data)
                fingerprint = _fingerprint(data, head.end)
    except FileNotFoundError:
        raise ProviderError(f'"{path}" does not exist; check local.modelPath') from None
    except OSError as error:
        raise ProviderError(f'"{path}" cannot be read: {error.strerror or error}') from None
    except (struct.error, IndexError, UnicodeDecodeError, _CutOff):
        raise truncated(path) from None
    if head.data_start + head.last_offset >= size and head.tensors:
        raise truncated(path)
    return _parse_head(path, head.values, fingerprint)


def _fingerprint(data: mmap.mmap, head_end: int) -> str:
    digest = hashlib.sha256(struct.pack("<Q", len(data)))
    digest.update(data[:head_end])
    step = max(_SAMPLE_BYTES, (len(data) - head_end) // _SAMPLES)
    for start in range(head_end, len(data), step):
        digest.update(data[start : start + _SAMPLE_BYTES])
    return digest.hexdigest()


def truncated(path: Path) -> ProviderError:
    return ProviderError(f'"{path}" is truncated or damaged; delete it and download it again')


def not_an_embedding_model(path: Path, why: str) -> ProviderError:
    return ProviderError(f'"{path}" is not an embedding model: {why}; set another one in local.modelPath')


def _parse_head(path: Path, values: dict[str, Any], fingerprint: str) -> ModelFile:
    architecture = values.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise not_an_embedding_model(path, "it names no architecture")
    dims, context = values.get(f"{architecture}.embedding_length"), values.get(f"{architecture}.context_length")
    dims = values.get(f"{architecture}.embedding_length_out", dims)
    if not isinstance(dims, int) or dims < 1 or not isinstance(context, int) or context < 1:
        raise not_an_embedding_model(path, f"it ({architecture}) names no vector or context length")
    # Generative models have vectors too, but no pooling for a whole text.
    if values.get(f"{architecture}.pooling_type") not in _POOLING:
        raise not_an_embedding_model(path, f"it ({architecture}) specifies no pooling")
    return ModelFile(path, architecture, dims, context, fingerprint)


class _CutOff(Exception):
    pass


class _Head:
    """Parses the keys and the tensor list; keeps scalars and short strings, skips the vocabulary."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 4
        version = self._take("I")
        if version not in (2, 3):
            raise ProviderError(f"GGUF version {version} is not supported; convert the model again")
        self.tensors, keys = self._take("Q"), self._take("Q")
        if max(self.tensors, keys) > len(data):
            raise _CutOff
        self.values: dict[str, Any] = {}
        for _ in range(keys):
            key = self._text()
            value = self._value(self._take("I"))
            if value is not None:
                self.values[key] = value
        self.last_offset = 0
        for _ in range(self.tensors):
            self._skip_text()
            dimensions = self._take("I")
            if dimensions > _MAX_DIMENSIONS:
                raise _CutOff
            self._at += 8 * dimensions + 4
            self.last_offset = max(self.last_offset, self._take("Q"))
        self.end = self._at
        alignment = self.values.get("general.alignment", 32)
        step = alignment if isinstance(alignment, int) and alignment > 0 else 32
        self.data_start = -(-self.end // step) * step

    def _take(self, form: str) -> Any:
        (value,) = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return value

    def _skip_text(self) -> tuple[int, int]:
        length = self._take("Q")
        start = self._at
        if length > len(self._data) - start:
            raise _CutOff
        self._at += length
        return start, self._at

    def _text(self) -> str:
        start, end = self._skip_text()
        return self._data[start:end].decode()

    def _value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self._take(_SCALARS[kind])
        if kind == _TEXT:
            return self._text()
        if kind != _ARRAY:
            raise _CutOff
        inner, count = self._take("I"), self._take("Q")
        if count > len(self._data):
            raise _CutOff
        if inner in _SCALARS:
            self._at += count * struct.calcsize(f"<{_SCALARS[inner]}")
        else:
            for _ in range(count):
                self._skip_text() if inner == _TEXT else self._value(inner)
        return None
