"""`memslot hook`."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import click
from memslot import CanRefresh, Host, PluginContext

from memslot_mcp_server import hook_client
from memslot_mcp_server.commands.install import make_hook_install_command
from memslot_mcp_server.hooks.payload import Payload, PayloadError, read_payload

_REFRESH_SECONDS = 600.0
"""Enough for the first index of many notes; a memory that hangs must not leave a process behind for each turn."""
CLIENT_NAMES = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "qwen": "Qwen Code",
    "opencode": "opencode",
}
_CLIENT_HELP = """Handle EVENT of {name}: JSON on stdin, answer on stdout.

EVENT is session-start, prompt, stop, pre-compact or session-end. Failures go to stderr, and the agent continues as if
there were no hook.
"""


def make_hook_command(ctx: PluginContext) -> click.Group:
    @click.group("hook", cls=_Clients)
    def hook() -> None:
        """Recall and capture for the hooks of coding agents.

        \b
        Examples:
          memslot hook install claude-code
          echo '{"session_id": "s", "prompt": "which database?"}' | memslot hook claude-code prompt
        """

    for client in hook_client.CLIENTS:
        hook.add_command(_make_client_command(ctx, client))
    hook.add_command(make_hook_install_command(ctx))
    return hook


class _Clients(click.Group):
    """Its commands are the agents. An unknown one does nothing and succeeds: exit code 2 would stop the agent."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = super().get_command(ctx, cmd_name)
        if known is not None or cmd_name.startswith("-"):
            return known
        return _make_unknown_command(cmd_name)


def _make_client_command(ctx: PluginContext, client: str) -> click.Command:
    name = CLIENT_NAMES[client]

    @click.command(client, help=_CLIENT_HELP.format(name=name))
    @click.argument("event")
    @click.pass_context
    def run_hook(click_ctx: click.Context, event: str) -> None:
        if event not in hook_client.EVENTS:
            click.echo(
                f"memslot: {event!r} is not a known event ({', '.join(hook_client.EVENTS)}); nothing was done", err=True
            )
        elif event in hook_client.AWAITED_EVENTS:
            _answer(click_ctx, ctx, client, event)
        elif (payload := _read(client)) is not None:
            _quietly(lambda: _take(_host(click_ctx, ctx), event, payload))

    return run_hook


def _make_unknown_command(name: str) -> click.Command:
    @click.command(name, hidden=True, context_settings={"ignore_unknown_options": True})
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def run_unknown(words: tuple[str, ...]) -> None:
        known = ", ".join(hook_client.CLIENTS)
        click.echo(f"memslot: {name!r} is not a known agent ({known}); nothing was done", err=True)

    return run_unknown


def _read(client: str) -> Payload | None:
    if sys.stdin is None:
        click.echo("memslot: stdin is closed, so there is no event to handle", err=True)
        return None
    if sys.stdin.isatty():
        raise click.UsageError("pipe the event to stdin as JSON, as the agent sends it")
    try:
        return read_payload(sys.stdin.buffer, client)
    except PayloadError as error:
        click.echo(f"memslot: {error}; nothing was done", err=True)
        return None


def _answer(click_ctx: click.Context, ctx: PluginContext, client: str, event: str) -> None:
    """Print the answer and exit at once, without waiting for background work: indexes are updated after the turn."""
    hook_client.start_watchdog()
    payload = _read(client)
    if payload is None:
        return
    from memslot_mcp_server.hooks.events import handle

    found = _quietly(lambda: handle(event, _host(click_ctx, ctx), payload, hook_client.seconds_left))
    if found is not None and sys.stdout is not None:
        _quietly(lambda: _write(json.dumps(found, ensure_ascii=False).encode() + b"\n"))
    _end_now()


def _take(host: Host, event: str, payload: Payload) -> None:
    """Call plugins, and refresh the memories: the hooks before a prompt have no time for that."""
    from memslot_mcp_server.hooks.events import handle

    handle(event, host, payload)
    for memory_id, memory in host.memories.having(CanRefresh):
        refresh = functools.partial(host.memories.call, memory_id, "refresh", memory.refresh)
        _quietly(functools.partial(refresh, seconds=_REFRESH_SECONDS))
    host.close()


def _host(click_ctx: click.Context, ctx: PluginContext) -> Host:
    return click_ctx.obj if isinstance(click_ctx.obj, Host) else Host.load(agent=ctx.agent_id)


def _quietly(function: Callable[[], Any]) -> Any:
    """Call a function; a failure is one line on stderr and does not stop the agent."""
    try:
        return function()
    except Exception as error:
        click.echo(f"memslot: {type(error).__name__}: {error}", err=True)
        return None


def _write(answer: bytes) -> None:
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()


def _end_now() -> None:
    sys.stderr.flush()
    os._exit(0)
