"""The llama.cpp engine: loaded once per file and process, one thread at a time, no output."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from memslot import ProviderError, extra_install_command

from memslot_embed_providers.local.gguf import ModelFile, not_an_embedding_model, truncated

MOST_TOKENS = 2048
"""Longest text in tokens. Attention buffers grow quadratically: 2048 takes 200 MB, 8192 would take 3 GB."""
_MAX_THREADS = 8
_CLOSE_SECONDS = 2.0

_lock = threading.Lock()
_engines: dict[str, Engine] = {}
_said: list[str] = []
_native_log = logging.getLogger("memslot.plugin.embed-local.llama_cpp")
_callback: Any = None  # ctypes keeps no reference to it: native code would call freed memory


def load_engine(file: ModelFile) -> Engine:
    """The engine for this file, loaded by the first call."""
    with _lock:
        engine = _engines.get(file.fingerprint)
        if engine is None:
            engine = _engines[file.fingerprint] = Engine(_load(file), file)
        return engine


class Engine:
    """One loaded model. A llama.cpp context is not thread-safe, so calls are locked."""

    def __init__(self, llama: Any, file: ModelFile) -> None:
        self._llama = llama
        self._file = file
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One pooled vector per text; longer texts are truncated."""
        with self._lock:
            _said.clear()
            try:
                vectors: list[list[float]] = self._llama.embed(list(texts), normalize=False, truncate=True)
            except Exception as error:
                raise ProviderError(f"{self._file.name} could not embed: {_reason(error)}") from None
        return vectors

    def close(self) -> None:
        """Free it, unless an abandoned thread is still using it."""
        if self._lock.acquire(timeout=_CLOSE_SECONDS):
            self._llama.close()
        else:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._llama))


@atexit.register
def _close_all() -> None:
    # At interpreter shutdown llama-cpp-python's own clean-up fails and prints a traceback.
    while _engines:
        _engines.popitem()[1].close()


def context_length(file: ModelFile) -> int:
    return min(file.context, MOST_TOKENS)


def _load(file: ModelFile) -> Any:
    llama_cpp = _import_library()
    with_gpu = bool(llama_cpp.llama_supports_gpu_offload())
    try:
        try:
            llama = _make(llama_cpp, file, -1 if with_gpu else 0)
        except Exception as error:
            if not with_gpu:
                raise
            _native_log.warning("%s does not load on the GPU (%s); using the CPU", file.name, _reason(error))
            llama = _make(llama_cpp, file, 0)
    except Exception as error:
        reason = _reason(error)
        if "file bounds" in reason or "corrupted or incomplete" in reason:
            raise truncated(file.path) from None
        raise ProviderError(f'llama.cpp cannot load "{file.path}": {reason}') from None
    if llama.pooling_type() not in (1, 2, 3):
        llama.close()
        raise not_an_embedding_model(file.path, "it has no pooling")
    return llama


def _make(llama_cpp: Any, file: ModelFile, gpu_layers: int) -> Any:
    length, threads = context_length(file), _threads()
    _said.clear()
    with _without_stream_redirect(llama_cpp):
        # Without causal attention a text must fit into one physical batch; llama.cpp aborts the process otherwise.
        return llama_cpp.Llama(
            model_path=str(file.path),
            embedding=True,
            n_ctx=length,
            n_batch=length,
            n_ubatch=length,
            n_threads=threads,
            n_threads_batch=threads,
            n_gpu_layers=gpu_layers,
            verbose=False,
        )


def _threads() -> int:
    # Half of those this process may use. Threads of llama.cpp spin while they wait for each other, so that one too
    # many on a busy machine makes it ten times slower (measured: 200 texts in 0.25 s with 1 thread, 3.9 s with 2).
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable // 2, _MAX_THREADS))


def _import_library() -> Any:
    global _callback
    try:
        llama_cpp = importlib.import_module("llama_cpp")
    except ImportError:
        raise ProviderError(f'the provider "local" needs llama.cpp: {extra_install_command("local")}') from None
    except Exception as error:  # an installed library that fails to load raises RuntimeError or OSError
        raise ProviderError(
            f"llama.cpp is installed but cannot be loaded ({error}); reinstall it with: pip install "
            "--force-reinstall llama-cpp-python"
        ) from None
    if _callback is None:
        _callback = llama_cpp.llama_log_callback(_log_message)
        llama_cpp.llama_log_set(_callback, None)
    return llama_cpp


def _log_message(level: int, text: bytes, user_data: Any) -> None:
    """Log llama.cpp's output, and keep the last of it for error messages."""
    line = text.decode("utf-8", "replace").strip()
    if line.strip("."):
        _native_log.debug("%s", line)
        if "error" in line.lower() or "not within" in line or "fail" in line.lower():
            del _said[:-4]
            _said.append(line)


def _reason(error: Exception) -> str:
    """llama.cpp's first error message, which is more specific than the exception."""
    return _said[0] if _said else f"{error}" or type(error).__name__


@contextlib.contextmanager
def _without_stream_redirect(llama_cpp: Any) -> Iterator[None]:
    """Keep llama-cpp-python from redirecting file descriptors 1 and 2 to /dev/null while it loads.

    The redirect is process-wide: output of another thread (an MCP server's, on stdout) would be lost. The messages it
    wants to hide go to `_log_message` instead.
    """
    name = "suppress_stdout_stderr"
    modules = [importlib.import_module(f"llama_cpp.{part}") for part in ("llama", "_internals")]
    kept = [(module, getattr(module, name)) for module in modules if hasattr(module, name)]
    for module, _ in kept:
        setattr(module, name, lambda disable=True: contextlib.nullcontext())
    try:
        yield
    finally:
        for module, original in kept:
            setattr(module, name, original)
