"""The hooks of memory-core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import (
    AgentStart,
    MemslotError,
    PluginContext,
    PromptSection,
    RecalledItem,
    RunInfo,
    Session,
    Tool,
    hookimpl,
)

from memslot_memory_core.backend import Backend, backend_of
from memslot_memory_core.settings import memory_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click
    from memslot import MemoryHit

    from memslot_memory_core.session_notes import SessionNotes

_FENCE_CHARS = 250
"""Reserved for the fence and its notice."""
GUIDE = (
    "Your notes are in MEMORY.md and memory/*.md. Before answering anything about earlier work, decisions, dates, "
    "people, preferences or open tasks, call memory_search, then memory_get for just the lines you need. "
    "If you searched and are still unsure, say that you looked."
)
GUIDE_SIDE_BY_SIDE = (
    "Notes in MEMORY.md and memory/*.md: what was written down, such as decisions and their reasons, plans, projects, "
    "how things are done. memory_search, then memory_get for just the lines you need; memory_write for what people "
    "should read later."
)


@hookimpl
def register_memory(ctx: PluginContext) -> Backend:
    return backend_of(ctx)


@hookimpl
def register_tools(ctx: PluginContext) -> list[Tool]:
    if not ctx.memory_search.enabled:
        return []
    from memslot_memory_core.tools import make_tools

    def tell_written(text: str, path: str, session: Session) -> None:
        ctx.tell_written(text, path=path, session=session)

    return make_tools(lambda: backend_of(ctx), memory_settings(ctx).citations, ctx.workspace, tell_written)


@hookimpl
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    from memslot_memory_core.commands import add_commands

    add_commands(cli, ctx)


@hookimpl
def register_prompt_sections(ctx: PluginContext) -> list[PromptSection]:
    tools = ("memory_search", "memory_get")
    return [PromptSection("Memory Recall", GUIDE, requires_tools=tools, side_by_side=GUIDE_SIDE_BY_SIDE)]


@hookimpl
def session_start(ctx: PluginContext, session: Session) -> None:
    backend_of(ctx).start_session()


@hookimpl
def agent_end(ctx: PluginContext, run: RunInfo) -> None:
    """Index what the run wrote and said."""
    if ctx.memory_search.enabled:
        backend_of(ctx).request_sync()


@hookimpl
def session_end(ctx: PluginContext, session: Session) -> None:
    _session_notes(ctx).forget(session.id)


@hookimpl
def before_agent_start(ctx: PluginContext, run: RunInfo) -> AgentStart | None:
    """Prepend recent notes to a conversation's first prompt, and relevant passages to every prompt."""
    if not ctx.memory_search.enabled:
        return None
    from memslot_memory_core.recall import RECALL_CHARS, recalled_items

    notes, taken = _notes_at_start(ctx, run)
    lines = [RecalledItem(line, source="") for line in notes]
    recalled = recalled_items(_recall(ctx, run), notes)
    return AgentStart(recalled=[*lines, *recalled], recall_chars=taken + RECALL_CHARS + _FENCE_CHARS)


def _session_notes(ctx: PluginContext) -> SessionNotes:
    from memslot_memory_core.session_notes import SessionNotes

    return ctx.shared("session notes", SessionNotes)


def _notes_at_start(ctx: PluginContext, run: RunInfo) -> tuple[list[str], int]:
    if not _session_notes(ctx).first_time(run.session.id):
        return [], 0
    from memslot_memory_core.session_notes import read_session_notes

    return read_session_notes(ctx.workspace, private=run.session.is_private)


def _recall(ctx: PluginContext, run: RunInfo) -> Sequence[MemoryHit]:
    """The best passages for a prompt; in direct chats only, since notes are private."""
    from memslot_memory_core.recall import recall

    if not run.session.is_private:
        return []
    try:
        return recall(backend_of(ctx), run.prompt, run.session)
    except MemslotError as error:
        ctx.logger.warning("recall failed: %s", error)
        return []
