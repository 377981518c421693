"""`memslot mcp`."""

from __future__ import annotations

import functools

import click
from memslot import Host, Hosts, PluginContext, listen

from memslot_mcp_server.commands.install import make_server_install_command
from memslot_mcp_server.server.stderr import warn

DEFAULT_PORT = 8377


def make_mcp_command(ctx: PluginContext) -> click.Group:
    @click.group(name="mcp", invoke_without_command=True)
    @click.option("--http", "over_http", is_flag=True, help="Serve over HTTP to clients on this machine.")
    @click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=DEFAULT_PORT,
        show_default=True,
        help="Port for --http; 0 picks a free one.",
    )
    @click.option("--new-token", is_flag=True, help="With --http: create a new token; the old one stops working.")
    @click.pass_context
    def mcp(click_ctx: click.Context, over_http: bool, port: int, new_token: bool) -> None:
        """Serve the agent's tools, notes and recall to MCP clients.

        By default it uses stdin and stdout, as clients expect, and ends when stdin closes. With --http it
        serves any number of clients on this machine, each of which must send the token.

        \b
        Examples:
          memslot connect                     let the clients on this machine start it
          memslot mcp                         what the client then runs
          memslot mcp --http --port 8377      one server for several clients
        """
        if click_ctx.invoked_subcommand is not None:
            return
        if new_token and not over_http:
            raise click.UsageError("--new-token needs --http")
        load = functools.partial(_load, ctx.agent_id)
        label = str(click_ctx.find_root().params.get("agent") or "")
        if over_http:
            _serve_http(ctx, load, label, port, new_token)
        else:
            _serve_stdio(load, label, click_ctx.obj if isinstance(click_ctx.obj, Host) else None)

    mcp.add_command(make_server_install_command(ctx))
    return mcp


def _load(agent_id: str) -> Host:
    host = Host.load(agent=agent_id)
    for event in host.diagnostics:
        warn(str(event))
    return host


def _serve_stdio(load: functools.partial[Host], label: str, loaded: Host | None) -> None:
    import asyncio

    from memslot_mcp_server.server.pipes import own_pipes
    from memslot_mcp_server.server.stdio import serve

    with own_pipes() as pipes:
        hosts = Hosts(load, loaded)
        try:
            asyncio.run(serve(hosts, pipes, label))
        finally:
            hosts.close()


def _serve_http(ctx: PluginContext, load: functools.partial[Host], label: str, port: int, new_token: bool) -> None:
    import asyncio

    from memslot_mcp_server.server.http_access import ADDRESS, PATH, TOKEN_FILE, read_or_make_token

    listener = listen(port)
    folder = ctx.state_dir()
    token, is_new = read_or_make_token(folder, fresh=new_token)
    click.echo(f"http://{ADDRESS}:{listener.getsockname()[1]}{PATH}")
    if is_new:
        click.echo(f"Token (shown only once, stored in {folder / TOKEN_FILE}): {token}", err=True)
    else:
        click.echo(f"The token is in {folder / TOKEN_FILE}", err=True)
    from memslot_mcp_server.server.http import serve

    hosts = Hosts(load)
    try:
        asyncio.run(serve(hosts, listener, token, label))
    finally:
        hosts.close()
