"""What tests of the whole tree share."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent

# The weights of `universal` are unpacked once for all homes and workers, not into the developer's own cache.
os.environ.setdefault("MEMSLOT_SHARED_CACHE", str(ROOT / ".build" / "cache"))

# How long an example takes says more about the machine than about the code.
settings.register_profile("memslot", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("memslot")

# A shell starts what runs in the background deaf to Ctrl-C, and nohup to the end of a terminal; so would be all that
# the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# By default five: of more connections at once, some are reset while the machine is busy.
ThreadingHTTPServer.request_queue_size = 128


CAPABILITIES_VERSION = 0x20080522
DAC_OVERRIDE, DAC_READ_SEARCH = 1 << 1, 1 << 2


@pytest.fixture
def modes_bind_root() -> Iterator[None]:
    """File modes hold for this thread even where it is root's: Linux lets it do without the power to pass them by."""
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("only Linux lets root give up a part of its power")
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice 32 bits of each
    assert libc.capget(header, sets) == 0
    effective = sets[0]
    sets[0] = effective & ~(DAC_OVERRIDE | DAC_READ_SEARCH)
    assert libc.capset(header, sets) == 0
    yield
    sets[0] = effective
    assert libc.capset(header, sets) == 0


@dataclass(frozen=True)
class FreshEnvironment:
    """A virtual environment in which memslot was installed as a person would install it."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def run(
        self,
        *arguments: str | Path,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run this environment's Python; with `check`, a non-zero exit fails the test and shows the output."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSLOT_", "PYTHON"))}
        done = subprocess.run(
            [str(self.python), *(str(argument) for argument in arguments)],
            capture_output=True,
            text=True,
            env={**variables, **(env or {})},
            cwd=cwd or self.folder,
            check=False,
        )
        if check and done.returncode != 0:
            pytest.fail(f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def memslot(self, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run this environment's `memslot`."""
        return self.run("-m", "memslot", *arguments, **options)

    def install(self, *what: str | Path) -> None:
        self.run("-m", "pip", "install", "--quiet", *what)


@pytest.fixture(scope="session")
def fresh_environment(tmp_path_factory: pytest.TempPathFactory) -> FreshEnvironment:
    """An environment with the host, its default plugins and pytest, built from this checkout; made once per run."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    environment = FreshEnvironment(folder)
    parts = ("core", "plugins/memory_core", "plugins/embed_providers", "plugins/importers")
    environment.install("pytest", *(ROOT / part for part in parts))
    return environment
