"""The tools of a conversation and how to call them, for every framework."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple, get_args

from memslot import AgentRun, AsyncAgentRun, Host, Session, Tool, ToolResult

ChatType = Literal["direct", "group", "channel"]
Source = Host | AgentRun | AsyncAgentRun
"""Where tools come from: a host, or one of its runs."""


class ActiveRun(NamedTuple):
    """A run in progress and its host."""

    host: Host
    run: AgentRun


_active_run: ContextVar[ActiveRun | None] = ContextVar("memslot run", default=None)


def active_run() -> ActiveRun | None:
    """The run that the caller is in."""
    return _active_run.get()


def set_active_run(value: ActiveRun | None) -> ActiveRun | None:
    """Set the active run; returns the previous one."""
    before = _active_run.get()
    _active_run.set(value)
    return before


def session_of(host: Host, session: str | Session | None, chat_type: ChatType | None) -> Session:
    """The session to use: a new one if none is given, private by default."""
    wanted = chat_type_of(session, chat_type)
    if isinstance(session, Session):
        return session
    return Session(host.agent_id, chat_type=wanted) if session is None else Session(host.agent_id, session, wanted)


def chat_type_of(session: str | Session | None, chat_type: ChatType | None) -> ChatType:
    """The chat type to use; a ValueError if the session has another one, since either could be too permissive."""
    if not isinstance(session, Session):
        return chat_type or "direct"
    if chat_type not in (None, session.chat_type):
        raise ValueError(f"session {session.id!r} is a {session.chat_type} chat, not {chat_type}; leave out chat_type")
    return session.chat_type


class Toolbox:
    """The tools of a host or a run.

    A host's tools follow the active run, so that one agent can serve many conversations: the run's chat type decides
    which tools there are, and its plugins' tool hooks are called. Naming a session or a chat type fixes it.
    """

    def __init__(
        self,
        source: Source,
        session: str | Session | None = None,
        chat_type: ChatType | None = None,
        *,
        follow: Callable[[], ActiveRun | None] = active_run,
    ) -> None:
        self._session = session
        self._chat_type = chat_type
        self._follow = follow
        self._host: Host | None = None
        self._given: AgentRun | None = None
        if isinstance(source, Host):
            self._host, self._own = source, session_of(source, session, chat_type)
        else:
            self._given = source.run if isinstance(source, AsyncAgentRun) else source
            self._own = self._given.session

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of the current chat."""
        run = self._run()
        if run is not None:
            return run.tools
        return self._host.tools(self._own.chat_type) if self._host is not None else ()

    @property
    def possible_tools(self) -> tuple[Tool, ...]:
        """The tools of every chat they may be used in, for frameworks that filter later."""
        if self._host is None or self._session is not None or self._chat_type is not None:
            return self.tools
        found = (tool for chat_type in get_args(ChatType) for tool in self._host.tools(chat_type))
        return tuple({tool.name: tool for tool in found}.values())

    def has(self, name: str) -> bool:
        """Whether the current chat has this tool."""
        return any(tool.name == name for tool in self.tools)

    def call(self, name: str, args: Any) -> ToolResult:
        """Call a tool; errors of the plugin or the model are in the result."""
        run = self._run()
        if run is not None:
            return run.call_tool(name, args)
        assert self._host is not None
        return self._host.call_tool(name, args, session=self._own)

    async def acall(self, name: str, args: Any) -> ToolResult:
        """The async twin of call; it waits in a worker thread."""
        return await asyncio.to_thread(self.call, name, args)

    def _run(self) -> AgentRun | None:
        """The run whose tools these are: the given one, or the active one of this host."""
        if self._given is not None:
            return self._given
        found = self._follow()
        if found is None or found.host is not self._host:
            return None
        place, wanted = found.run.session, self._session
        if wanted is not None and place.id != (wanted if isinstance(wanted, str) else wanted.id):
            return None
        return found.run if self._chat_type in (None, place.chat_type) else None
