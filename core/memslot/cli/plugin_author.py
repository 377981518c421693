"""`memslot plugins init` and `memslot plugins validate`: for people who write plugins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from memslot.cli.options import json_option
from memslot.cli.output import clean, print_json, say_done
from memslot.scaffold.package import KINDS, Kind

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@click.command("init")
@click.argument("name")
@click.option("--type", "kind", type=click.Choice(KINDS), required=True, help="What the plugin is for.")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Folder to write to (default: ./NAME).")
def init(name: str, kind: Kind, folder: Path | None) -> None:
    """Create a plugin package NAME that installs, works and passes its tests.

    NAME is the plugin's id: lower-case letters, digits and dashes. The distribution is called
    memslot-NAME and is imported as memslot_NAME. An embedder's provider is called NAME, too, without
    a leading "embed-".

    \b
    Examples:
      memslot plugins init my-embedder --type embedder
      memslot plugins init my-store --type memory --dir ~/code/my-store
      memslot plugins init weather --type tool
    """
    from memslot.scaffold.names import names_for
    from memslot.scaffold.package import write_package

    names_for(name)  # rejects a name that is a path before it is used as one
    target = folder.expanduser() if folder is not None else Path(name)
    for path in write_package(name, kind, target):
        say_done(f"wrote {path}")
    click.echo(f'\nNext:\n  cd {target}\n  pip install -e ".[test]"\n  pytest\n  memslot plugins validate .')


@click.command("validate")
@click.argument("target", metavar="[PATH|ID]", default=".")
@click.option("--settings", default="{}", metavar="JSON", help="Settings to try the plugin with.")
@json_option
def validate(target: str, settings: str, as_json: bool) -> None:
    """Validate a plugin: its manifest, its package and how it loads.

    PATH is a folder with a plugin in it (default: the current one), ID an installed plugin. The
    plugin is loaded in a separate process, with an empty home. Exits with 1 if there is a problem;
    notes don't count.

    \b
    Examples:
      memslot plugins validate
      memslot plugins validate ~/code/my-store --settings '{"url": "http://localhost:9000"}'
      memslot plugins validate memory-core --json
    """
    from memslot.validation.files import check_files
    from memslot.validation.target import find_targets
    from memslot.validation.trial import run_trial

    values = _read_settings(settings)
    reports = []
    for each in find_targets(target):
        report, plugin = check_files(each)
        if plugin is not None:
            run_trial(report, each, plugin, values)
        reports.append(report)
    ok = all(report.ok for report in reports)
    if as_json:
        print_json({"ok": ok, "plugins": [report.to_json() for report in reports]})
    else:
        for report in reports:
            click.echo(click.style(f"{report.plugin_id}  {report.path}", bold=True))
            for check in report.checks:
                word = click.style(f"{check.level:<7}", fg=_COLOURS[check.level])
                click.echo(f"  {word}  {check.name}: {clean(check.message)}")
        problems = sum(not check.ok for report in reports for check in report.checks)
        click.echo("No problems found." if ok else f"{problems} problem{'s'[: problems != 1]} found.")
    if not ok:
        raise click.exceptions.Exit(1)


def _read_settings(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"--settings is not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise click.UsageError('--settings must be one JSON object, such as {"url": "…"}')
    return values
