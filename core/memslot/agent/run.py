"""One run of an agent, from the prompt to its end, with the plugins' hooks around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from memslot.agent.tool_calls import ToolCalls
from memslot.diagnostics import describe_error
from memslot.events import Message, RunInfo, Session
from memslot.tools import Tool, ToolResult

ReportEnd = Callable[[Sequence[Message], bool, str | None, bool], None]
"""Called with the run's messages, whether it succeeded, the error if not, and whether it must survive a kill."""

Value = TypeVar("Value")


async def in_thread(function: Callable[..., Value], *arguments: Any, **options: Any) -> Value:
    """Run a blocking call in a worker thread."""
    import asyncio  # already loaded if this is awaited

    return await asyncio.to_thread(function, *arguments, **options)


class AgentRun:
    """One run: what an agent is given for a prompt, and where it reports the outcome.

    Use it as a context manager: leaving the block ends the run, as failed if an exception leaves it.
    """

    def __init__(
        self,
        info: RunInfo,
        *,
        context: str,
        system_prompt: str,
        tools: Sequence[Tool],
        calls: ToolCalls,
        report_end: ReportEnd,
    ) -> None:
        self.info = info
        self.context = context
        self.system_prompt = system_prompt
        self.tools = tuple(tools)
        self._calls = calls
        self._report_end = report_end
        self._ended = False

    @property
    def session(self) -> Session:
        return self.info.session

    @property
    def prompt(self) -> str:
        """The prompt, preceded by what was recalled."""
        return f"{self.context}\n\n{self.info.prompt}" if self.context else self.info.prompt

    def call_tool(self, name: str, args: Any = None) -> ToolResult:
        """Call a tool for the model. Errors of the plugin or the model are in the result, never raised."""
        return self._calls.call(self.info, name, args)

    def finish(
        self,
        messages: Sequence[Message] = (),
        *,
        success: bool = True,
        error: str | None = None,
        durable: bool = False,
    ) -> None:
        """Report the run's messages and end it. Plugins are called in the background; only the first call counts.

        With `durable` the run is on disk when this returns: if the process is killed before plugins are done with it,
        the next host of this agent and workspace calls them. Plugins then get the messages as JSON, secrets redacted.
        """
        if self._ended:
            return
        self._ended = True
        self._report_end(messages, success, error, durable)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(success=error is None, error=None if error is None else describe_error(error))


class AsyncAgentRun:
    """The async twin of AgentRun: the same run, with blocking calls in a worker thread."""

    def __init__(self, begin: Callable[[], AgentRun]) -> None:
        self._begin = begin
        self._run: AgentRun | None = None

    async def __aenter__(self) -> Self:
        self._run = await in_thread(self._begin)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(self.run.__exit__, kind, error, trace)

    @property
    def run(self) -> AgentRun:
        if self._run is None:
            raise RuntimeError("an async run begins with `async with host.arun(…) as run:`")
        return self._run

    @property
    def info(self) -> RunInfo:
        return self.run.info

    @property
    def session(self) -> Session:
        return self.run.session

    @property
    def context(self) -> str:
        return self.run.context

    @property
    def system_prompt(self) -> str:
        return self.run.system_prompt

    @property
    def prompt(self) -> str:
        return self.run.prompt

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.run.tools

    async def call_tool(self, name: str, args: Any = None) -> ToolResult:
        return await in_thread(self.run.call_tool, name, args)

    async def finish(
        self,
        messages: Sequence[Message] = (),
        *,
        success: bool = True,
        error: str | None = None,
        durable: bool = False,
    ) -> None:
        await in_thread(self.run.finish, messages, success=success, error=error, durable=durable)
