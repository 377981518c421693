"""The hooks of memory-lancedb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memslot import (
    AgentStart,
    MemoryWritten,
    Message,
    PluginContext,
    PromptSection,
    RunInfo,
    Session,
    Tool,
    hookimpl,
)

from memslot_memory_lancedb.capture.elsewhere import Kept
from memslot_memory_lancedb.decisions import FAILED
from memslot_memory_lancedb.errors import StoreError
from memslot_memory_lancedb.memory import LanceMemory, memory_of, others_of, path_of, settings_of
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.tools import make_tools

if TYPE_CHECKING:
    import click

GUIDE = (
    "You have a long-term memory across conversations. Relevant memories may precede a prompt, marked as untrusted "
    "data. Call memory_recall before answering anything that earlier conversations may bear on; memory_store when "
    "the user asks you to remember something or states a lasting preference, fact or decision; memory_update when a "
    "memory is no longer right; memory_forget when they ask you to forget."
)
GUIDE_SIDE_BY_SIDE = (
    "Facts from conversations: what was said, such as preferences, people, habits. memory_recall to find; memory_store "
    "for a single lasting fact the user states; memory_update when one is no longer right; memory_forget when they "
    "ask you to forget."
)


@hookimpl
def register_memory(ctx: PluginContext) -> LanceMemory:
    return memory_of(ctx)


@hookimpl
def register_tools(ctx: PluginContext) -> list[Tool]:
    settings = settings_of(ctx)

    def find_elsewhere(text: str, session: Session) -> Kept | None:
        return None if settings.duplicates_others else others_of(ctx).find(text, session)

    def tell_written(kept: MemoryRecord, session: Session) -> None:
        ctx.tell_written(kept.text, path=path_of(kept.id), session=session)

    return make_tools(memory_of(ctx), settings.chat_types, find_elsewhere, tell_written)


@hookimpl
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    from memslot_memory_lancedb.commands import make_command

    cli.add_command(make_command(memory_of(ctx), settings_of(ctx)))


@hookimpl
def register_prompt_sections(ctx: PluginContext) -> list[PromptSection]:
    tools = ("memory_recall", "memory_store")
    return [PromptSection("Long-term Memory", GUIDE, requires_tools=tools, side_by_side=GUIDE_SIDE_BY_SIDE)]


@hookimpl
def before_agent_start(ctx: PluginContext, run: RunInfo) -> AgentStart | None:
    """Prepend relevant memories to the prompt, in allowed chat types only."""
    settings, memory = settings_of(ctx), memory_of(ctx)
    if not settings.auto_recall or run.session.chat_type not in settings.chat_types:
        return None
    recalled = memory.auto_recall.items_for(run.prompt)
    memory.maintenance.check_now()
    return AgentStart(recalled=recalled, recall_chars=settings.recall.max_chars) if recalled else None


@hookimpl
def agent_end(ctx: PluginContext, run: RunInfo, messages: Sequence[Message], success: bool) -> None:
    """Capture what the user said, if it is worth keeping."""
    settings, memory = settings_of(ctx), memory_of(ctx)
    if settings.auto_capture and success and run.session.chat_type in settings.chat_types:

        def kept_elsewhere(text: str) -> Kept | None:
            return None if settings.duplicates_others else others_of(ctx).find_for_message(text, run.session)

        decisions = memory.auto_capture.take(run.session.id, messages, kept_elsewhere)
        for kept in (each for each in decisions if each.kept):
            ctx.tell_written(kept.text, path=path_of(kept.memory_id), session=run.session, by="capture")
        memory.maintenance.check_now()
        if failed := next((each for each in decisions if each.rule == FAILED), None):
            raise StoreError(failed.reason)  # so that the host retries this run


@hookimpl
def memory_written(ctx: PluginContext, written: MemoryWritten) -> None:
    """Log what another memory has stored, so that auto-capture does not store it as well."""
    if settings_of(ctx).auto_capture:
        others_of(ctx).note(written)
