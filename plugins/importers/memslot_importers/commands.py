"""The commands `memslot sessions import` and `memslot import openclaw`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from memslot import Host, SessionStore, one_line, print_json, print_table, say_done, say_warning

if TYPE_CHECKING:
    from memslot_importers.openclaw.copies import Copied
    from memslot_importers.openclaw.migration import AgentImport, OpenClawImport
    from memslot_importers.sessions import SessionsImport

_PROGRAMS = ("claude-code", "codex", "gemini", "qwen", "opencode", "openclaw", "chatgpt", "memslot")


@click.command("import")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--from", "program", type=click.Choice(_PROGRAMS), help="The program (default: detected).")
@click.option("--dry-run", is_flag=True, help="Show what would happen without writing anything.")
@click.option("--agent", metavar="ID", help="Agent to use (default: the default agent).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def import_sessions(
    host: Host, paths: tuple[Path, ...], program: str | None, dry_run: bool, agent: str | None, as_json: bool
) -> None:
    """Import conversations of coding agents, OpenClaw or ChatGPT, or ones that memslot exported.

    PATH is a transcript, a folder of them, opencode's database, or ChatGPT's export, zipped or not; it is not changed.
    Importing again adds only what is new. The coding agents are Claude Code, Codex, Gemini CLI, Qwen Code and opencode.

    \b
    Examples:
      memslot sessions import ~/.claude/projects --dry-run
      memslot sessions import ~/.codex/sessions ~/.claude/projects ~/.gemini/tmp ~/.qwen/projects
      memslot sessions import ~/.local/share/opencode
      memslot sessions import chatgpt-export.zip --agent work
    """
    from memslot_importers import sessions

    agent_id = host.config.known_agent_id(agent) if agent else host.agent_id
    store = SessionStore.of_agent(host.places, agent_id, host.config.workspace(agent_id, host.places))
    done = sessions.import_sessions(store, paths, program=program, dry_run=dry_run)
    if as_json:
        print_json(done.to_json())
    else:
        _print(done)
    if done.refused and not done.sessions:
        raise click.exceptions.Exit(1)


def _print(done: SessionsImport) -> None:
    rows = [
        (each.state, each.program, each.id, str(each.added)) for each in done.sessions if each.state in ("new", "grown")
    ]
    if rows:
        print_table(("state", "program", "id", "lines"), rows)
    if torn := sum(each.skipped for each in done.sessions):
        say_warning(f"skipped {_counted(torn, 'unreadable line')}")
    for reason in done.refused:
        say_warning(_line(reason))
    verb = "would import" if done.dry_run else "imported"
    told = f"{verb} {_counted(done.count('new'), 'conversation')} and {_counted(done.count('grown'), 'continuation')}"
    say_done(f"{told}; {done.count('same')} were here already, {done.count('empty')} have no messages")


_TOLD = ("set", "kept", "secret")


@click.group("import")
def import_group() -> None:
    """Import notes, transcripts and settings of other programs.

    \b
    Examples:
      memslot import claude-code --dry-run
      memslot import openclaw ~/.openclaw
    """


@import_group.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--dry-run", is_flag=True, help="Show what would happen without writing anything.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def openclaw(host: Host, path: Path, dry_run: bool, as_json: bool) -> None:
    """Import an OpenClaw home, or the notes of one workspace.

    PATH is not changed. New notes and settings are added here; those that differ from yours are reported and left
    alone. Plain-text keys are not copied. Importing again adds only what is new.

    \b
    Examples:
      memslot import openclaw ~/.openclaw --dry-run
      memslot import openclaw ~/.openclaw
      memslot import openclaw ~/.openclaw/workspace-work
    """
    from memslot_importers.openclaw.migration import import_openclaw

    done = import_openclaw(path.expanduser().absolute(), host.places, dry_run=dry_run)
    if as_json:
        print_json(done.to_json())
    else:
        _print_home(done)
    if not done.is_whole:
        raise click.exceptions.Exit(1)


def _print_home(done: OpenClawImport) -> None:
    from memslot_importers.openclaw.settings import described

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
        click.echo(f"Skipped: {_line(names)}: {_line(reason)}", err=True)
    for agent in done.agents:
        _print_agent(agent, done.dry_run)
    if done.unlisted:
        names = ", ".join(done.unlisted)
        say_warning(f"skipped transcripts of agents that are no longer in the config: {_line(names)}")
    if not done.dry_run:
        click.echo("Next: memslot doctor")


def _print_agent(agent: AgentImport, dry_run: bool) -> None:
    verb = "would import" if dry_run else "imported"
    notes, transcripts = _summary(agent.notes, "note"), _summary(agent.transcripts, "transcript")
    say_done(f"{agent.id}: {verb} {notes} into {agent.workspace} and {transcripts}")
    for each in agent.left_alone:
        say_warning(f"{_line(each.path)} was left alone: {_line(each.reason)}")
    if any(each.state == "conflict" for each in agent.left_alone):
        say_warning(f"compare {agent.workspace} with {agent.origin}, and merge the differences by hand")
    if agent.problem:
        say_warning(f"{agent.id}: {agent.problem}")


def _summary(files: Iterable[Copied], noun: str) -> str:
    states = Counter(each.state for each in files)
    taken = states["new"] + states["grown"] + states["replaced"]
    rest = ", ".join(f"{states[state]} {word}" for state, word in _REST.items() if states[state])
    return _counted(taken, noun) + (f" ({rest})" if rest else "")


_REST = {
    "same": "there already",
    "conflict": "differ from yours",
    "refused": "cannot be copied",
    "skipped": "links skipped",
}


def _line(text: str) -> str:
    return one_line(text, 10_000)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
