"""when somebody calls a command that the plugin's manifest names, and not before: `memslot --help` takes the
command's line of help from the manifest."""

import click
from memslot import PluginContext, hookimpl


@hookimpl
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    @cli.command("greet")
    @click.argument("name")
    def greet(name: str) -> None:
        """Greet NAME on behalf of the agent."""
        click.echo(f"{ctx.agent_id} says hello, {name}")
