"""Answers coding agents' hooks from a running server, which has everything loaded."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from memslot import Hosts, Workers

from memslot_mcp_server.hook_client import (
    ANSWER_HEADER,
    ANSWER_SECONDS,
    CLIENTS,
    EVENTS,
    MAX_BYTES,
    MemoryAddress,
    is_private,
    socket_folder,
)
from memslot_mcp_server.hooks.events import handle
from memslot_mcp_server.hooks.payload import Payload, PayloadError, read_payload
from memslot_mcp_server.server.stderr import warn

_LONGEST_SECONDS = ANSWER_SECONDS + 2
"""Longer than a hook waits, so that it can tell a slow server from one that gave up."""


@contextlib.asynccontextmanager
async def answering_hooks(hosts: Hosts, workers: Workers, label: str) -> AsyncIterator[Path | None]:
    """Answer hooks while the block lasts; yields the socket's path, or None if there is no socket."""
    address = MemoryAddress.from_env(label, os.environ)
    path = _socket_path(address)
    if path is None:
        yield None
        return
    answers = _HookServer(hosts, workers, address)
    # Until it listens, it refuses connections, and hooks remove a socket that does, as that of a killed server.
    unready = path.with_name(f".{path.name}")
    try:
        server = await asyncio.start_unix_server(answers.serve, path=unready)
        unready.chmod(0o600)
        unready.rename(path)
    except OSError as error:
        warn(f"cannot open a socket for hooks, so each hook loads memslot itself: {error.strerror or error}")
        yield None
        return
    try:
        yield path
    finally:
        server.close()
        path.unlink(missing_ok=True)


def _socket_path(address: MemoryAddress) -> Path | None:
    name = socket_folder()
    if name is None:
        return None
    folder = Path(name)
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    return folder / f"{address.prefix()}{os.getpid()}" if is_private(name) else None


class _HookServer:
    def __init__(self, hosts: Hosts, workers: Workers, address: MemoryAddress) -> None:
        self._hosts = hosts
        self._workers = workers
        self._address = address

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one event. Malformed requests get no reply; the client falls back."""
        with contextlib.suppress(TimeoutError, OSError):
            try:
                async with asyncio.timeout(_LONGEST_SECONDS):
                    request = await _read_all(reader)
                    found = await self._answer(request)
                    if found is not None:
                        writer.write(ANSWER_HEADER + found)
                        await writer.drain()
            finally:
                writer.close()

    async def _answer(self, request: bytes) -> bytes | None:
        prefix = self._address.line() + b"\0"
        if not request.startswith(prefix):
            return None
        name, _, data = request.removeprefix(prefix).partition(b"\0")
        client, _, event = name.decode("ascii", "replace").partition(" ")
        if client not in CLIENTS or event not in EVENTS:
            return None
        try:
            payload = read_payload(io.BytesIO(data), client)
        except PayloadError:
            return None
        try:
            found = await self._workers.run(self._carry_out, event, payload)
        except Exception as error:
            warn(f"a hook failed: {type(error).__name__}: {error}")
            return None
        return b"" if found is None else json.dumps(found, ensure_ascii=False).encode() + b"\n"

    def _carry_out(self, event: str, payload: Payload) -> dict[str, Any] | None:
        with self._hosts.borrow() as host:
            return handle(event, host, payload)


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    parts, size = [], 0
    while part := await reader.read(65536):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES + 65536:
            return b""
    return b"".join(parts)
