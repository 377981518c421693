"""The tools of a conversation, and how they are called, whatever framework asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple, get_args

from memslot import AgentRun, AsyncAgentRun, Host, Session, Tool, ToolResult

ChatType = Literal["direct", "group", "channel"]
Source = Host | AgentRun | AsyncAgentRun
"""What gives tools: a host, or one of its runs."""


class Running(NamedTuple):
    """A run that is under way, and the host it belongs to."""

    host: Host
    run: AgentRun


_running: ContextVar[Running | None] = ContextVar("memslot run", default=None)


def running() -> Running | None:
    """The run in whose block the caller is."""
    return _running.get()


def set_running(value: Running | None) -> Running | None:
    """Say which run is under way from here on; gives the one that was."""
    before = _running.get()
    _running.set(value)
    return before


def place_of(host: Host, session: str | Session | None, chat_type: ChatType | None) -> Session:
    """The conversation meant: one of its own where none is named, private unless told."""
    wanted = chat_type_of(session, chat_type)
    if isinstance(session, Session):
        return session
    return Session(host.agent_id, chat_type=wanted) if session is None else Session(host.agent_id, session, wanted)


def chat_type_of(session: str | Session | None, chat_type: ChatType | None) -> ChatType:
    """The type of chat meant; a ValueError where it is said twice and differs, since one of them would be too open."""
    if not isinstance(session, Session):
        return chat_type or "direct"
    if chat_type not in (None, session.chat_type):
        raise ValueError(f"session {session.id!r} is a {session.chat_type} chat, not a {chat_type} one; say it once")
    return session.chat_type


class Toolbox:
    """The tools of a host or a run.

    Those of a host follow the run that is under way, so that one agent can serve many conversations: its type of chat
    decides what there is, and its plugins hear of the calls. Who names a session or a type of chat fixes it.
    """

    def __init__(
        self,
        source: Source,
        session: str | Session | None = None,
        chat_type: ChatType | None = None,
        *,
        follow: Callable[[], Running | None] = running,
    ) -> None:
        self._session = session
        self._chat_type = chat_type
        self._follow = follow
        self._host: Host | None = None
        self._given: AgentRun | None = None
        if isinstance(source, Host):
            self._host, self._own = source, place_of(source, session, chat_type)
        else:
            self._given = source.run if isinstance(source, AsyncAgentRun) else source
            self._own = self._given.session

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of the chat of now."""
        run = self._run()
        if run is not None:
            return run.tools
        return self._host.tools(self._own.chat_type) if self._host is not None else ()

    @property
    def possible_tools(self) -> tuple[Tool, ...]:
        """The tools of all chats that these may be used in, for frameworks that ask later which of them there are."""
        if self._host is None or self._session is not None or self._chat_type is not None:
            return self.tools
        found = (tool for chat_type in get_args(ChatType) for tool in self._host.tools(chat_type))
        return tuple({tool.name: tool for tool in found}.values())

    def has(self, name: str) -> bool:
        """Whether there is this tool in the chat of now."""
        return any(tool.name == name for tool in self.tools)

    def call(self, name: str, args: Any) -> ToolResult:
        """Call a tool. What a plugin or the model did wrong is in the result."""
        run = self._run()
        if run is not None:
            return run.call_tool(name, args)
        assert self._host is not None
        return self._host.call_tool(name, args, session=self._own)

    async def acall(self, name: str, args: Any) -> ToolResult:
        """The async twin of call; it waits in a worker thread."""
        return await asyncio.to_thread(self.call, name, args)

    def _run(self) -> AgentRun | None:
        """The run whose tools these are: the one they were made for, or the one under way if it is of this host."""
        if self._given is not None:
            return self._given
        found = self._follow()
        if found is None or found.host is not self._host:
            return None
        place, wanted = found.run.session, self._session
        if wanted is not None and place.id != (wanted if isinstance(wanted, str) else wanted.id):
            return None
        return found.run if self._chat_type in (None, place.chat_type) else None
