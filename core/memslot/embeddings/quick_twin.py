"""A provider without the host: for a command that is answered by the quick door (`prepare_quick`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path


@runtime_checkable
class HasQuickTwin(Protocol):
    """An optional part: a provider that works in this process alone, and can be had again without its plugin."""

    def quick_twin(self, folder: Path) -> tuple[str, Mapping[str, Any]]:
        """`package.module:function` and the arguments with which that gives a provider that makes the same vectors.

        The arguments are kept in a file: plain JSON, and nothing secret. In `folder` it may keep what helps the twin,
        which may be deleted at any time.
        """
