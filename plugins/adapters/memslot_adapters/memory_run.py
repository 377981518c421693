"""An agent's run with recall at its start and capture at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from memslot import AgentRun, Host, Message, Session

from memslot_adapters.tools import ActiveRun, ChatType, chat_type_of, set_active_run

Value = TypeVar("Value")


class Remembering:
    """A context manager around an agent's run; enter and leave it in the same task or thread.

    `context` is what was recalled for the prompt, `system_prompt` the plugins' prompt sections. An
    exception that leaves the block fails the run, and nothing is captured.
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
        self._before: ActiveRun | None = None

    @property
    def memory_run(self) -> AgentRun:
        """The run of the host: its session, its tools."""
        if self._run is None:
            raise RuntimeError("the run has not begun; enter it with `async with remembering(…) as memory:`")
        return self._run

    @property
    def context(self) -> str:
        """What was recalled, fenced and marked as untrusted; empty if nothing is relevant."""
        return self.memory_run.context

    @property
    def system_prompt(self) -> str:
        """What plugins add to the system prompt."""
        return self.memory_run.system_prompt

    def said(self) -> Sequence[Message]:
        """The run's messages, for plugins to capture."""
        return ()

    def __enter__(self) -> Self:
        self._begin()
        self._before = set_active_run(ActiveRun(self.host, self.memory_run))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_active_run(self._before)
        self._end(kind, error, trace)

    async def __aenter__(self) -> Self:
        try:
            await run_to_completion(self._begin)
        except asyncio.CancelledError as error:
            if self._run is not None:
                await run_to_completion(self._end, type(error), error, None)
            raise
        self._before = set_active_run(ActiveRun(self.host, self.memory_run))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_active_run(self._before)
        await run_to_completion(self._end, kind, error, trace)

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


def user_message(text: str) -> dict[str, Any]:
    """A user message for plugins."""
    return {"role": "user", "content": text}


def assistant_message(text: str) -> dict[str, Any]:
    """An assistant message for plugins."""
    return {"role": "assistant", "content": text}


async def run_to_completion(function: Callable[..., Value], *arguments: Any) -> Value:
    """Call a function in a worker thread and wait for it to finish, even if cancelled."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not work.cancelled():
            work.exception()  # mark it as retrieved; the cancellation is what counts
        raise cancelled
    return work.result()
