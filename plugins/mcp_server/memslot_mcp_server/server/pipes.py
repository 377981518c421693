"""The client's two pipes, reserved for the protocol and read line by line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from memslot import MemslotError

from memslot_mcp_server.server.lines import Line, LineSplitter

_READ_BYTES = 65536


@dataclass(frozen=True)
class Pipes:
    """The descriptors that carry the protocol."""

    read: int
    write: int


@contextlib.contextmanager
def own_pipes() -> Iterator[Pipes]:
    """Reserve stdin and stdout for the protocol: what plugins print goes to stderr, and they read nothing."""
    if sys.stdin is None or sys.stdout is None:  # by now their numbers may be those of other files
        raise MemslotError("MCP clients use stdin and stdout, and one of them is closed; see: memslot mcp --help")
    sys.stdout.flush()
    pipes = Pipes(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield pipes
    finally:
        # The protocol's descriptors stay open: a thread may still be reading, and nothing else may get their numbers.
        os.close(nothing)


async def read_lines(pipes: Pipes) -> AsyncIterator[Line]:
    """The client's lines that are not blank, until it closes its end."""
    chunks = _start_reader(pipes)
    splitter = LineSplitter()
    while (data := await chunks.get()) is not None:
        for line in splitter.feed(data):
            if not _is_blank(line):
                yield line
    for line in splitter.close():
        if not _is_blank(line):
            yield line


def _start_reader(pipes: Pipes) -> asyncio.Queue[bytes | None]:
    """Read in a daemon thread: a blocking read cannot be interrupted, and must not keep the process alive."""
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=16)

    def read() -> None:
        data: bytes | None = b""
        while data is not None:
            try:
                data = os.read(pipes.read, _READ_BYTES) or None
            except OSError:
                data = None
            try:
                # Waits while the server is busy, so that a client cannot fill the memory.
                asyncio.run_coroutine_threadsafe(chunks.put(data), loop).result()
            except (RuntimeError, asyncio.CancelledError):
                return

    threading.Thread(target=read, name="memslot mcp stdin", daemon=True).start()
    return chunks


def _is_blank(line: Line) -> bool:
    return isinstance(line, bytes) and not line.strip()


def write_all(pipes: Pipes, data: bytes) -> None:
    """Write to the client; raises an OSError when it is gone."""
    view = memoryview(data)
    while view:
        view = view[os.write(pipes.write, view) :]
