"""`memslot ui`."""

from __future__ import annotations

import functools

import click
from memslot import Host, Hosts, PluginContext, listen, say_warning


def make_command(ctx: PluginContext) -> click.Command:
    @click.command("ui")
    @click.option(
        "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port; 0 picks a free one."
    )
    @click.option("--no-open", is_flag=True, help="Print the link and open no browser.")
    def ui(port: int, no_open: bool) -> None:
        """Open the memory in the browser: search, browse, edit, settings.

        Serves this machine only, until Ctrl-C or until the terminal is closed. The link works once.

        \b
        Examples:
          memslot ui
          memslot ui --port 8400 --no-open
          memslot --agent work ui
        """
        from memslot_inspector.access import Access
        from memslot_inspector.server import serve

        listener = listen(port)
        access = Access(listener.getsockname()[1])
        hosts = Hosts(functools.partial(_load, ctx.agent_id))
        try:
            click.echo(access.link)
            click.echo("Open this link in a browser; it works once. Ctrl-C stops the inspector.", err=True)
            serve(ctx, hosts, access, listener, opens=not no_open)
        finally:
            hosts.close()
            listener.close()

    return ui


def _load(agent_id: str) -> Host:
    host = Host.load(agent=agent_id)
    for event in host.diagnostics:
        say_warning(str(event))
    return host
