"""Slash commands of the chat."""

from __future__ import annotations

import difflib
import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import click
from memslot import one_line, print_pairs, print_table

from memslot_chat.conversation import find_session, open_conversation
from memslot_chat.screen import counted, safe

if TYPE_CHECKING:
    from memslot import Host, StackOutcome

    from memslot_chat.conversation import Conversation
    from memslot_chat.interrupts import Interrupts
    from memslot_chat.turn import TurnOutcome

_LISTED = 15


class Dialogue(Protocol):
    """What the commands need from their chat."""

    host: Host
    conversation: Conversation
    interrupts: Interrupts
    last_prompt: str
    last_outcome: TurnOutcome | None

    def switch_to(self, conversation: Conversation) -> None: ...
    def begin_anew(self) -> None: ...
    def warn(self, text: str) -> None: ...


@dataclass(frozen=True)
class Command:
    """A command; if `run` returns False, the chat ends."""

    usage: str
    help: str
    run: Callable[[Dialogue, str], bool | None]


def is_command(line: str) -> bool:
    """Whether a line is a command; one that starts with two slashes goes to the model, without the first."""
    return line.startswith("/") and not line.startswith("//")


def run_command(dialogue: Dialogue, line: str) -> bool:
    """Run a command; False ends the chat."""
    name, _, rest = line[1:].partition(" ")
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        close = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"did you mean /{close[0]}?" if close else "/help lists all."
        dialogue.warn(f"Unknown command /{one_line(name, 40)}; {hint} Start a line for the model with //.")
        return True
    return command.run(dialogue, rest.strip()) is not False


def complete(dialogue: Dialogue, text: str) -> Iterable[str]:
    """Complete commands and conversation ids."""
    name, space, rest = text.partition(" ")
    if not space:
        return [f"/{each}" for each in COMMANDS if f"/{each}".startswith(name)]
    if name != "/sessions":
        return []
    return [f"{name} {each}" for each in dialogue.conversation.store.ids() if each.startswith(rest)]


def _memory(dialogue: Dialogue, query: str) -> None:
    if query:
        _search(dialogue, query, explain=False)
        return
    statuses = dialogue.host.memories.statuses() or {"": dialogue.host.memory_status()}
    for plugin_id, status in statuses.items():
        counts = ", ".join(f"{number:,} {name}" for name, number in status.counts.items())
        name = f"{plugin_id} ({status.backend})" if plugin_id in dialogue.host.memories.ids else plugin_id
        print_pairs([("memory", name or status.backend), ("holds", counts)])
        for problem in status.problems:
            dialogue.warn(problem)


def _sessions(dialogue: Dialogue, key: str) -> None:
    store = dialogue.conversation.store
    ids = store.ids()
    if key:
        found = find_session(store, key)
        if found in ids:
            dialogue.switch_to(open_conversation(dialogue.host, found))
        else:
            dialogue.warn(f"There is no conversation {one_line(key, 60)!r}; /sessions lists them.")
        return
    if not ids:
        click.echo("There are no conversations yet.")
        return
    rows = [
        (
            "*" if each.id == dialogue.conversation.id else "",
            each.id,
            _when(each.updated_at),
            str(each.messages),
            each.title,
        )
        for each in store.sessions(_LISTED)
    ]
    print_table(("", "id", "last used", "messages", "title"), rows)
    if len(ids) > _LISTED:
        click.echo(f"{counted(len(ids) - _LISTED, 'more conversation')}; memslot sessions list shows all.")


def _tools(dialogue: Dialogue, _: str) -> None:
    tools = dialogue.host.tools(dialogue.conversation.session.chat_type)
    if not tools:
        click.echo("No plugin provides tools to this chat.")
        return
    rows = [(tool.name, dialogue.host.tool_owner(tool.name) or "", one_line(tool.description, 300)) for tool in tools]
    print_table(("tool", "plugin", "what it does"), rows)


def _explain(dialogue: Dialogue, query: str) -> None:
    if query:
        _search(dialogue, query, explain=True)
        return
    if dialogue.last_outcome is None:
        click.echo("No prompt yet; /explain QUERY shows what a search finds, and why.")
        return
    recalled = dialogue.last_outcome.recalled
    click.secho("Added to the prompt:", bold=True)
    click.echo(safe(html.unescape(recalled)) if recalled else "(nothing was recalled)")
    click.echo()
    click.secho("What a search for the prompt finds, and why:", bold=True)
    _search(dialogue, dialogue.last_prompt, explain=True)


def _search(dialogue: Dialogue, query: str, *, explain: bool) -> None:
    memories = dialogue.host.memories
    if not memories.ids:
        dialogue.warn(dialogue.host.memory_problem or "there is no memory")
        return
    with dialogue.interrupts.waiting():
        outcome = memories.search(query, max_results=5, explain=explain)
    _print_outcome(dialogue, outcome)


def _print_outcome(dialogue: Dialogue, outcome: StackOutcome) -> None:
    if not outcome.hits and outcome.outcomes:
        click.echo("Nothing was found.")
    names_memory = len(dialogue.host.memories) > 1
    for found in outcome.hits:
        name = f"{found.memory_id} " if names_memory else ""
        click.secho(one_line(f"{name}{found.hit.citation}  {found.hit.score:.2f}"), bold=True)
        click.echo(safe(found.hit.snippet))
        if found.hit.explanation:
            click.secho(f"  {_pairs(found.hit.explanation)}", dim=True)
    for each in outcome.outcomes.values():
        for dropped in list((each.explanation or {}).get("dropped", ()))[:_LISTED]:
            click.secho(f"  left out: {_pairs(dropped)}", dim=True)
        for sentence in (each.warning, each.stale, each.action):
            if sentence:
                dialogue.warn(sentence)
    for memory_id, problem in outcome.problems.items():
        dialogue.warn(f"{memory_id} cannot be searched: {problem}")


def _pairs(explanation: Mapping[str, Any]) -> str:
    shown = ((name, f"{value:.3f}" if isinstance(value, float) else value) for name, value in explanation.items())
    return one_line(", ".join(f"{name} {value}" for name, value in shown if value is not None))


def _help(dialogue: Dialogue, _: str) -> None:
    print_table(("command", "what it does"), [(each.usage, each.help) for each in COMMANDS.values()])
    click.echo("Ctrl-C stops an answer. A line that ends with \\ continues on the next.")


def _when(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment / 1000):%Y-%m-%d %H:%M}" if moment else ""


COMMANDS: Mapping[str, Command] = {
    "memory": Command("/memory [QUERY]", "Show the memory's status, or what it has about QUERY.", _memory),
    "explain": Command(
        "/explain [QUERY]", "Show what was recalled for the last prompt, or for QUERY, and why.", _explain
    ),
    "tools": Command("/tools", "List the tools that the model may call.", _tools),
    "sessions": Command("/sessions [KEY]", "List conversations, or switch to one.", _sessions),
    "new": Command("/new", "Start a new conversation.", lambda dialogue, _: dialogue.begin_anew()),
    "help": Command("/help", "This list.", _help),
    "quit": Command("/quit", "End the chat.", lambda dialogue, _: False),
}
_ALIASES = {"exit": "quit", "q": "quit", "session": "sessions", "?": "help"}
