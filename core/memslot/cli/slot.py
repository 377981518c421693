"""What the commands about the memory slot share. They go by capabilities and name no plugin."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from memslot.cli.output import clean, keep_log_quiet, results_apart, say_warning
from memslot.cli.plugin_commands import prepare_host, read_current_overview

if TYPE_CHECKING:
    from memslot.host import Host

ANSWER_SECONDS = 15.0
"""How long a person waits for a memory that does not answer."""
FRESH_SECONDS = 5.0
"""How long a command waits for the latest changes."""
_SAID_BY_COMMANDS = ("search", "status", "remember", "forget")
"""Stages of diagnostics whose faults the commands themselves report."""

agent_option = click.option("--agent", metavar="ID", help="Agent to use (default: the default agent).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@contextlib.contextmanager
def open_memories(agent: str | None) -> Iterator[Host]:
    """A host whose memory slot is filled; what plugins print meanwhile goes to stderr.

    Raises a ClickException that says why where there is no memory.
    """
    keep_log_quiet()
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
    """The id as it is; raises a UsageError that names the memories of the slot for any other."""
    if memory_id is not None and memory_id in host.memories.absent:
        raise click.ClickException(f"{memory_id} does not run: {clean(host.memories.absent[memory_id])}")
    if memory_id is not None and memory_id not in host.memories.ids:
        raise click.UsageError(
            f'"{clean(memory_id)}" is not in the memory slot; --in takes one of: {", ".join(host.memories.ids)}'
        )
    return memory_id


def refresh_all(host: Host, only: str | None) -> None:
    """Let the memories take up what changed, all at the same time: a command has no later moment to find it.

    One that takes longer goes on in the background, and what it finds may be older.
    """
    from memslot.diagnostics import describe_error
    from memslot.memory.capabilities import CanRefresh
    from memslot.threads import start_thread

    done: queue.SimpleQueue[tuple[str, str | None]] = queue.SimpleQueue()

    def refresh(memory_id: str, memory: CanRefresh) -> None:
        try:
            memory.refresh()
        except Exception as error:
            done.put((memory_id, describe_error(error)))
        else:
            done.put((memory_id, None))

    waiting = set()
    for memory_id, memory in host.memories:
        if only in (None, memory_id) and isinstance(memory, CanRefresh):
            waiting.add(memory_id)
            start_thread(partial(refresh, memory_id, memory), f"memslot refresh {memory_id}")
    until = time.monotonic() + FRESH_SECONDS
    while waiting:
        try:
            memory_id, problem = done.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            for memory_id in sorted(waiting):
                say_warning(f"{memory_id}: the latest changes are still being taken up")
            return
        waiting.discard(memory_id)
        if problem is not None:
            say_warning(f"{memory_id}: the latest changes could not be taken up: {clean(problem)}")
