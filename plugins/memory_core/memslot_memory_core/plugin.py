"""The hooks of memory-core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import AgentStart, PluginContext, PromptSection, RunInfo, Tool, fence, hookimpl

from memslot_memory_core.memory import NotesMemory, memory_of
from memslot_memory_core.tools import make_tools

if TYPE_CHECKING:
    import click

RECALLED = 3
MIN_PROMPT_CHARS = 5
GUIDE = (
    "Your notes are in MEMORY.md and memory/*.md. Before answering anything about earlier work, decisions, dates, "
    "people, preferences or open tasks, call memory_search, then memory_get for just the lines you need. "
    "If you searched and are still unsure, say that you looked."
)


@hookimpl
def register_memory(ctx: PluginContext) -> NotesMemory:
    return memory_of(ctx)


@hookimpl
def register_tools(ctx: PluginContext) -> list[Tool]:
    return make_tools(memory_of(ctx)) if ctx.memory_search.enabled else []


@hookimpl
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    from memslot_memory_core.commands import make_command

    cli.add_command(make_command(memory_of(ctx)))


@hookimpl
def register_prompt_sections(ctx: PluginContext) -> list[PromptSection]:
    return [PromptSection("Memory Recall", GUIDE, requires_tools=("memory_search", "memory_get"))]


@hookimpl
def before_agent_start(ctx: PluginContext, run: RunInfo) -> AgentStart | None:
    """Put the best passages before the prompt; notes are private, so only where nobody listens in."""
    if not run.session.is_private or len(run.prompt.strip()) < MIN_PROMPT_CHARS or not ctx.memory_search.enabled:
        return None
    outcome = memory_of(ctx).search(run.prompt, max_results=RECALLED)
    return AgentStart(prepend_context=fence(f"{hit.citation}: {hit.snippet}" for hit in outcome.hits))
