"""Commands to the chat itself: lines that begin with /."""

from __future__ import annotations

import difflib
import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import click
from memslot import one_line, print_pairs, print_table, search_memory

from memslot_chat.conversation import meant_session, open_conversation
from memslot_chat.screen import counted, safe

if TYPE_CHECKING:
    from memslot import Host, MemorySearchOutcome

    from memslot_chat.conversation import Conversation
    from memslot_chat.interrupts import Interrupts
    from memslot_chat.turn import TurnOutcome

_LISTED = 15


class Dialogue(Protocol):
    """What the commands need of the chat they are given in."""

    host: Host
    talk: Conversation
    interrupts: Interrupts
    last_prompt: str
    last_outcome: TurnOutcome | None

    def go_to(self, talk: Conversation) -> None: ...
    def begin_anew(self) -> None: ...
    def warn(self, text: str) -> None: ...


@dataclass(frozen=True)
class Command:
    """A command; False from `run` ends the chat."""

    usage: str
    help: str
    run: Callable[[Dialogue, str], bool | None]


def is_command(line: str) -> bool:
    """Whether a line is for the chat; one that begins with two slashes is for the model, without the first."""
    return line.startswith("/") and not line.startswith("//")


def obey(dialogue: Dialogue, line: str) -> bool:
    """Run a command; False ends the chat."""
    name, _, rest = line[1:].partition(" ")
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        close = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"did you mean /{close[0]}?" if close else "/help lists all."
        dialogue.warn(f"There is no command /{one_line(name, 40)}; {hint} A line for the model begins with //.")
        return True
    return command.run(dialogue, rest.strip()) is not False


def complete(dialogue: Dialogue, text: str) -> Iterable[str]:
    """The commands, and the ids of conversations, that begin with what was written."""
    name, space, rest = text.partition(" ")
    if not space:
        return [f"/{each}" for each in COMMANDS if f"/{each}".startswith(name)]
    if name != "/sessions":
        return []
    return [f"{name} {each}" for each in dialogue.talk.store.ids() if each.startswith(rest)]


def _memory(dialogue: Dialogue, query: str) -> None:
    if query:
        _search(dialogue, query, explain=False)
        return
    status = dialogue.host.memory_status()
    counts = ", ".join(f"{number:,} {name}" for name, number in status.counts.items())
    owner = dialogue.host.memory_owner
    print_pairs([("memory", f"{owner} ({status.backend})" if owner else status.backend), ("holds", counts)])
    for problem in status.problems:
        dialogue.warn(problem)


def _sessions(dialogue: Dialogue, key: str) -> None:
    store = dialogue.talk.store
    ids = store.ids()
    if key:
        found = meant_session(store, key)
        if found in ids:
            dialogue.go_to(open_conversation(dialogue.host, found))
        else:
            dialogue.warn(f"There is no conversation {one_line(key, 60)!r}; /sessions lists them.")
        return
    if not ids:
        click.echo("There are no conversations yet.")
        return
    rows = [
        ("*" if each.id == dialogue.talk.id else "", each.id, _when(each.updated_at), str(each.messages), each.title)
        for each in store.sessions(_LISTED)
    ]
    print_table(("", "id", "last used", "messages", "title"), rows)
    if len(ids) > _LISTED:
        click.echo(f"{counted(len(ids) - _LISTED, 'more conversation')}; memslot sessions list shows all.")


def _tools(dialogue: Dialogue, _: str) -> None:
    tools = dialogue.host.tools(dialogue.talk.session.chat_type)
    if not tools:
        click.echo("No plugin gives tools to this chat.")
        return
    rows = [(tool.name, dialogue.host.tool_owner(tool.name) or "", one_line(tool.description, 300)) for tool in tools]
    print_table(("tool", "plugin", "what it does"), rows)


def _explain(dialogue: Dialogue, query: str) -> None:
    if query:
        _search(dialogue, query, explain=True)
        return
    if dialogue.last_outcome is None:
        click.echo("Nothing asked yet; /explain QUERY shows what a search finds, and why.")
        return
    recalled = dialogue.last_outcome.recalled
    click.secho("Put before the prompt:", bold=True)
    click.echo(safe(html.unescape(recalled)) if recalled else "(nothing was recalled)")
    click.echo()
    click.secho("What a search for the prompt finds, and why:", bold=True)
    _search(dialogue, dialogue.last_prompt, explain=True)


def _search(dialogue: Dialogue, query: str, *, explain: bool) -> None:
    memory = dialogue.host.memory
    if memory is None:
        dialogue.warn(dialogue.host.memory_problem or "there is no memory")
        return
    try:
        with dialogue.interrupts.waiting():
            outcome = search_memory(memory, query, max_results=5, explain=explain)
    except Exception as error:  # a plugin's doing, which does not end the chat
        dialogue.warn(f"the memory cannot be searched: {type(error).__name__}: {error}")
        return
    _print_outcome(dialogue, outcome)


def _print_outcome(dialogue: Dialogue, outcome: MemorySearchOutcome) -> None:
    if not outcome.hits:
        click.echo("Nothing was found.")
    for hit in outcome.hits:
        click.secho(one_line(f"{hit.citation}  {hit.score:.2f}"), bold=True)
        click.echo(safe(hit.snippet))
        if hit.explanation:
            click.secho(f"  {_pairs(hit.explanation)}", dim=True)
    for dropped in list((outcome.explanation or {}).get("dropped", ()))[:_LISTED]:
        click.secho(f"  left out: {_pairs(dropped)}", dim=True)
    for sentence in (outcome.warning, outcome.stale, outcome.action):
        if sentence:
            dialogue.warn(sentence)


def _pairs(explanation: Mapping[str, Any]) -> str:
    shown = ((name, f"{value:.3f}" if isinstance(value, float) else value) for name, value in explanation.items())
    return one_line(", ".join(f"{name} {value}" for name, value in shown if value is not None))


def _help(dialogue: Dialogue, _: str) -> None:
    print_table(("command", "what it does"), [(each.usage, each.help) for each in COMMANDS.values()])
    click.echo("Ctrl-C stops an answer. A line that ends with \\ continues on the next.")


def _when(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment / 1000):%Y-%m-%d %H:%M}" if moment else ""


COMMANDS: Mapping[str, Command] = {
    "memory": Command("/memory [QUERY]", "How the memory is, or what it holds about QUERY.", _memory),
    "explain": Command("/explain [QUERY]", "What was recalled for the last prompt, or for QUERY, and why.", _explain),
    "tools": Command("/tools", "The tools that the model may call.", _tools),
    "sessions": Command("/sessions [KEY]", "The conversations, or go to one of them.", _sessions),
    "new": Command("/new", "Begin a new conversation.", lambda dialogue, _: dialogue.begin_anew()),
    "help": Command("/help", "This list.", _help),
    "quit": Command("/quit", "End the chat.", lambda dialogue, _: False),
}
_ALIASES = {"exit": "quit", "q": "quit", "session": "sessions", "?": "help"}
