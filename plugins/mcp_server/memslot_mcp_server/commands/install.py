"""`memslot mcp install`."""

from __future__ import annotations

import os
from pathlib import Path

import click
from memslot import MemslotError, PluginContext, say_done

from memslot_mcp_server.clients.config_edit import change_file
from memslot_mcp_server.clients.config_locations import CLIENTS
from memslot_mcp_server.clients.server_entry import SERVER, add_entry, entry_of, render, this_program


def make_install_command(ctx: PluginContext) -> click.Command:
    @click.command("install")
    @click.argument("client", type=click.Choice(list(CLIENTS)))
    @click.option("--project", "in_project", is_flag=True, help="Write this folder's config, which others may share.")
    @click.option("--print", "only_print", is_flag=True, help="Show the change without writing it.")
    @click.pass_context
    def install(click_ctx: click.Context, client: str, in_project: bool, only_print: bool) -> None:
        """Add memslot to the MCP servers of CLIENT.

        Everything else in the client's config stays, comments too, and a backup is kept beside it. Running it twice
        changes nothing.

        \b
        Examples:
          memslot mcp install claude-code
          memslot mcp install vscode --project
          memslot mcp install codex --print
        """
        chosen = CLIENTS[client]
        if in_project and chosen.project_file is None:
            raise click.UsageError(f"{chosen.name} has no project config; leave out --project")
        file = Path.cwd() / chosen.project_file if in_project and chosen.project_file else chosen.find_file(os.environ)
        agent = click_ctx.find_root().params.get("agent")
        arguments = ("--agent", str(agent), "mcp") if agent else ("mcp",)
        entry = entry_of(chosen, this_program(*arguments, shared=in_project))
        if only_print:
            click.echo(f"{file}:", err=True)
            click.echo(render(chosen, entry), nl=False)
            return
        try:
            copy = change_file(file, lambda text: add_entry(chosen, text, entry))
        except MemslotError as error:
            raise click.ClickException(
                f"{file} was not changed: {error}; to add the server by hand, see: memslot mcp install {client} --print"
            ) from None
        tell_what_changed(file, copy, f'{chosen.name} has the server "{SERVER}"')
        if copy is not None:
            click.echo(f"Restart {chosen.name} to use it.", err=True)

    return install


def tell_what_changed(file: Path, copy: Path | None, what: str) -> None:
    """Say what the file has now, and where its backup is."""
    if copy is None:
        say_done(f"{what} already, in {file}")
        return
    say_done(f"{what} now, in {file}")
    if copy.name != Path(os.path.realpath(file)).name:
        click.echo(f"Backup: {copy}", err=True)
