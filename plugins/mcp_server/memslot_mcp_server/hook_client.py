"""`memslot-hook`: asks a running MCP server, and falls back to `memslot hook`.

A coding agent that has memslot as an MCP server keeps a process with everything loaded. Asking it takes milliseconds;
loading everything again takes most of a second, before each prompt. So import nothing here that Python has not loaded
anyway, except `socket`.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Mapping

MAX_BYTES = 16 * 1024 * 1024
CONNECT_SECONDS = 0.5
ANSWER_SECONDS = 8.0
"""In total: no server or plugin makes a prompt wait longer."""
_started = time.monotonic()
_WATCHDOG = "memslot-hook-watchdog"
ANSWER_HEADER = b"memslot-hook 1\n"
"""Every answer begins with this."""
CLIENTS = ("claude-code", "codex", "gemini", "qwen", "opencode")
"""The coding agents whose events are understood."""
EVENTS = ("session-start", "prompt", "stop", "pre-compact", "session-end")
AWAITED_EVENTS = ("session-start", "prompt")
"""Events whose answer the user waits for."""


def main() -> None:
    """Answer a hook of a coding agent."""
    label, words = _read_arguments(sys.argv[1:])
    is_event = len(words) == 2 and words[0] in CLIENTS and words[1] in EVENTS
    if not is_event or sys.stdin is None or sys.stdin.isatty():
        _run_command(sys.argv[1:], None)
        return
    try:
        payload = _read_payload()
        address = MemoryAddress.from_env(label, os.environ)
        answer = ask(address, " ".join(words), payload) if len(payload) <= MAX_BYTES else None
    except TimeoutError:
        # Either the agent does not close stdin, or a server has the event: handling it here, too, would do it twice.
        _say_gave_up()
        return
    if answer is None:
        if words[1] == "session-end":  # only a server has a conversation open, and what was said is already captured
            return
        if words[1] in AWAITED_EVENTS:
            start_watchdog()
        _run_command(sys.argv[1:], payload)
        return
    try:
        os.write(1, answer)
    except OSError as error:
        sys.stderr.write(f"memslot: cannot write the answer: {error.strerror or error}\n")


def seconds_left() -> float:
    """Seconds that this hook may still take."""
    return max(0.0, ANSWER_SECONDS - (time.monotonic() - _started))


def _say_gave_up() -> None:
    sys.stderr.write(f"memslot: gave up after {ANSWER_SECONDS:g} seconds\n")
    sys.stderr.flush()


def start_watchdog() -> None:
    """End the process when its time is up, even while plugins load. A second call does nothing."""
    import threading

    def give_up() -> None:
        _say_gave_up()
        os._exit(0)

    if any(thread.name == _WATCHDOG for thread in threading.enumerate()):
        return
    timer = threading.Timer(seconds_left(), give_up)
    timer.name = _WATCHDOG
    timer.daemon = True
    timer.start()


def _read_arguments(arguments: list[str]) -> tuple[str, list[str]]:
    if arguments[:1] == ["--agent"] and len(arguments) > 1:
        return arguments[1], arguments[2:]
    return "", arguments


def _read_payload() -> bytes:
    """Read stdin to its end or past the limit; raises a TimeoutError if the agent holds it open."""
    if sys.platform == "win32":  # select is for sockets only
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    import select

    parts, size = [], 0
    while size <= MAX_BYTES:
        if not select.select([0], [], [], seconds_left())[0]:
            raise TimeoutError
        part = os.read(0, 65536)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _run_command(arguments: list[str], payload: bytes | None) -> None:
    """Run `memslot hook`, with what was read from stdin put back."""
    import io
    import runpy

    if payload is not None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(payload))
    before, rest = (arguments[:2], arguments[2:]) if arguments[:1] == ["--agent"] else ([], arguments)
    sys.argv = ["memslot", *before, "hook", *rest]
    try:
        runpy.run_module("memslot", run_name="__main__")
    except SystemExit as end:
        # Agents take 2 as an order: not to send the prompt, or not to stop. Here it means that a word is wrong.
        raise SystemExit(1 if end.code == 2 else end.code) from None


class MemoryAddress:
    """Which memory a hook is for: the home, the agent, and the project whose settings apply."""

    def __init__(self, home: str, label: str, project: str) -> None:
        self.parts = (home, label, project)

    @classmethod
    def from_env(cls, label: str, env: Mapping[str, str]) -> MemoryAddress:
        home = os.path.realpath(os.path.expanduser(env.get("MEMSLOT_HOME") or "~/.memslot"))  # noqa: PTH111
        config = env.get("MEMSLOT_CONFIG", "")
        try:
            project = os.path.realpath(env.get("CLAUDE_PROJECT_DIR") or ".")
        except FileNotFoundError:  # the working folder was removed, such as a git worktree
            project = ""
        return cls(f"{home}\n{config}", label, project)

    def line(self) -> bytes:
        return "\0".join(self.parts).encode("utf-8", "surrogateescape")

    def prefix(self) -> str:
        """Prefix of its sockets' names. It may collide, so the server compares the whole line."""
        return f"{zlib.crc32(self.line()):08x}."


def socket_folder() -> str | None:
    """The private folder for sockets; None on platforms without them.

    Not in the home, since a socket's path must be short, and not set by a variable, since clients start servers with
    few of the variables that hooks have.
    """
    return f"/tmp/memslot-{os.getuid()}" if hasattr(os, "getuid") else None


def is_private(folder: str) -> bool:
    """Whether only this user can write to the folder."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return status.st_mode & 0o170077 == 0o040000 and status.st_uid == os.getuid()


def ask(address: MemoryAddress, event: str, payload: bytes) -> bytes | None:
    """Return a server's answer to an event, such as "codex prompt"; None if no server of this memory can answer.

    Raises a TimeoutError if a server has the event and does not finish in time.
    """
    folder = socket_folder()
    if folder is None or not is_private(folder):
        return None
    prefix = address.prefix()
    for name in sorted(os.listdir(folder), reverse=True):  # noqa: PTH208
        if name.startswith(prefix):
            if not seconds_left():
                raise TimeoutError
            answer = _ask_one(f"{folder}/{name}", address.line() + b"\0" + event.encode() + b"\0" + payload)
            if answer is not None:
                return answer
    return None


def _remove(path: str) -> None:
    try:  # noqa: SIM105  contextlib would have to be imported
        os.unlink(path)  # noqa: PTH108
    except OSError:  # another hook removed it first
        pass


def _timeout(seconds: float) -> float:
    """A socket timeout above 0, which would make the socket non-blocking."""
    return max(seconds, 0.001)


def _ask_one(path: str, request: bytes) -> bytes | None:
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
        wire.settimeout(min(CONNECT_SECONDS, _timeout(seconds_left())))
        try:
            wire.connect(path)
        except ConnectionRefusedError:  # the server was killed
            _remove(path)
            return None
        except OSError:
            return None
        try:
            wire.settimeout(_timeout(seconds_left()))
            wire.sendall(request)
            wire.shutdown(socket.SHUT_WR)
            parts = []
            while True:
                wire.settimeout(_timeout(seconds_left()))  # each call has its own timeout
                part = wire.recv(65536)
                if not part:
                    break
                parts.append(part)
        except TimeoutError:
            raise
        except OSError:
            return None
    answer = b"".join(parts)
    return answer.removeprefix(ANSWER_HEADER) if answer.startswith(ANSWER_HEADER) else None


if __name__ == "__main__":
    main()
