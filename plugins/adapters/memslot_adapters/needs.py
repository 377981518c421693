"""Says what to install where an adapter's framework is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memslot import extra_install_command


@contextmanager
def needs(extra: str, *modules: str) -> Iterator[None]:
    """Turn an import that fails for want of a framework's modules into one sentence with the command that helps."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in modules:
            raise
        raise ImportError(
            f"this adapter needs {modules[0]}, and it cannot be used here ({error}); "
            f"install it with: {extra_install_command(extra)}",
            name=error.name,
        ) from error
