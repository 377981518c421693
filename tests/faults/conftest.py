"""What every test of a fault begins with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from memslot.embeddings.circuit import circuits


@pytest.fixture(autouse=True)
def _no_provider_is_left_alone() -> Iterator[None]:
    """A process leaves a provider alone for a minute after it refused; the next test uses one of the same key."""
    yield
    circuits.clear()
