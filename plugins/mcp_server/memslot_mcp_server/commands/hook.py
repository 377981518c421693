"""`memslot hook`."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from memslot import CanRefresh, Host, MemslotError, PluginContext

from memslot_mcp_server import hook_client
from memslot_mcp_server.clients.config_edit import change_file
from memslot_mcp_server.clients.config_locations import claude_folder
from memslot_mcp_server.clients.server_entry import hook_program
from memslot_mcp_server.commands.install import tell_what_changed
from memslot_mcp_server.hooks.payload import Payload, PayloadError, read_payload

Answer = Callable[[Host, Payload], dict[str, Any] | None]


def make_hook_command(ctx: PluginContext) -> click.Group:
    @click.group("hook")
    def hook() -> None:
        """Recall and capture for the hooks of coding agents.

        \b
        Examples:
          memslot hook install claude-code
          echo '{"session_id": "s", "prompt": "which database?"}' | memslot hook claude-code prompt
        """

    @hook.group("claude-code")
    def claude_code() -> None:
        """What Claude Code's hooks call: the event is JSON on stdin, the answer goes to stdout.

        Failures go to stderr, and the agent continues as if there were no hook.
        """

    @claude_code.command("session-start")
    @click.pass_context
    def session_start(click_ctx: click.Context) -> None:
        """Print the context for a new conversation."""
        from memslot_mcp_server.hooks.events import at_session_start

        _answer(click_ctx, ctx, at_session_start)

    @claude_code.command("prompt")
    @click.pass_context
    def prompt(click_ctx: click.Context) -> None:
        """Print what the memory holds about a prompt."""
        from memslot_mcp_server.hooks.events import before_prompt

        _answer(click_ctx, ctx, before_prompt)

    @claude_code.command("stop")
    @click.pass_context
    def stop(click_ctx: click.Context) -> None:
        """Capture what was said and noted in the turn that ended."""
        payload = _read()
        if payload is not None:
            _quietly(lambda: _end_turn(_host(click_ctx, ctx), payload))

    hook.add_command(_make_install_command())
    return hook


def _make_install_command() -> click.Command:
    @click.command("install")
    @click.argument("agent_program", metavar="AGENT", type=click.Choice(["claude-code"]))
    @click.option("--project", "in_project", is_flag=True, help="Write this folder's settings, for this machine only.")
    @click.option("--print", "only_print", is_flag=True, help="Show the change without writing it.")
    @click.pass_context
    def install(click_ctx: click.Context, agent_program: str, in_project: bool, only_print: bool) -> None:
        """Let AGENT recall before each prompt and capture after each reply.

        Other hooks in its settings stay, and a backup is kept beside them.

        \b
        Examples:
          memslot hook install claude-code
          memslot hook install claude-code --print
        """
        from memslot_mcp_server.hooks.settings import add_hooks

        agent = click_ctx.find_root().params.get("agent")
        program = hook_program(str(agent) if agent else None)
        here = Path.cwd() / ".claude" / "settings.local.json"
        file = here if in_project else claude_folder(os.environ) / "settings.json"
        if only_print:
            click.echo(f"{file}:", err=True)
            click.echo(add_hooks("", program), nl=False)
            return
        try:
            copy = change_file(file, lambda text: add_hooks(text, program))
        except MemslotError as error:
            raise click.ClickException(
                f"{file} was not changed: {error}; to add the hooks by hand, see: "
                f"memslot hook install {agent_program} --print"
            ) from None
        tell_what_changed(file, copy, "Claude Code has the hooks")

    return install


def _read() -> Payload | None:
    if sys.stdin is None:
        click.echo("memslot: stdin is closed, so there is no event to handle", err=True)
        return None
    if sys.stdin.isatty():
        raise click.UsageError("pipe the event to stdin as JSON, as Claude Code sends it")
    try:
        return read_payload(sys.stdin.buffer)
    except PayloadError as error:
        click.echo(f"memslot: {error}; nothing was done", err=True)
        return None


def _answer(click_ctx: click.Context, ctx: PluginContext, answer: Answer) -> None:
    """Print the answer and exit at once, without waiting for background work: indexes are updated after the turn."""
    watchdog = threading.Timer(hook_client.seconds_left(), _give_up)
    watchdog.daemon = True
    watchdog.start()
    payload = _read()
    if payload is None:
        return
    found = _quietly(lambda: answer(_host(click_ctx, ctx), payload))
    if found is not None and sys.stdout is not None:
        _quietly(lambda: _write(json.dumps(found, ensure_ascii=False).encode() + b"\n"))
    _end_now()


def _end_turn(host: Host, payload: Payload) -> None:
    """Tell plugins, and refresh the memory: the hooks before a prompt have no time for that."""
    from memslot_mcp_server.hooks.events import after_reply

    after_reply(host, payload)
    if isinstance(host.memory, CanRefresh):
        host.memory.refresh()
    host.close()


def _host(click_ctx: click.Context, ctx: PluginContext) -> Host:
    return click_ctx.obj if isinstance(click_ctx.obj, Host) else Host.load(agent=ctx.agent_id)


def _quietly(function: Callable[[], Any]) -> Any:
    """Call something; a failure is one line on stderr and does not hold up the agent."""
    try:
        return function()
    except Exception as error:
        click.echo(f"memslot: {type(error).__name__}: {error}", err=True)
        return None


def _give_up() -> None:
    sys.stderr.write(f"memslot: gave up after {hook_client.ANSWER_SECONDS:g} seconds\n")
    _end_now()


def _write(answer: bytes) -> None:
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()


def _end_now() -> None:
    sys.stderr.flush()
    os._exit(0)
