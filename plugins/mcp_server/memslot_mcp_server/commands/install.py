"""`memslot mcp install` and `memslot hook install`: the two halves of `memslot connect`, without asking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from memslot import MemslotError, PluginContext, say_done, say_warning

from memslot_mcp_server.clients.catalog import CLIENTS, Client

if TYPE_CHECKING:
    from memslot_mcp_server.clients.connection import Part
    from memslot_mcp_server.clients.edit_record import EditRecord

_HOOKED = [client.id for client in CLIENTS.values() if client.hooks or client.plugin]


def make_server_install_command(ctx: PluginContext) -> click.Command:
    @click.command("install")
    @click.argument("client", type=click.Choice(list(CLIENTS)))
    @click.option("--project", "in_project", is_flag=True, help="Write this folder's config, which others may share.")
    @click.option("--print", "only_print", is_flag=True, help="Show the change without writing it.")
    @click.pass_context
    def install(click_ctx: click.Context, client: str, in_project: bool, only_print: bool) -> None:
        """Add memslot to the MCP servers of CLIENT. `memslot connect` also adds the hooks.

        Everything else in the client's config stays, comments too. Running it twice changes nothing, and
        `memslot connect --undo` reverts it.

        \b
        Examples:
          memslot mcp install claude-code
          memslot mcp install vscode --project
          memslot mcp install codex --print
        """
        chosen = CLIENTS[client]
        _install(ctx, click_ctx, chosen, "server", in_project, only_print, f"{chosen.name} has the server")

    return install


def make_hook_install_command(ctx: PluginContext) -> click.Command:
    @click.command("install")
    @click.argument("agent_program", metavar="AGENT", type=click.Choice(_HOOKED))
    @click.option("--project", "in_project", is_flag=True, help="Write this folder's settings instead of your own.")
    @click.option("--print", "only_print", is_flag=True, help="Show the change without writing it.")
    @click.pass_context
    def install(click_ctx: click.Context, agent_program: str, in_project: bool, only_print: bool) -> None:
        """Add hooks to AGENT for recall and capture. `memslot connect` also adds the server.

        Other hooks in its settings stay. `memslot connect --undo` reverts it.

        \b
        Examples:
          memslot hook install claude-code
          memslot hook install codex --print
        """
        chosen = CLIENTS[agent_program]
        _install(ctx, click_ctx, chosen, "hooks", in_project, only_print, f"{chosen.name} has the hooks")

    return install


def open_record(ctx: PluginContext) -> EditRecord:
    """Open the record of edits in this home, without which nothing is written."""
    from memslot_mcp_server.clients.edit_record import EditRecord

    try:
        return EditRecord(ctx.state_dir())
    except OSError as error:
        why = f"{ctx.places.home} cannot be ({error.strerror or error}), and --undo needs a record there"
        raise click.ClickException(f"nothing was written, since {why}") from None


def warn_of_cache() -> None:
    """Say so if this memslot is not there to stay, as with `uvx`: what is written starts it by its full path."""
    # A marker that programs put into folders that may be deleted: https://bford.info/cachedir
    cache = next((each for each in Path(sys.prefix).parents if (each / "CACHEDIR.TAG").is_file()), None)
    if cache is not None:
        say_warning(
            f"this memslot is in a cache ({cache}); once that is cleared, no agent can start it. Install it, such as "
            'with `uv tool install "memslot[mcp]"`, and connect again'
        )


def named_agent(click_ctx: click.Context) -> str | None:
    """The agent named on the command line."""
    agent = click_ctx.find_root().params.get("agent")
    return str(agent) if agent else None


def _install(
    ctx: PluginContext,
    click_ctx: click.Context,
    client: Client,
    part: Part,
    in_project: bool,
    only_print: bool,
    done: str,
) -> None:
    from memslot_mcp_server.clients.connection import files_of

    project = Path.cwd() if in_project else None
    try:
        (config,) = files_of(client, parts=[part], project=project, agent=named_agent(click_ctx))
    except MemslotError as error:
        raise click.UsageError(str(error)) from None
    if only_print:
        click.echo(f"{config.file}:", err=True)
        click.echo(config.snippet(), nl=False)
        return
    warn_of_cache()
    try:
        with open_record(ctx) as record:
            is_new = config.connect(record)
    except MemslotError as error:
        by_hand = f"to add it by hand, see: {click_ctx.command_path} {client.id} --print"
        raise click.ClickException(f"{config.file} was not changed: {error}; {by_hand}") from None
    say_done(f"{done} {'now' if is_new else 'already'}, in {config.file}")
    if is_new:
        click.echo(client.then.format(name=client.name), err=True)
