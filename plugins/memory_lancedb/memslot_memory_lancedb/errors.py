"""The exceptions of memory-lancedb.

MemslotError
└── StoreError             the store cannot do what was asked; the message says what to do
    ├── StoreAwayError     it does not answer now and may be back soon
    ├── StoreDamagedError  files of it are broken or missing; `memslot ltm doctor` tells what can be saved
    ├── NoSuchMemoryError  an id that this agent has no memory of
    ├── ChangedMeanwhileError  somebody else changed the same memory at the same moment
    └── TransferError      a file to import cannot be read
"""

from __future__ import annotations

from memslot import MemslotError


class StoreError(MemslotError):
    """The store failed to do what was requested."""


class StoreAwayError(StoreError):
    """The store is unreachable; memory resumes once it is back."""


class StoreDamagedError(StoreError):
    """Files of the store are broken or missing."""


class NoSuchMemoryError(StoreError):
    """No memory has that id, or it belongs to another agent."""


class ChangedMeanwhileError(StoreError):
    """Another writer changed the same memory; nothing was overwritten."""


class TransferError(StoreError):
    """A file to import is not what an export writes."""
