"""Serves one client over stdin and stdout, until it closes stdin."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator

import anyio
from memslot import Hosts, Workers

from memslot_mcp_server.server.handshake import Handshake, answer_handshake
from memslot_mcp_server.server.hook_socket import answering_hooks
from memslot_mcp_server.server.lines import Line
from memslot_mcp_server.server.pipes import Pipes, read_lines, write_all

ANSWER_SECONDS = 5.0
"""When stdin closes, calls that are under way have this long to end."""


async def serve(hosts: Hosts, pipes: Pipes, label: str) -> None:
    """Serve until the client closes stdin, goes away, or the process is told to end."""
    workers = Workers()
    with anyio.CancelScope() as everything:
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            with contextlib.suppress(AttributeError, NotImplementedError, ValueError):  # Windows lacks some of them
                asyncio.get_running_loop().add_signal_handler(getattr(signal, name), everything.cancel)
        lines = read_lines(pipes)
        first = await anext(lines, None)
        handshake = await workers.run(_shake_hands, hosts, pipes, first)
        async with answering_hooks(hosts, workers, label):
            await _converse(hosts, workers, pipes, handshake, first, lines, everything)
    workers.drain(ANSWER_SECONDS)


def _shake_hands(hosts: Hosts, pipes: Pipes, line: Line | None) -> Handshake | None:
    if not isinstance(line, bytes):
        return None
    with hosts.borrow() as host:
        handshake = answer_handshake(line, host.system_prompt)
    if handshake is not None:
        with contextlib.suppress(OSError):  # the client is gone, which the reader will notice
            write_all(pipes, handshake.line)
    return handshake


async def _converse(
    hosts: Hosts,
    workers: Workers,
    pipes: Pipes,
    handshake: Handshake | None,
    first: Line | None,
    lines: AsyncIterator[Line],
    everything: anyio.CancelScope,
) -> None:
    # These load the SDK, which takes longest of all.
    from memslot_mcp_server.server.connection import Connection
    from memslot_mcp_server.server.mcp_server import MemslotServer

    server = await workers.run(MemslotServer, hosts, workers)
    connection = Connection(pipes, handshake)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.write_messages, everything)
        tasks.start_soon(connection.read_messages, first, lines, everything)
        async with anyio.create_task_group() as background:
            background.start_soon(connection.after_first_answer, server.warm_up)
            async for inbound, outbound in connection.conversations():
                await server.run(inbound, outbound, server.create_initialization_options())
            background.cancel_scope.cancel()
        connection.close()
