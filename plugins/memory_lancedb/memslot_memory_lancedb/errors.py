"""Every exception memory-lancedb raises on purpose.

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
    """The store cannot do what was asked."""


class StoreAwayError(StoreError):
    """The store does not answer; memory goes on by itself once it is back."""


class StoreDamagedError(StoreError):
    """Files of the store are broken or missing."""


class NoSuchMemoryError(StoreError):
    """There is no memory of that id, or it is another agent's."""


class ChangedMeanwhileError(StoreError):
    """Somebody else changed the same memory; nothing of theirs was overwritten."""


class TransferError(StoreError):
    """A file to import is not what an export writes."""
