"""A chat at the terminal: line by line until the person is done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from memslot.chat import slash
from memslot.chat.conversation import Conversation, new_conversation
from memslot.chat.interrupts import Cancelled, Interrupts, Terminated
from memslot.chat.line_editor import LineEditor
from memslot.chat.screen import PlainScreen, Screen
from memslot.chat.turn import Agent, TurnOutcome
from memslot.cli.output import counted
from memslot.errors import SessionError
from memslot.text import one_line

if TYPE_CHECKING:
    from memslot.agent.events import ChatType
    from memslot.host import Host

ENDED, TERMINATED = 0, 143
"""Exit codes; the second is what shells make of SIGTERM."""


class TerminalDialogue:
    """Asks the person, lets the agent answer, and obeys the lines that begin with /."""

    def __init__(
        self,
        agent: Agent,
        talk: Conversation,
        *,
        chat_type: ChatType | None,
        colour: bool,
    ) -> None:
        self.host: Host = agent.host
        self.talk = talk
        self.interrupts: Interrupts = agent.interrupts
        self.last_prompt = ""
        self.last_outcome: TurnOutcome | None = None
        self._agent = agent
        self._screen: Screen = agent.screen
        self._chat_type = chat_type
        self._told = 0
        self._editor = LineEditor(self.host.places.home, self.interrupts, self._complete, colour=colour)

    def hold(self) -> int:
        """Talk until the person is done; gives the exit code."""
        self._greet()
        was_cancelled = False
        while True:
            try:
                line = self._editor.ask()
            except Terminated:
                return TERMINATED
            except Cancelled:
                click.echo()
                if was_cancelled:
                    return ENDED
                was_cancelled = True
                click.secho("Ctrl-C again, Ctrl-D or /quit ends the chat.", dim=True)
                continue
            was_cancelled = False
            if line is None:
                click.echo()
                return ENDED
            if line and not self._take(line):
                return TERMINATED if self.interrupts.must_end else ENDED

    def _take(self, line: str) -> bool:
        """Do what a line asks for; False ends the chat."""
        try:
            if slash.is_command(line):
                return slash.obey(self, line)
            self._answer(line[1:] if line.startswith("//") else line)
        except Cancelled:
            self._screen.note("stopped")
        except Terminated:
            return False
        except SessionError as error:
            self.warn(str(error))
        return not self.interrupts.must_end

    def _answer(self, prompt: str) -> None:
        self.interrupts.forget()
        self.last_prompt = prompt
        try:
            self.last_outcome = outcome = self._agent.take_turn(self.talk, prompt)
        finally:
            self._screen.end_text()
        self.interrupts.forget()
        if outcome.cancelled:
            self._screen.note("stopped; what was said so far is kept")
        elif outcome.error is not None:
            click.echo(click.style("Error: ", fg="red", bold=True) + one_line(outcome.error, 1000), err=True)
        self._tell_diagnostics()
        click.echo()

    def _tell_diagnostics(self) -> None:
        """What plugins did wrong since the last look."""
        events = list(self.host.diagnostics)
        for event in events[self._told :]:
            self.warn(str(event))
        self._told = len(events)

    def warn(self, text: str) -> None:
        self._screen.warn(text)

    # Conversations

    def _greet(self) -> None:
        service = self._agent.endpoint.service
        memory = self.host.memory_owner or "no memory"
        said = f"memslot chat · {service.model} at {service.address} · {memory}"
        click.secho(one_line(said), bold=True)
        click.secho("/help lists the commands, Ctrl-D ends the chat.", dim=True)
        self._tell_diagnostics()
        self._tell_conversation()

    def _tell_conversation(self) -> None:
        _, entries = self.talk.history()
        if not entries:
            click.secho(f"A new conversation, {one_line(self.talk.id, 60)}.", dim=True)
            return
        said = sum(entry.role == "user" for entry in entries)
        click.secho(
            f"Going on with {one_line(self.talk.id, 60)}, {counted(said, 'prompt')} so far; /new begins another.",
            dim=True,
        )

    def go_to(self, talk: Conversation) -> None:
        """Leave this conversation for another."""
        if talk.id != self.talk.id:
            self.host.end_session(self.talk.session)
            self.talk = talk
            self.last_outcome = None
        self._tell_conversation()

    def begin_anew(self) -> None:
        """Leave this conversation for a new one."""
        self.go_to(new_conversation(self.host, self._chat_type))

    def _complete(self, text: str) -> Iterable[str]:
        return slash.complete(self, text)


def make_screen(*, is_terminal: bool, colour: bool) -> Screen:
    """The screen for a dialogue."""
    import sys

    if not is_terminal:
        return PlainScreen(sys.stdout)
    from rich.console import Console

    from memslot.chat.live_screen import LiveScreen

    return LiveScreen(Console(highlight=False, no_color=not colour))
