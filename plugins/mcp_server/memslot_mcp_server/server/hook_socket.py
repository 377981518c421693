"""Answers hooks of coding agents from inside a server, which has everything loaded already."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from memslot_mcp_server.hook_client import ANSWER_SECONDS, DONE, EVENTS, MAX_BYTES, Meant, is_private, socket_folder
from memslot_mcp_server.hooks.answers import after_reply, at_session_start, before_prompt
from memslot_mcp_server.hooks.payload import Payload, PayloadError, read_payload
from memslot_mcp_server.server.hosts import Hosts
from memslot_mcp_server.server.stderr import warn
from memslot_mcp_server.server.workers import Workers

_LONGEST_SECONDS = ANSWER_SECONDS + 2
"""Longer than a hook waits: it must be able to tell a server that is slow from one that could not help."""


@contextlib.asynccontextmanager
async def answering_hooks(hosts: Hosts, workers: Workers, label: str) -> AsyncIterator[Path | None]:
    """Answer hooks for as long as the block lasts; gives the socket, or None where there can be none."""
    meant = Meant.here(label, os.environ)
    path = _socket_path(meant)
    if path is None:
        yield None
        return
    answers = _Answers(hosts, workers, meant)
    try:
        server = await asyncio.start_unix_server(answers.serve, path=path)
    except OSError as error:
        warn(f"hooks will load memslot anew each time, since there can be no socket: {error.strerror or error}")
        yield None
        return
    path.chmod(0o600)
    try:
        yield path
    finally:
        server.close()
        path.unlink(missing_ok=True)


def _socket_path(meant: Meant) -> Path | None:
    name = socket_folder()
    if name is None:
        return None
    folder = Path(name)
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    return folder / f"{meant.prefix()}{os.getpid()}" if is_private(name) else None


class _Answers:
    def __init__(self, hosts: Hosts, workers: Workers, meant: Meant) -> None:
        self._hosts = hosts
        self._workers = workers
        self._meant = meant

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one event; whoever cannot be understood hears nothing, and helps themselves."""
        with contextlib.suppress(TimeoutError, OSError):
            try:
                async with asyncio.timeout(_LONGEST_SECONDS):
                    request = await _read_all(reader)
                    found = await self._answer(request)
                    if found is not None:
                        writer.write(DONE + found)
                        await writer.drain()
            finally:
                writer.close()

    async def _answer(self, request: bytes) -> bytes | None:
        meant = self._meant.line() + b"\0"
        if not request.startswith(meant):
            return None
        event, _, data = request.removeprefix(meant).partition(b"\0")
        try:
            payload = read_payload(io.BytesIO(data))
        except PayloadError:
            return None
        if event.decode("ascii", "replace") not in EVENTS:
            return None
        try:
            found = await self._workers.run(self._carry_out, event.decode(), payload)
        except Exception as error:
            warn(f"a hook was not answered: {type(error).__name__}: {error}")
            return None
        return b"" if found is None else json.dumps(found, ensure_ascii=False).encode() + b"\n"

    def _carry_out(self, event: str, payload: Payload) -> dict[str, Any] | None:
        with self._hosts.borrow() as host:
            if event == "session-start":
                return at_session_start(host, payload)
            if event == "prompt":
                return before_prompt(host, payload)
            after_reply(host, payload)
            return None


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    parts, size = [], 0
    while part := await reader.read(65536):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES + 65536:
            return b""
    return b"".join(parts)
