"""Everything a plugin can do: one function per hook.

An implementation is a function of the same name marked with `@memslot.hookimpl`; it takes
whichever of the arguments it needs, by name. Registration hooks are plain functions and run once,
when the plugin is activated. Lifecycle hooks run around an agent's work and may be `async def`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

if TYPE_CHECKING:
    import click

    from memslot.agent.prompt import PromptSection
    from memslot.embeddings.contract import EmbeddingProviderSpec
    from memslot.events import AgentStart, MemoryWritten, Message, RunInfo, Session, ToolCallVerdict
    from memslot.memory.contract import Memory
    from memslot.plugins.context import PluginContext
    from memslot.tools import Tool, ToolResult

PROJECT = "memslot"
HOST_API = 2
"""The version of this contract; a manifest's `minHostApi` names the oldest version it supports."""

Function = TypeVar("Function", bound=Callable[..., Any])
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a hook implementation. pluggy's own marker: `tryfirst`, `trylast`, `specname` and `optionalhook` work."""

_spec = pluggy.HookspecMarker(PROJECT)


def hookspec(*, budget_seconds: float, in_background: bool = False) -> Callable[[Function], Function]:
    """Mark a function as a hook, whose implementations get this time budget each."""

    def mark(function: Function) -> Function:
        function.memslot_budget = budget_seconds  # type: ignore[attr-defined]
        function.memslot_in_background = in_background  # type: ignore[attr-defined]
        return _spec(function)

    return mark


# Registration: synchronous, once, when the plugin is activated.


@hookspec(budget_seconds=15)
def register_tools(ctx: PluginContext) -> Iterable[Tool]:
    """Return the tools this plugin gives to agents. Since host API 1."""
    return ()


@hookspec(budget_seconds=15)
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    """Add click commands to `cli`: those the manifest names under `provides.commands`.

    Runs only when one of them is called. Since host API 1.
    """


@hookspec(budget_seconds=15)
def register_embedding_providers(ctx: PluginContext) -> Iterable[EmbeddingProviderSpec]:
    """Return descriptions of embedding providers; each is created when it is first used. Since host API 1."""
    return ()


@hookspec(budget_seconds=15)
def register_memory(ctx: PluginContext) -> Memory | None:
    """Return the memory this plugin puts in the memory slot; open files lazily. Since host API 1."""


@hookspec(budget_seconds=15)
def register_prompt_sections(ctx: PluginContext) -> Iterable[PromptSection]:
    """Return sections that are added to the agent's system prompt. Since host API 1.

    A section is omitted from a run that lacks one of its `requires_tools`. For a sub-agent with a narrow job, a
    program starts the run with `host.run(…, prompt_mode="minimal")`, which keeps only sections with
    `in_minimal=True`. The default, "full", keeps all of them.

    Return the same text in every run of a conversation: providers cache a prompt from its beginning. Text that
    changes belongs in `before_agent_start`, whose result stands at the end, with the user's prompt.
    """
    return ()


# Lifecycle: around an agent's work, `def` or `async def`.


@hookspec(budget_seconds=15)
def session_start(ctx: PluginContext, session: Session) -> None:
    """A conversation is seen by this host for the first time. Since host API 1."""


@hookspec(budget_seconds=15)
def before_agent_start(ctx: PluginContext, run: RunInfo, messages: Sequence[Message]) -> AgentStart | None:
    """An agent is about to work on `run.prompt`: return context to put before it. Since host API 1.

    All plugins' `prepend_context` parts are joined in pluggy's order; the first non-empty
    `system_prompt` wins. `messages` is the conversation so far.

    Since host API 2 a memory returns what it recalls as `recalled` items, each with a score on the scale of
    `memslot.retrieval.calibrated`. The host joins the items of all plugins: best first, without duplicates, in one
    fence.
    """


@hookspec(budget_seconds=30, in_background=True)
def agent_end(ctx: PluginContext, run: RunInfo, messages: Sequence[Message], success: bool, error: str | None) -> None:
    """A run has ended. Called in the background, one run after the other; awaited when the host closes.

    `messages` are what the program hands to `run.finish`: by convention the messages of this run, not the history
    before it, and none if the program never calls `finish`. Because the call is in the background, a later run
    may begin before it is done. In tests, wait for it with `host.close()`, or use strict mode, where `run.finish`
    itself waits.

    A run finished with `durable=True` is delivered again, with the same `run.id`, if this call raised, ran out of
    time, or the process was killed: be ready to see a run twice.

    Since host API 1.
    """


@hookspec(budget_seconds=15)
def before_compaction(ctx: PluginContext, session: Session, messages: Sequence[Message], tokens: int) -> None:
    """Older messages are about to be summarised away: the last chance to keep something. Since host API 1."""


@hookspec(budget_seconds=15, in_background=True)
def session_end(ctx: PluginContext, session: Session) -> None:
    """A conversation is over, or the host closes while it is open. Since host API 1."""


@hookspec(budget_seconds=15)
def before_tool_call(ctx: PluginContext, run: RunInfo, tool: str, args: Mapping[str, Any]) -> ToolCallVerdict | None:
    """A tool is about to be called: return other arguments, or a reason to refuse. Since host API 1.

    Implementations run one after the other, each seeing the arguments left by the previous one; the
    first refusal ends it. One that fails changes nothing.
    """


@hookspec(budget_seconds=15, in_background=True)
def after_tool_call(
    ctx: PluginContext,
    run: RunInfo,
    tool: str,
    args: Mapping[str, Any],
    result: ToolResult,
    duration_seconds: float,
) -> None:
    """A tool call has finished. Called in the background, in order. Since host API 1."""


@hookspec(budget_seconds=15, in_background=True)
def memory_written(ctx: PluginContext, written: MemoryWritten) -> None:
    """Another plugin's memory has stored something, by a tool, by capture or for a program. Since host API 2.

    Called in the background and before the `agent_end` of the run in which it was written, so that the same statement
    need not be captured again. A memory announces its own writes with `ctx.tell_written`; it is not called for them.
    """
