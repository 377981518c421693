"""`memslot connect`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from memslot import MemslotError, PluginContext, print_json, say_done

from memslot_mcp_server.clients.catalog import CLIENTS, Client
from memslot_mcp_server.commands.install import named_agent, open_record, warn_of_cache

if TYPE_CHECKING:  # imported where they are used: every hook and server loads this module
    from memslot_mcp_server.clients.connection import ConfigFile, Plan

_ALL = "all"


def make_connect_command(ctx: PluginContext) -> click.Command:
    @click.command("connect")
    @click.argument("names", nargs=-1, metavar="[CLIENT]...", type=click.Choice([*CLIENTS, _ALL]))
    @click.option("--project", "in_project", is_flag=True, help="Write this folder's config instead of your own.")
    @click.option("--print", "only_print", is_flag=True, help="Print what belongs in the files, and write nothing.")
    @click.option("--undo", is_flag=True, help="Remove what was written.")
    @click.option("--check", "only_check", is_flag=True, help="Check whether tools and hooks work.")
    @click.option(
        "--print-instructions", is_flag=True, help="Print a paragraph for AGENTS.md or CLAUDE.md, and write nothing."
    )
    @click.option(
        "--export",
        "export_to",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Write plugins and extensions for the clients' own package formats.",
    )
    @click.option("--yes", "-y", is_flag=True, help="Write without asking.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON; without --yes, nothing is written.")
    @click.pass_context
    def connect(
        click_ctx: click.Context,
        names: tuple[str, ...],
        in_project: bool,
        only_print: bool,
        undo: bool,
        only_check: bool,
        print_instructions: bool,
        export_to: Path | None,
        yes: bool,
        as_json: bool,
    ) -> None:
        """Connect coding agents and other MCP clients: tools, and recall and capture where they have hooks.

        CLIENT is claude-code, codex, gemini, opencode, qwen, cursor, vscode or claude-desktop. Without one, or with
        "all", those found on this machine are connected. It shows what it will write and asks. Everything else in
        the files stays, comments included; running it twice changes nothing, and --undo reverts it.

        \b
        Examples:
          memslot connect                     find the clients, show the changes, ask
          memslot connect codex --yes         one client, without asking
          memslot connect --check             check whether tools and hooks work
          memslot connect --undo              remove everything again
        """
        modes = [only_print, undo, only_check, print_instructions, export_to is not None]
        if sum(modes) > 1:
            raise click.UsageError("use only one of --print, --undo, --check, --print-instructions and --export")
        if print_instructions:
            from memslot_mcp_server.packages.description import instructions

            click.echo(instructions(), nl=False)
            return
        if export_to is not None:
            _export(export_to, as_json)
            return
        if only_check and in_project:
            raise click.UsageError(
                "--check runs what the files name, and a project's files are not trusted; use it without --project"
            )
        project = Path.cwd() if in_project else None
        chosen = _chosen(names, as_json=as_json, quiet=undo or only_print, in_project=in_project)
        if only_check:
            _check(chosen, as_json)
            return
        from memslot_mcp_server.clients.connection import make_plan

        agent = named_agent(click_ctx)
        if only_print:
            _print_files([config for client in chosen for config in _files(client, project, agent)], as_json)
            return
        plans = [make_plan(client, _files(client, project, agent), undo=undo) for client in chosen]
        if not undo:
            warn_of_cache()
        if as_json:
            if yes:
                _carry_out(plans, ctx)
            print_json({"clients": [plan.to_json() for plan in plans]})
        else:
            _show(plans)
            if any(plan.has_changes for plan in plans):
                if not yes:
                    _ask(undo=undo)
                _carry_out(plans, ctx)
            _tell(plans)
        if any(plan.error for plan in plans):
            click_ctx.exit(1)

    return connect


def _chosen(names: Sequence[str], *, as_json: bool, quiet: bool, in_project: bool) -> list[Client]:
    if names and _ALL not in names:
        return [CLIENTS[name] for name in dict.fromkeys(names)]
    found = [client for client in CLIENTS.values() if client.is_found(os.environ)]
    if in_project:
        found = [client for client in found if client.server.project_file is not None]
    missing = [client.name for client in CLIENTS.values() if client not in found]
    if not found:
        raise click.ClickException(
            f"none of these was found on this machine: {', '.join(missing)}; name one to connect it anyway"
        )
    if not as_json and not quiet:
        click.echo(f"Found: {', '.join(client.name for client in found)}.", err=True)
        if missing:
            click.echo(f"Not found: {', '.join(missing)}.", err=True)
    return found


def _files(client: Client, project: Path | None, agent: str | None) -> list[ConfigFile]:
    from memslot_mcp_server.clients.connection import files_of

    try:
        return files_of(client, project=project, agent=agent)
    except MemslotError as error:
        raise click.UsageError(str(error)) from None


def _carry_out(plans: Sequence[Plan], ctx: PluginContext) -> None:
    record = open_record(ctx)
    for plan in plans:
        plan.carry_out(record)


def _show(plans: Sequence[Plan]) -> None:
    """Show what will be written where: our own lines, and no other value of the file."""
    for plan in plans:
        if not plan.has_changes:
            continue
        click.echo(plan.client.name, err=True)
        for config, changes in plan.files:
            if changes:
                click.echo(f"  {config.file}", err=True)
            for change in changes:
                sign = "-" if plan.undo else "+" if change.old is None else "~"
                click.echo(f"    {sign} {change.path_text()}{'' if plan.undo else _value_text(change.new)}", err=True)


def _ask(*, undo: bool) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.ClickException("nothing was written, since there is no terminal to ask; add --yes to go ahead")
    if not click.confirm("Remove this?" if undo else "Write this?", err=True):
        raise click.ClickException("nothing was written")


def _tell(plans: Sequence[Plan]) -> None:
    for plan in plans:
        name, undo = plan.client.name, plan.undo
        if plan.error is not None:
            hint = "" if undo else f"; to add it by hand, see: memslot connect {plan.client.id} --print"
            click.echo(click.style("Error: ", fg="red", bold=True) + f"{plan.error}{hint}", err=True)
        elif plan.has_package:
            twice = "with entries as well, each prompt would recall twice"
            say_done(f"{name} has memslot already, as a plugin or an extension; {twice}, so uninstall that to connect")
        elif plan.is_done:
            say_done(f"{name} is {'no longer connected' if undo else 'connected'}")
            if not undo:
                click.echo(plan.client.then.format(name=name), err=True)
        else:
            say_done(f"{name} was not connected" if undo else f"{name} is already connected")


def _print_files(configs: Sequence[ConfigFile], as_json: bool) -> None:
    if as_json:
        print_json({"files": [{"file": str(config.file), "text": config.snippet()} for config in configs]})
        return
    for config in configs:
        click.echo(f"{config.file}:", err=True)
        click.echo(config.snippet(), nl=False)


def _check(clients: Sequence[Client], as_json: bool) -> None:
    from memslot_mcp_server.clients.check import check_client

    reports = [(client, check_client(client, os.environ)) for client in clients]
    if as_json:
        print_json(
            {
                "clients": [
                    {"client": client.id, "name": client.name, "checks": [each.to_json() for each in found]}
                    for client, found in reports
                ]
            }
        )
    else:
        for client, found in reports:
            click.echo(client.name)
            for each in found:
                mark = click.style("✓", fg="green") if each.is_ok else click.style("✗", fg="red")
                click.echo(f"  {mark} {each.what}: {each.detail}")
    if not all(each.is_ok for _, found in reports for each in found):
        click.get_current_context().exit(1)


def _export(folder: Path, as_json: bool) -> None:
    from memslot_mcp_server.packages.export import export_packages

    try:
        made = export_packages(folder)
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be written ({error.strerror or error})") from None
    if as_json:
        print_json({"packages": [str(path) for path in made]})
        return
    for path in made:
        say_done(str(path))


def _value_text(value: Any) -> str:
    if isinstance(value, dict) and isinstance(value.get("hooks"), list):
        return f" runs {value['hooks'][0]['command']}"
    return f" = {json.dumps(value, ensure_ascii=False)}"
