"""`memslot import openclaw`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memslot.cli.output import clean, counted, print_json, print_table, say_done, say_warning

if TYPE_CHECKING:
    from memslot.importing.copying import Copied
    from memslot.importing.openclaw import AgentImport, OpenClawImport

_TOLD = ("set", "kept", "secret")


@click.group("import")
def command() -> None:
    """Take over notes, transcripts and settings of other programs.

    \b
    Examples:
      memslot import openclaw ~/.openclaw --dry-run
      memslot import openclaw ~/.openclaw
    """


@command.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--dry-run", is_flag=True, help="Say what would happen, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def openclaw(path: Path, dry_run: bool, as_json: bool) -> None:
    """Take over an OpenClaw home at PATH, or the notes of one of its workspaces.

    Nothing there is changed. Here, what is new is added: a note that differs from yours is left alone and told, and
    so is a setting. Keys in plain text are not copied. Running it again brings what is new since.

    \b
    Examples:
      memslot import openclaw ~/.openclaw --dry-run
      memslot import openclaw ~/.openclaw
      memslot import openclaw ~/.openclaw/workspace-work
    """
    from memslot.config.paths import Places
    from memslot.importing.openclaw import import_openclaw

    done = import_openclaw(path.expanduser().absolute(), Places.from_env(), dry_run=dry_run)
    if as_json:
        print_json(done.to_json())
    else:
        _print(done)
    if not done.is_whole:
        raise click.exceptions.Exit(1)


def _print(done: OpenClawImport) -> None:
    from memslot.importing.carried import described

    rows = [
        (setting.state, setting.name, setting.reason or described(setting))
        for setting in done.settings
        if setting.state in _TOLD
    ]
    if rows:
        print_table(("setting", "key", "value, or why not"), rows)
    left_out = [setting for setting in done.settings if setting.state == "left-out"]
    for reason in dict.fromkeys(setting.reason for setting in left_out):
        names = ", ".join(setting.name for setting in left_out if setting.reason == reason)
        click.echo(f"Left out: {clean(names)}: {clean(reason)}", err=True)
    for agent in done.agents:
        _print_agent(agent, done.dry_run)
    if done.unlisted:
        names = ", ".join(done.unlisted)
        say_warning(f"transcripts of agents that are in no config any more were left out: {clean(names)}")
    if not done.dry_run:
        click.echo("Next: memslot doctor")


def _print_agent(agent: AgentImport, dry_run: bool) -> None:
    verb = "would take over" if dry_run else "took over"
    notes, transcripts = _summary(agent.notes, "note"), _summary(agent.transcripts, "transcript")
    say_done(f"{agent.id}: {verb} {notes} into {agent.workspace} and {transcripts}")
    for each in agent.left_alone:
        say_warning(f"{clean(each.path)} was left alone: {clean(each.reason)}")
    if any(each.state == "conflict" for each in agent.left_alone):
        say_warning(f"compare what differs in {agent.workspace} with {agent.origin}, and merge it by hand")
    if agent.problem:
        say_warning(f"{agent.id}: {agent.problem}")


def _summary(files: Iterable[Copied], noun: str) -> str:
    states = Counter(each.state for each in files)
    taken = states["new"] + states["grown"] + states["replaced"]
    rest = ", ".join(f"{states[state]} {word}" for state, word in _REST.items() if states[state])
    return counted(taken, noun) + (f" ({rest})" if rest else "")


_REST = {
    "same": "there already",
    "conflict": "that differ from yours",
    "refused": "that cannot be copied",
    "skipped": "links left out",
}
