"""Places in a scratch folder, and children that run as somebody else."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from memslot.config.paths import Places

NOBODY = 65534


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's home folder, empty."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("MEMSLOT_HOME", raising=False)
    monkeypatch.delenv("MEMSLOT_CONFIG", raising=False)
    return folder


@pytest.fixture
def places(home: Path) -> Places:
    found = Places.from_env({"MEMSLOT_HOME": str(home / ".memslot")})
    found.home.mkdir(mode=0o700)
    return found


def _in_child(work: Callable[[], str], *, user: int | None = None) -> str:
    """What `work` returns when a forked child does it, as another user if asked."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if user is not None and os.geteuid() == 0:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            os.write(writer, work().encode())
            status = 0
        except BaseException:
            os.write(writer, traceback.format_exc().encode())
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, answer
    return answer


@pytest.fixture
def in_child() -> Callable[..., str]:
    return _in_child


@pytest.fixture
def as_nobody(tmp_path: Path) -> Callable[[Callable[[], str]], str]:
    """Run in a child that is not root; permission bits mean nothing to root."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        # pytest's folders are 0700: let the other user pass through, so that the file itself refuses.
        if folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o011)
    return lambda work: _in_child(work, user=NOBODY)
