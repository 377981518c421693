"""`memslot sessions`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memslot.cli.options import agent_option, json_option
from memslot.cli.output import (
    clean,
    clean_lines,
    counted,
    echo,
    print_json,
    print_pairs,
    print_table,
    say_done,
    say_warning,
)
from memslot.cli.plugin_commands import OpenGroup

if TYPE_CHECKING:
    from memslot.sessions.store import SessionStore
    from memslot.sessions.transcript import Entry

_FORMATS = ("json5", "jsonl", "markdown")


@click.group("sessions", cls=OpenGroup)
def command() -> None:
    """List, show, export, import and delete conversations.

    \b
    Examples:
      memslot sessions list
      memslot sessions show 4f1c --last 10
      memslot sessions import ~/.claude/projects --dry-run
    """


@command.command("list")
@click.option("--limit", type=click.IntRange(min=1), help="Show at most this many, most recent first.")
@agent_option
@json_option
def list_sessions(limit: int | None, agent: str | None, as_json: bool) -> None:
    """List an agent's conversations, most recent first.

    \b
    Examples:
      memslot sessions list --limit 20
      memslot sessions list --json | jq -r '.sessions[].id'
    """
    store = _store(agent)
    if problem := store.problem():
        say_warning(problem)
    found = store.sessions(limit)
    total = len(store.ids()) if limit else len(found)
    if as_json:
        print_json({"agent": store.agent_id, "total": total, "sessions": [each.to_json() for each in found]})
        return
    if not found:
        click.echo("There are no conversations yet.", err=True)
        return
    rows = [
        (each.id, _when(each.updated_at), str(each.messages), each.record.channel, each.problem or each.title)
        for each in found
    ]
    print_table(("id", "last used", "messages", "channel", "title"), rows)
    if len(found) < total:
        click.echo(f"{counted(total - len(found), 'more conversation')}; see them without --limit.", err=True)


@command.command()
@click.argument("session_id", metavar="ID")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N messages.")
@agent_option
@json_option
def show(session_id: str, last: int | None, agent: str | None, as_json: bool) -> None:
    """Show a conversation and its metadata. A prefix of its ID is enough.

    \b
    Examples:
      memslot sessions show 4f1c
      memslot sessions show 4f1c --last 10 --json
    """
    from memslot.sessions.record import SessionRecord
    from memslot.sessions.times import to_iso

    store = _store(agent)
    found = _meant(store, session_id)
    transcript, record = store.read(found), store.record(found) or SessionRecord(found)
    for problem in transcript.problems:
        say_warning(f"{store.path_of(found)} {problem}")
    entries = transcript.entries[-last:] if last else transcript.entries
    if as_json:
        messages = [
            {"line": each.line, "id": each.id, "timestamp": to_iso(each.time) if each.time else None, **each.message}
            for each in entries
        ]
        print_json({**record.data, "id": found, "problems": list(transcript.problems), "messages": messages})
        return
    tokens = f"{record.input_tokens:,} in, {record.output_tokens:,} out" if record.total_tokens else ""
    print_pairs(
        [
            ("session", found),
            ("title", record.title),
            ("channel", record.channel),
            ("begun", _when(record.created_at)),
            ("last used", _when(record.updated_at)),
            ("messages", str(len(transcript.entries))),
            ("tokens", tokens),
            ("compacted", f"{counted(record.compaction_count, 'time')}" if record.compaction_count else ""),
        ]
    )
    for entry in entries:
        _print_message(entry)


@command.command()
@click.argument("session_id", metavar="ID")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="json5", show_default=True, help="File format.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="File to create; it must not exist.")
@agent_option
def export(session_id: str, form: str, output: Path | None, agent: str | None) -> None:
    """Export a conversation. Nothing is redacted.

    \b
    json5      the messages and the session's metadata
    jsonl      the raw transcript
    markdown   the conversation as readable text

    \b
    Examples:
      memslot sessions export 4f1c > talk.json5
      memslot sessions export 4f1c --format markdown --output talk.md
    """
    from memslot.sessions.export import EXPORT_FORMATS, export_session

    store = _store(agent)
    found = _meant(store, session_id)
    for problem in store.read(found).problems:
        say_warning(f"{store.path_of(found)} {problem}")
    data = export_session(store, found, next(each for each in EXPORT_FORMATS if each == form))
    if output is None:
        click.echo(data, nl=False)
        return
    _write_new(output, data)
    click.echo(f"Wrote {output}.", err=True)


@command.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@agent_option
def delete(ids: tuple[str, ...], yes: bool, agent: str | None) -> None:
    """Delete conversations for good, transcript and metadata. A prefix of an ID is enough.

    \b
    Examples:
      memslot sessions delete 4f1c
      memslot sessions delete 4f1c 77ab --yes
    """
    store = _store(agent)
    meant = list(dict.fromkeys(_meant(store, each) for each in ids))
    if not yes:
        for each in store.sessions(only=lambda record: record.id in meant):
            click.echo(f"{clean(each.id)}  {counted(each.messages, 'message')}: {clean(each.title)}", err=True)
        click.confirm(f"Delete {counted(len(meant), 'conversation')} for good?", abort=True, err=True)
    for session_id in meant:
        store.delete(session_id)
        say_done(f"{clean(session_id)} is deleted")


def _store(agent: str | None) -> SessionStore:
    """All conversations of an agent."""
    from memslot.config.paths import Places
    from memslot.plugins.config_loader import load_config
    from memslot.sessions.store import SessionStore

    places = Places.from_env()
    loaded = load_config(places)
    for warning in loaded.warnings:
        say_warning(warning)
    return SessionStore.of_agent(places, loaded.config.known_agent_id(agent))


def _meant(store: SessionStore, written: str) -> str:
    """Resolve the beginning of an id, if it is unambiguous."""
    ids = store.ids()
    if written in ids:
        return written
    if not written:  # it matches every id, and may come from an unset shell variable
        raise click.ClickException("the id is empty; `memslot sessions list` shows all")
    found = [each for each in ids if each.startswith(written)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise click.ClickException(f"there is no conversation {written!r}; `memslot sessions list` shows all")
    shown = ", ".join(clean(each) for each in found[:5]) + (", …" if len(found) > 5 else "")
    raise click.ClickException(f"{written!r} matches {len(found)} ids ({shown}); give more of the id")


def _print_message(entry: Entry) -> None:
    speaker = {"user": "User", "assistant": "Assistant"}.get(entry.role, clean(entry.role) or "?")
    colour = {"user": "cyan", "assistant": "green"}.get(entry.role)
    echo("")
    echo(click.style(speaker, bold=True, fg=colour) + (f"  {_when(entry.time)}" if entry.time else ""))
    echo(clean_lines(entry.text) or "(no text)")


def _write_new(path: Path, data: bytes) -> None:
    from memslot.storage.atomic import write_file

    try:
        write_file(path, data, overwrite=False)
    except FileExistsError:
        raise click.ClickException(f"{path} already exists; choose another name or delete it") from None
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from None


def _when(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment / 1000):%Y-%m-%d %H:%M}" if moment else ""
