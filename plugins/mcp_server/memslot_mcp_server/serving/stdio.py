"""Serves one client over stdin and stdout, until it closes stdin."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from memslot import MemslotError

from memslot_mcp_server.serving.hosts import Hosts
from memslot_mcp_server.serving.server import MemslotServer
from memslot_mcp_server.serving.wire import LineCutter, Oversized, Refused, read_message
from memslot_mcp_server.serving.workers import Workers

ANSWER_SECONDS = 5.0
"""When stdin closes, requests that were already read are answered for so long."""
CLOSE_SECONDS = 2.0
"""Then everything else has so long to end, also where the client keeps stdout open and reads nothing from it."""
_READ_BYTES = 65536
_ENDLESS = "subscriptions/listen"
"""A request whose answer is the end of the connection."""
_PROBE = "server/discover"

Conversation = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@dataclass(frozen=True)
class Pipes:
    """The descriptors that carry the protocol."""

    read: int
    write: int


@contextlib.contextmanager
def own_pipes() -> Iterator[Pipes]:
    """Take stdin and stdout away from everybody else: what plugins print goes to stderr, and they read nothing."""
    if sys.stdin is None or sys.stdout is None:  # by now their numbers may be those of other files
        raise MemslotError(
            "a client is spoken to over stdin and stdout, and one of them is closed; see: memslot mcp --help"
        )
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


async def serve(hosts: Hosts, pipes: Pipes, label: str) -> None:
    """Serve until the client closes stdin, goes away, or somebody asks the process to end."""
    workers = Workers()
    server = await workers.run(MemslotServer, hosts, workers, label)
    connection = _Connection(pipes)
    async with anyio.create_task_group() as tasks:
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            with contextlib.suppress(AttributeError, NotImplementedError, ValueError):  # Windows has few of them
                asyncio.get_running_loop().add_signal_handler(getattr(signal, name), tasks.cancel_scope.cancel)
        tasks.start_soon(connection.write_messages, tasks.cancel_scope)
        connection.start_reading(tasks)
        async for inbound, outbound in connection.conversations():
            await server.run(inbound, outbound, server.create_initialization_options())
        connection.close()
    workers.drain(ANSWER_SECONDS)


class _Connection:
    """The messages of one client."""

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes
        self._writer = Workers(1)  # its own, so that answers go out while every other worker is busy
        self._waiting: set[int | str] = set()
        self._has_asked = False
        self._has_only_probed = False
        self._outbound: MemoryObjectSendStream[SessionMessage]
        self._to_send: MemoryObjectReceiveStream[SessionMessage]
        self._outbound, self._to_send = anyio.create_memory_object_stream[SessionMessage](0)
        self._conversations = anyio.create_memory_object_stream[Conversation](1)
        self._received = self._begin_conversation()

    def _begin_conversation(self) -> MemoryObjectSendStream[SessionMessage | Exception]:
        received, inbound = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._conversations[0].send_nowait((inbound, self._outbound.clone()))
        return received

    async def conversations(self) -> AsyncIterator[Conversation]:
        """The streams for the SDK; others when the client begins anew."""
        async with self._conversations[1] as conversations:
            async for each in conversations:
                yield each

    def start_reading(self, tasks: anyio.abc.TaskGroup) -> None:
        """Read in a thread of its own, which nobody can interrupt and nobody has to."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=16)

        def read() -> None:
            data: bytes | None = b""
            while data is not None:
                try:
                    data = os.read(self._pipes.read, _READ_BYTES) or None
                except OSError:
                    data = None
                try:
                    # Waits while the server is busy, so that a client cannot fill the memory.
                    asyncio.run_coroutine_threadsafe(lines.put(data), loop).result()
                except (RuntimeError, asyncio.CancelledError):
                    return

        threading.Thread(target=read, name="memslot mcp stdin", daemon=True).start()
        tasks.start_soon(self._read_messages, lines, tasks.cancel_scope)

    async def _read_messages(self, chunks: asyncio.Queue[bytes | None], everything: anyio.CancelScope) -> None:
        cutter = LineCutter()
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while (data := await chunks.get()) is not None:
                for line in cutter.feed(data):
                    await self._take(line)
            for line in cutter.close():
                await self._take(line)
            await self._wait_for_answers()
        self._received.close()
        self._conversations[0].close()
        everything.deadline = anyio.current_time() + CLOSE_SECONDS

    async def _take(self, line: bytes | Oversized) -> None:
        if isinstance(line, bytes) and not line.strip():
            return
        message = read_message(line)
        if isinstance(message, Refused):
            await self._outbound.send(SessionMessage(message.answer))
            return
        if isinstance(message, types.JSONRPCRequest):
            await self._let_begin_anew(message)
        if isinstance(message, types.JSONRPCRequest) and message.method != _ENDLESS:
            self._waiting.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))
        await self._received.send(SessionMessage(message))

    async def _let_begin_anew(self, request: types.JSONRPCRequest) -> None:
        """Take `initialize` of a client whose probe had no answer in time.

        The SDK settles on a protocol era with the first request, and would refuse it with -32022.
        """
        if request.method == "initialize" and self._has_only_probed:
            await self._wait_for_answers()
            self._waiting.clear()
            self._received.close()
            self._received = self._begin_conversation()
        self._has_only_probed = request.method == _PROBE and (self._has_only_probed or not self._has_asked)
        self._has_asked = True

    async def _wait_for_answers(self) -> None:
        with anyio.move_on_after(ANSWER_SECONDS):
            while self._waiting:
                await anyio.sleep(0.02)

    async def write_messages(self, everything: anyio.CancelScope) -> None:
        """Write what the server says; a client that reads no more is gone, and all ends."""
        async with self._to_send:
            async for each in self._to_send:
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
                try:
                    await self._writer.run(_write_all, self._pipes.write, line.encode())
                except OSError:
                    everything.cancel()
                    return
                if isinstance(each.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._settle(each.message.id)

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, int | str):
            self._waiting.discard(request_id)

    def close(self) -> None:
        """Let the writing end."""
        self._outbound.close()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
