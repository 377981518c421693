"""The exceptions of memory-lancedb.

MemslotError
└── StoreError                 the store failed; the message says what to do
    ├── StoreUnreachableError  it is unreachable now and may be back soon
    ├── StoreDamagedError      its files are damaged or missing; `memslot ltm doctor` shows what can be saved
    ├── NoSuchMemoryError      this agent has no memory with that id
    ├── ConcurrentChangeError  another writer changed the same memory concurrently
    └── TransferError          a file to import cannot be read
"""

from __future__ import annotations

from memslot import MemslotError


class StoreError(MemslotError):
    """The store failed to do what was requested."""


class StoreUnreachableError(StoreError):
    """The store is unreachable; memory resumes once it is back."""


class StoreDamagedError(StoreError):
    """Files of the store are broken or missing."""


class NoSuchMemoryError(StoreError):
    """No memory has that id, or it belongs to another agent."""


class ConcurrentChangeError(StoreError):
    """Another writer changed the same memory; nothing was overwritten."""


class TransferError(StoreError):
    """A file to import is not what an export writes."""
