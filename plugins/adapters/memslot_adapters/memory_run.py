"""A run of an agent with the memory around it: recall when it begins, capture when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from memslot import AgentRun, Host, Message, Session

from memslot_adapters.tools import ChatType, Running, chat_type_of, set_running

Value = TypeVar("Value")


class Remembering:
    """A block in which an agent runs; it is left in the same task or thread that entered it.

    What was recalled for the prompt is `context`, what plugins want the model to know about its tools
    `system_prompt`. An exception that leaves the block ends the run as failed, and nothing is captured.
    """

    def __init__(
        self,
        host: Host,
        prompt: str,
        *,
        session: str | Session | None = None,
        chat_type: ChatType | None = None,
        messages: Sequence[Message] = (),
    ) -> None:
        self.host = host
        self.prompt = prompt
        wanted = chat_type_of(session, chat_type)
        self._options: dict[str, Any] = {"session": session, "chat_type": wanted, "messages": messages}
        self._run: AgentRun | None = None
        self._before: Running | None = None

    @property
    def memory_run(self) -> AgentRun:
        """The run of the host: its session, its tools."""
        if self._run is None:
            raise RuntimeError("a run begins with its block: `async with remembering(…) as memory:`")
        return self._run

    @property
    def context(self) -> str:
        """What was recalled, fenced and marked as untrusted; empty where nothing fits."""
        return self.memory_run.context

    @property
    def system_prompt(self) -> str:
        """What plugins add to the system prompt."""
        return self.memory_run.system_prompt

    def said(self) -> Sequence[Message]:
        """What was said in the run, for the plugins that hear of its end."""
        return ()

    def __enter__(self) -> Self:
        self._begin()
        self._before = set_running(Running(self.host, self.memory_run))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_running(self._before)
        self._end(kind, error, trace)

    async def __aenter__(self) -> Self:
        try:
            await to_the_end(self._begin)
        except asyncio.CancelledError as error:
            if self._run is not None:
                await to_the_end(self._end, type(error), error, None)
            raise
        self._before = set_running(Running(self.host, self.memory_run))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_running(self._before)
        await to_the_end(self._end, kind, error, trace)

    def _begin(self) -> None:
        self._run = self.host.run(self.prompt, **self._options)

    def _end(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        end_run(self.memory_run, self.said() if error is None else (), kind, error, trace)


def end_run(
    run: AgentRun,
    said: Sequence[Message],
    kind: type[BaseException] | None = None,
    error: BaseException | None = None,
    trace: TracebackType | None = None,
) -> None:
    """End a run with what was said, or with the exception that ended it."""
    if error is None:
        run.finish(said)
    else:
        run.__exit__(kind, error, trace)


def user_says(text: str) -> dict[str, Any]:
    """What the person said, as plugins are told it."""
    return {"role": "user", "content": text}


def assistant_says(text: str) -> dict[str, Any]:
    """What the model said, as plugins are told it."""
    return {"role": "assistant", "content": text}


async def to_the_end(function: Callable[..., Value], *arguments: Any) -> Value:
    """Call something in a worker thread that must not be left half-way: who is cancelled waits for it first."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not work.cancelled():
            work.exception()  # has been looked at; what counts is that nobody waits any more
        raise cancelled
    return work.result()
