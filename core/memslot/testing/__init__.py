"""The conformance kit: pytest base classes that check a plugin, and test doubles for its own tests.

Subclass a contract in your tests and say how to make the thing; pytest runs the rest:

    class TestMyProvider(EmbeddingProviderContract):
        def make_provider(self):
            return MyProvider()

The fixtures `memslot_home` and `memslot_host` are there in every pytest run, without an import.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if importlib.util.find_spec("pytest") is None:
    raise ImportError("memslot.testing needs pytest; install it with: pip install pytest")

if TYPE_CHECKING:
    from memslot.testing.embedding import EmbeddingProviderContract as EmbeddingProviderContract
    from memslot.testing.hosts import HostOpener as HostOpener
    from memslot.testing.hosts import InlinePlugin as InlinePlugin
    from memslot.testing.memory import MemoryContract as MemoryContract
    from memslot.testing.providers import FailingProvider as FailingProvider
    from memslot.testing.providers import HangingProvider as HangingProvider
    from memslot.testing.providers import HashingProvider as HashingProvider
    from memslot.testing.providers import NaNProvider as NaNProvider
    from memslot.testing.providers import WrongDimsProvider as WrongDimsProvider
    from memslot.testing.stack import StackContract as StackContract
    from memslot.testing.tool import ToolContract as ToolContract

# Lazy, because pytest imports this package in every run wherever memslot is installed.
_HOME_OF = {
    "EmbeddingProviderContract": "embedding",
    "FailingProvider": "providers",
    "HangingProvider": "providers",
    "HashingProvider": "providers",
    "HostOpener": "hosts",
    "InlinePlugin": "hosts",
    "MemoryContract": "memory",
    "NaNProvider": "providers",
    "StackContract": "stack",
    "ToolContract": "tool",
    "WrongDimsProvider": "providers",
}

__all__ = [*_HOME_OF]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'memslot.testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"memslot.testing.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
