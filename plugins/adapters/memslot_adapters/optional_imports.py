"""Tells which extra to install when an adapter's framework is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memslot import extra_install_command


@contextmanager
def requires_extra(extra: str, *modules: str) -> Iterator[None]:
    """Turn a failed import of these modules into one sentence with the install command."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in modules:
            raise
        raise ImportError(
            f"this adapter needs {modules[0]}, which cannot be imported ({error}); "
            f"install it with: {extra_install_command(extra)}",
            name=error.name,
        ) from error
