"""`memslot trust`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memslot.cli.options import json_option
from memslot.cli.output import clean, print_json, print_table, say_done

if TYPE_CHECKING:
    from memslot.config.admission import Request
    from memslot.config.paths import Places


@click.command("trust")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--revoke", is_flag=True, help="Stop trusting it.")
@click.option("--list", "show", is_flag=True, help="List trusted projects.")
@click.option("--dry-run", is_flag=True, help="Show what it sets without trusting it.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def command(folder: Path | None, revoke: bool, show: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Trust the config file of the project in FOLDER (default: here), as it is now.

    A project's .memslot/memslot.json5 is ignored until you trust it, and again whenever it changes.
    Everything it sets is shown first, with the plugins, folders, addresses and environment variables it
    names. It can't bring code: a setting that names a program, a library or a folder with plugins works in
    your own config only.

    \b
    Examples:
      memslot trust
      memslot trust --dry-run
      memslot trust ~/projects/site --revoke
      memslot trust --list --json
    """
    from memslot.config.paths import Places
    from memslot.config.project import find_project_file

    places = Places.from_env()
    if show:
        _list(places, as_json)
        return
    target = folder or find_project_file(Path.cwd(), places) or Path.cwd()
    if revoke:
        _revoke(target, places, as_json)
    else:
        _trust(target, places, dry_run=dry_run, yes=yes, as_json=as_json)


def _list(places: Places, as_json: bool) -> None:
    from memslot.config.trust import trusted_projects

    projects = trusted_projects(places)
    if as_json:
        print_json([{"path": str(project.path), "trustedAt": project.trusted_at} for project in projects])
    elif projects:
        print_table(["file", "trusted at"], [[str(project.path), project.trusted_at] for project in projects])
    else:
        click.echo("No project is trusted.")


def _revoke(target: Path, places: Places, as_json: bool) -> None:
    from memslot.config.trust import revoke_trust

    if not revoke_trust(target, places):
        raise click.ClickException(f"{target} was not trusted")
    if as_json:
        print_json({"path": str(target), "trusted": False})
    else:
        say_done(f"{target} is no longer trusted")


def _trust(target: Path, places: Places, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    from memslot.config.trust import read_requests, trust_project
    from memslot.plugins.config_loader import setting_schemas

    project, wanted = read_requests(target, setting_schemas(places))
    if not as_json:
        _show(project.path, wanted)
        if not (dry_run or yes) and sys.stdin.isatty() and sys.stdout.isatty():
            click.confirm("Trust it?", abort=True)
    if not dry_run:
        trust_project(target, places, seen=project)
    if as_json:
        sets = [{"key": each.key, "value": each.value, "remark": each.remark or None} for each in wanted]
        print_json({"path": str(project.path), "trusted": not dry_run, "sets": sets})
    elif not dry_run:
        say_done(f"{project.path} is trusted as it is now")


def _show(path: Path, wanted: list[Request]) -> None:
    if not wanted:
        click.echo(f"{clean(str(path))} sets nothing.")
        return
    click.echo(f"{clean(str(path))} sets:")
    print_table(["key", "value", "remark"], [[each.key, each.value, each.remark] for each in wanted])
