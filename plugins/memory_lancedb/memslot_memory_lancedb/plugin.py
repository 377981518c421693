"""The hooks of memory-lancedb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memslot import AgentStart, Message, PluginContext, PromptSection, RunInfo, Tool, hookimpl

from memslot_memory_lancedb.decisions import FAILED
from memslot_memory_lancedb.errors import StoreError
from memslot_memory_lancedb.memory import LanceMemory, memory_of, settings_of
from memslot_memory_lancedb.tools import make_tools

if TYPE_CHECKING:
    import click

GUIDE = (
    "You have a long-term memory across conversations. Relevant memories may precede a prompt, marked as untrusted "
    "data. Call memory_recall before answering anything that earlier conversations may bear on; memory_store when "
    "the user asks you to remember something or states a lasting preference, fact or decision; memory_update when a "
    "memory is no longer right; memory_forget when they ask you to forget."
)


@hookimpl
def register_memory(ctx: PluginContext) -> LanceMemory:
    return memory_of(ctx)


@hookimpl
def register_tools(ctx: PluginContext) -> list[Tool]:
    return make_tools(memory_of(ctx), settings_of(ctx).chat_types)


@hookimpl
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    from memslot_memory_lancedb.commands import make_command

    cli.add_command(make_command(memory_of(ctx), settings_of(ctx)))


@hookimpl
def register_prompt_sections(ctx: PluginContext) -> list[PromptSection]:
    return [PromptSection("Long-term Memory", GUIDE, requires_tools=("memory_recall", "memory_store"))]


@hookimpl
def before_agent_start(ctx: PluginContext, run: RunInfo) -> AgentStart | None:
    """Prepend relevant memories to the prompt, in allowed chat types only."""
    settings, memory = settings_of(ctx), memory_of(ctx)
    if not settings.auto_recall or run.session.chat_type not in settings.chat_types:
        return None
    context = memory.auto_recall.context_for(run.prompt)
    memory.maintenance.check_now()
    return AgentStart(prepend_context=context) if context else None


@hookimpl
def agent_end(ctx: PluginContext, run: RunInfo, messages: Sequence[Message], success: bool) -> None:
    """Capture what the user said, if it is worth keeping."""
    settings, memory = settings_of(ctx), memory_of(ctx)
    if settings.auto_capture and success and run.session.chat_type in settings.chat_types:
        decisions = memory.auto_capture.take(run.session.id, messages)
        memory.maintenance.check_now()
        if failed := next((each for each in decisions if each.rule == FAILED), None):
            raise StoreError(failed.reason)  # so that the host retries this run
