"""`memslot trust`."""

from __future__ import annotations

from pathlib import Path

import click

from memslot.cli.output import print_json, print_table, say_done


@click.command("trust")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--revoke", is_flag=True, help="No longer trust it.")
@click.option("--list", "show", is_flag=True, help="List what is trusted.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: Path | None, revoke: bool, show: bool, as_json: bool) -> None:
    """Trust the config file of the project in FOLDER (here unless told), as it is now.

    A project's .memslot/memslot.json5 can load code, so it is ignored until you have read it and said
    so. When it changes, it must be trusted again.

    \b
    Examples:
      memslot trust
      memslot trust ~/projects/site --revoke
      memslot trust --list --json
    """
    from memslot.config.paths import Places
    from memslot.config.project import find_project_file
    from memslot.config.trust import revoke_trust, trust_project, trusted_projects

    places = Places.from_env()
    if show:
        rows = [[str(project.path), project.trusted_at] for project in trusted_projects(places)]
        if as_json:
            print_json([{"path": path, "trustedAt": when} for path, when in rows])
        else:
            print_table(["file", "trusted at"], rows)
        return
    target = folder or find_project_file(Path.cwd(), places) or Path.cwd()
    if revoke:
        if not revoke_trust(target, places):
            raise click.ClickException(f"{target} was not trusted")
        said = {"path": str(target), "trusted": False}
    else:
        said = {"path": str(trust_project(target, places).path), "trusted": True}
    if as_json:
        print_json(said)
    else:
        say_done(f"{said['path']} is {'trusted as it is now' if said['trusted'] else 'no longer trusted'}")
