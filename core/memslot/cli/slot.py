"""Shared by the commands that work on the memory slot. They use capabilities and name no plugin."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from memslot.cli.output import clean, results_apart, say_warning, silence_log
from memslot.cli.plugin_commands import prepare_host, read_current_overview

if TYPE_CHECKING:
    from memslot.host import Host

ANSWER_SECONDS = 15.0
"""How long a command waits for a memory that does not answer."""
FRESH_SECONDS = 5.0
"""How long a command waits for the latest changes."""
_SAID_BY_COMMANDS = ("search", "status", "remember", "forget")
"""Diagnostic stages that the commands report themselves."""


@contextlib.contextmanager
def open_memories(agent: str | None) -> Iterator[Host]:
    """Open a host that has a memory; what plugins print meanwhile goes to stderr.

    Raises a ClickException with the reason if there is no memory.
    """
    silence_log()
    agent = agent or click.get_current_context().find_root().params.get("agent")
    with results_apart(), prepare_host(read_current_overview(with_config=True), agent) as host:
        for warning in host.warnings:
            say_warning(warning)
        try:
            if not len(host.memories):
                raise click.ClickException(f"there is no memory: {host.memory_problem}")
            yield host
        finally:
            for event in host.diagnostics:
                if event.stage not in _SAID_BY_COMMANDS:
                    say_warning(clean(str(event)))


def check_memory_id(host: Host, memory_id: str | None) -> str | None:
    """Return the id. Raises a UsageError that lists the memories of the slot if it is none of them."""
    if memory_id is not None and memory_id in host.memories.absent:
        raise click.ClickException(f"{memory_id} does not run: {clean(host.memories.absent[memory_id])}")
    if memory_id is not None and memory_id not in host.memories.ids:
        raise click.UsageError(
            f'"{clean(memory_id)}" is not in the memory slot; --in takes one of: {", ".join(host.memories.ids)}'
        )
    return memory_id


def refresh_all(host: Host, only: str | None) -> None:
    """Refresh all memories concurrently: a command has no later chance to find what changed.

    A memory that takes too long continues in the background, and its results may be stale.
    """
    from memslot.diagnostics import describe_error
    from memslot.memory.capabilities import CanRefresh
    from memslot.threads import start_thread

    done: queue.SimpleQueue[tuple[str, str | None]] = queue.SimpleQueue()

    def refresh(memory_id: str, memory: CanRefresh) -> None:
        try:
            memory.refresh()
        except BaseException as error:  # a plugin may even call sys.exit
            done.put((memory_id, describe_error(error)))
        else:
            done.put((memory_id, None))

    waiting = set()
    for memory_id, memory in host.memories.having(CanRefresh):
        if only in (None, memory_id):
            waiting.add(memory_id)
            start_thread(partial(refresh, memory_id, memory), f"memslot refresh {memory_id}")
    until = time.monotonic() + FRESH_SECONDS
    while waiting:
        try:
            memory_id, problem = done.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            for memory_id in sorted(waiting):
                say_warning(f"{memory_id}: the latest changes are still being indexed; results may be stale")
            return
        waiting.discard(memory_id)
        if problem is not None:
            say_warning(f"{memory_id}: the latest changes could not be indexed: {clean(problem)}")
