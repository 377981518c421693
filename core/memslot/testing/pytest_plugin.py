"""Fixtures for plugin tests.

pytest loads this module in every run wherever memslot is installed, so it imports nothing
but pytest until one of the fixtures is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from memslot.testing.hosts import HostOpener

# Shows the values behind a failed assert of the kit, also where memslot is installed in editable mode.
_CHECKING = ("embedding", "memory", "memory_checks", "memory_faults", "stack", "threads", "tool")
pytest.register_assert_rewrite(*(f"memslot.testing.{name}" for name in _CHECKING))

_SWITCHES = (
    "MEMSLOT_CONFIG",
    "MEMSLOT_DISABLE_PLUGINS",
    "MEMSLOT_LOAD_PLUGINS",
    "MEMSLOT_STRICT_PLUGINS",
    "MEMSLOT_TRACE_PLUGINS",
)


@pytest.fixture
def memslot_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty memslot home for one test; MEMSLOT_HOME names it, and no other MEMSLOT_ switch is set."""
    home = tmp_path / "memslot-home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("MEMSLOT_HOME", str(home))
    for name in _SWITCHES:
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def memslot_host(memslot_home: Path) -> Iterator[HostOpener]:
    """Opens hosts as a program does: `memslot_host("my-plugin", config={...})`.

    Name the plugins that should run: an installed one by its id, one that is not installed by the
    Path of its package, or an InlinePlugin. Hosts are closed when the test ends.
    """
    from memslot.testing.hosts import HostOpener

    with HostOpener(memslot_home) as opener:
        yield opener
