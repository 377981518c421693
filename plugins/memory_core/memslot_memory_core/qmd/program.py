"""Runs the `qmd` program: no shell, with time and output limits, leaving no process behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from memslot import redact

from memslot_memory_core.qmd.errors import QmdError, QmdTimeoutError

MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_MAX_COMPLAINT_BYTES = 64 * 1024
_MAX_REASON_CHARS = 300
_AFTERMATH_SECONDS = 0.2
_INSTALL = "Install it with `npm install -g @tobilu/qmd` (Node 22 or newer), or name it in memory.qmd.command."

# Needed to find Node, the locale, models and GPUs; contains no API keys.
_PASSED_ON = {
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CUDA_PATH", "CUDA_VISIBLE_DEVICES"),
}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Output:
    """Output of a successful run."""

    stdout: str
    stderr: str


class QmdProgram:
    """The program with one agent's own config, index and models."""

    def __init__(self, command: str, home: Path) -> None:
        self.command = command
        self.home = home
        self._environ = dict(os.environ)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = threading.Event()
        # Kill children at a normal exit; the guard handles all other exits.
        self._finalizer = weakref.finalize(self, _end_all, self._running)

    def find(self) -> Path:
        """The program's path; raises QmdError if it is not found."""
        command = os.path.expanduser(self.command)  # noqa: PTH111 - Path.expanduser raises for unknown users
        found = shutil.which(command, path=self._environ.get("PATH"))
        if found:
            return Path(found).absolute()
        if os.path.dirname(command) and Path(command).exists():  # noqa: PTH120 - Path("qmd").parent is "."
            raise QmdError(f"{command} is not an executable program", action=f"Make it executable: chmod +x {command}")
        raise QmdError(f"the program {self.command} was not found", action=_INSTALL)

    def environment(self, program: Path) -> dict[str, str]:
        """A minimal environment with the program's own folders and no secrets."""
        kept = {
            name: value
            for name, value in self._environ.items()
            if name.upper() in _PASSED_ON or name.startswith(("LC_", "QMD_"))
        }
        kept.pop("QMD_CONFIG_DIR", None)  # overrides XDG_CONFIG_HOME
        # npm installs `qmd` beside its Node; another Node on PATH may be too old.
        kept["PATH"] = os.pathsep.join(part for part in (str(program.parent), kept.get("PATH")) if part)
        return {
            **kept,
            "XDG_CONFIG_HOME": str(self.home / "xdg-config"),
            "XDG_CACHE_HOME": str(self.home / "xdg-cache"),
            "NO_COLOR": "1",
        }

    def run(self, *arguments: str, timeout: float) -> Output:
        """Run the program to completion; raises QmdError on any failure."""
        name = f"qmd {arguments[0]}" if arguments else "qmd"
        if self._stopped.is_set():
            raise QmdError("QMD was closed")
        program = self.find()
        # `--index index` is the default made explicit: otherwise a `.qmd` folder above would override it.
        command = [str(program), "--index", "index", *arguments]
        deadline = time.monotonic() + timeout
        process = self._start(name, command, self.environment(program))
        out, err = _Reader(process, process.stdout, MAX_OUTPUT_BYTES), _Reader(process, process.stderr, None)
        try:
            for reader in (out, err):
                reader.join(max(0.0, deadline - time.monotonic()))
            if out.overflowed:
                raise QmdError(f"{name} printed more than {MAX_OUTPUT_BYTES // 2**20} MB")
            in_time = not out.is_alive() and not err.is_alive() and _ended(process, deadline)
        finally:
            self._running.discard(process)
            _end(process)
            for reader in (out, err):
                reader.join(_AFTERMATH_SECONDS)
        if self._stopped.is_set():
            raise QmdError("QMD was closed")
        if not in_time:
            raise QmdTimeoutError(f"{name} did not answer within {timeout:g} s")
        if process.returncode != 0:
            raise _failure(name, process.returncode, err.text())
        return Output(out.text(), err.text())

    def stop(self) -> None:
        """Kill running processes and start no more; idempotent."""
        self._stopped.set()
        _end_all(self._running)

    def _start(self, name: str, command: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
        guarded = os.name == "posix" and bool(sys.executable)
        if guarded:
            guard = Path(__file__).with_name("guard.py")
            command = [sys.executable, "-I", "-S", str(guard), *command]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if guarded else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self.home,
                env=env,
                start_new_session=os.name == "posix",
                umask=0o077 if os.name == "posix" else -1,
            )
        except (OSError, ValueError) as error:
            raise QmdError(f"{name} cannot be started: {error}", action=_INSTALL) from None
        self._running.add(process)
        if self._stopped.is_set():  # stop() may have run before this process was registered
            _end(process)
        return process


class _Reader(threading.Thread):
    """Reads a pipe to its end; beyond the limit it kills the program, or keeps only the tail."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: IO[bytes] | None, limit: int | None) -> None:
        super().__init__(name="qmd-output", daemon=True)
        self._process, self._pipe, self._limit = process, pipe, limit
        self._data = bytearray()
        self.overflowed = False
        self.start()

    def run(self) -> None:
        assert self._pipe is not None
        with contextlib.suppress(OSError, ValueError), self._pipe as pipe:
            while part := pipe.read(65_536):
                self._data += part
                if self._limit is None:
                    del self._data[:-_MAX_COMPLAINT_BYTES]
                elif len(self._data) > self._limit:
                    self.overflowed = True
                    self._data.clear()
                    _kill(self._process)
                    return

    def text(self) -> str:
        return bytes(self._data).decode("utf-8", errors="replace")


def _ended(process: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        process.wait(max(0.05, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and its children, unless it was reaped: its pid may be reused."""
    if process.returncode is not None:
        return
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _end_all(running: set[subprocess.Popen[bytes]]) -> None:
    for process in list(running):
        _kill(process)


def _failure(name: str, code: int, complaint: str) -> QmdError:
    """The program's error message: the line that names an error, else the last one."""
    lines = [line.strip() for line in _ESCAPES.sub("", complaint).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"(?:\w*Error\b|SqliteError|env:)", line)]
    reason = redact((named or lines[-1:] or ["no error message"])[0])[:_MAX_REASON_CHARS]
    if code == 127:
        return QmdError(f"{name} could not start: {reason}", action=_INSTALL)
    return QmdError(f"{name} ended with code {code}: {reason}", action="Run `qmd doctor` to see what is wrong with it.")
