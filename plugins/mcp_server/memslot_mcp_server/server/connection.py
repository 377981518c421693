"""One client's connection over stdio: its messages go to the SDK, and the SDK's go out."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from memslot import Workers

from memslot_mcp_server.server.handshake import Handshake
from memslot_mcp_server.server.lines import Line
from memslot_mcp_server.server.messages import Refused, read_message
from memslot_mcp_server.server.pipes import Pipes, write_all

ANSWER_SECONDS = 5.0
"""When stdin closes, requests that were already read are answered for this long."""
CLOSE_SECONDS = 2.0
"""Then everything else has this long to end, even if the client keeps stdout open and reads nothing from it."""
_ENDLESS = "subscriptions/listen"
"""A request whose answer is the end of the connection."""
_PROBE = "server/discover"

Conversation = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


class Connection:
    """The messages of one client."""

    def __init__(self, pipes: Pipes, handshake: Handshake | None = None) -> None:
        """With a `handshake`, the first request has been answered, and the SDK's answer to it is dropped."""
        self._pipes = pipes
        self._handshake = handshake
        self._has_answered = anyio.Event()
        if handshake is not None:
            self._has_answered.set()
        self._writer = Workers(1)  # its own, so that answers go out while every other worker is busy
        self._pending: set[int | str] = set()
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
        """The streams for the SDK; new ones when the client starts over."""
        async with self._conversations[1] as conversations:
            async for each in conversations:
                yield each

    async def after_first_answer(self, work: Callable[[], Awaitable[None]]) -> None:
        """Call a function once the client has its first answer."""
        await self._has_answered.wait()
        await work()

    async def read_messages(self, first: Line | None, rest: AsyncIterator[Line], everything: anyio.CancelScope) -> None:
        """Pass the client's lines to the SDK; when they end, everything else ends soon after."""
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            if first is not None:
                await self._take(first)
            async for line in rest:
                await self._take(line)
            await self._wait_for_answers()
        self._received.close()
        self._conversations[0].close()
        everything.deadline = anyio.current_time() + CLOSE_SECONDS

    async def _take(self, line: Line) -> None:
        message = read_message(line)
        if isinstance(message, Refused):
            await self._outbound.send(SessionMessage(message.answer))
            return
        if isinstance(message, types.JSONRPCRequest):
            await self._allow_restart(message)
        if isinstance(message, types.JSONRPCRequest) and message.method != _ENDLESS:
            self._pending.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))
        await self._received.send(SessionMessage(message))

    async def _allow_restart(self, request: types.JSONRPCRequest) -> None:
        """Accept `initialize` from a client whose probe timed out.

        The SDK settles on a protocol era with the first request, and would refuse it with -32022.
        """
        if request.method == "initialize" and self._has_only_probed:
            await self._wait_for_answers()
            self._pending.clear()
            self._received.close()
            self._received = self._begin_conversation()
        self._has_only_probed = request.method == _PROBE and (self._has_only_probed or not self._has_asked)
        self._has_asked = True

    async def _wait_for_answers(self) -> None:
        with anyio.move_on_after(ANSWER_SECONDS):
            while self._pending:
                await anyio.sleep(0.02)

    async def write_messages(self, everything: anyio.CancelScope) -> None:
        """Write what the SDK sends. A client that no longer reads is gone, and everything ends."""
        async with self._to_send:
            async for each in self._to_send:
                message = each.message
                answer = message if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) else None
                if answer is not None and self._handshake is not None and answer.id == self._handshake.request_id:
                    self._handshake = None
                    self._settle(answer.id)
                    continue
                line = message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
                try:
                    await self._writer.run(write_all, self._pipes, line.encode())
                except OSError:
                    everything.cancel()
                    return
                if answer is not None:
                    self._has_answered.set()
                    self._settle(answer.id)

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, int | str):
            self._pending.discard(request_id)

    def close(self) -> None:
        """Let writing end."""
        self._outbound.close()
