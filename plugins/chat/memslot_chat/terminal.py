"""The interactive chat, and its line editor."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from memslot import SessionError, make_private_dir, one_line

from memslot_chat import slash_commands
from memslot_chat.conversation import Conversation, new_conversation
from memslot_chat.interrupts import Cancelled, Interrupts, Terminated
from memslot_chat.screen import PlainScreen, Screen, counted, say_error
from memslot_chat.turn import Agent, TurnOutcome

if TYPE_CHECKING:
    from memslot import ChatType, Host

HISTORY = "chat_history"
_KEPT = 2000
_PROMPT, _MORE = "› ", "… "
ENDED, TERMINATED = 0, 143
"""Exit codes; the second is the shell's for SIGTERM."""


class TerminalDialogue:
    """Reads prompts, runs the agent's turns and the slash commands."""

    def __init__(
        self,
        agent: Agent,
        conversation: Conversation,
        *,
        chat_type: ChatType | None,
        colour: bool,
    ) -> None:
        self.host: Host = agent.host
        self.conversation = conversation
        self.interrupts: Interrupts = agent.interrupts
        self.last_prompt = ""
        self.last_outcome: TurnOutcome | None = None
        self._agent = agent
        self._screen: Screen = agent.screen
        self._chat_type = chat_type
        self._shown_diagnostics = 0
        self._editor = LineEditor(self.host.places.home, self.interrupts, self._complete, colour=colour)

    def hold(self) -> int:
        """Run until the user quits; return the exit code."""
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
        """Run a line; False ends the chat."""
        try:
            if slash_commands.is_command(line):
                return slash_commands.run_command(self, line)
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
            self.last_outcome = outcome = self._agent.take_turn(self.conversation, prompt)
        finally:
            self._screen.end_text()
        self.interrupts.forget()
        if outcome.cancelled:
            self._screen.note("stopped; the answer so far is kept")
        elif outcome.error is not None:
            say_error(outcome.error)
        self._show_diagnostics()
        click.echo()

    def _show_diagnostics(self) -> None:
        """Show plugin diagnostics since the last call."""
        events = list(self.host.diagnostics)
        for event in events[self._shown_diagnostics :]:
            self.warn(str(event))
        self._shown_diagnostics = len(events)

    def warn(self, text: str) -> None:
        self._screen.warn(text)

    # Conversations

    def _greet(self) -> None:
        service = self._agent.endpoint.service
        memory = " and ".join(self.host.memories.ids) or "no memory"
        said = f"memslot chat · {service.model} at {service.address} · {memory}"
        click.secho(one_line(said), bold=True)
        click.secho("/help lists the commands, Ctrl-D ends the chat.", dim=True)
        self._show_diagnostics()
        self._show_conversation()

    def _show_conversation(self) -> None:
        messages, _ = self.conversation.history()
        if not messages:
            click.secho(f"New conversation {one_line(self.conversation.id, 60)}.", dim=True)
            return
        said = sum(message.get("role") == "user" for message in messages)
        click.secho(
            f"Resuming {one_line(self.conversation.id, 60)}, {counted(said, 'prompt')} so far; /new starts another.",
            dim=True,
        )

    def switch_to(self, conversation: Conversation) -> None:
        """Switch to another conversation."""
        if conversation.id != self.conversation.id:
            self.host.end_session(self.conversation.session)
            self.conversation = conversation
            self.last_outcome = None
        self._show_conversation()

    def begin_anew(self) -> None:
        """Switch to a new conversation."""
        self.switch_to(new_conversation(self.host, self._chat_type))

    def _complete(self, text: str) -> Iterable[str]:
        return slash_commands.complete(self, text)


def make_screen(*, is_terminal: bool, colour: bool) -> Screen:
    """Create the screen for a dialogue."""
    if not is_terminal:
        return PlainScreen(sys.stdout)
    from rich.console import Console

    from memslot_chat.live_screen import LiveScreen

    return LiveScreen(Console(highlight=False, no_color=not colour))


class LineEditor:
    """Reads the user's input. `complete` returns the completions of a text that starts with `/`."""

    def __init__(
        self, home: Path, interrupts: Interrupts, complete: Callable[[str], Iterable[str]], *, colour: bool = True
    ) -> None:
        self._interrupts = interrupts
        self._complete = complete
        self._file = home / HISTORY
        self._written = ""
        self._found: list[str] = []
        self._readline = _load_readline() if sys.stdin.isatty() and sys.stdout.isatty() else None
        # Without the \001 \002 marks, readline counts colour codes as visible and wraps lines too early.
        self._style = ("\001\033[1;36m\002", "\001\033[0m\002") if colour and self._readline else ("", "")
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")  # pasted text may not be valid in the terminal's encoding
        if self._readline is not None:
            self._set_up(self._readline)

    def _set_up(self, readline: Any) -> None:
        with contextlib.suppress(OSError):
            make_private_dir(self._file.parent)
            os.close(os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600))
            readline.clear_history()
            readline.read_history_file(self._file)
        readline.set_history_length(_KEPT)
        readline.set_auto_history(False)
        readline.set_completer_delims("")
        readline.set_completer(self._completion)
        is_editline = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if is_editline else "tab: complete")

    def _completion(self, text: str, state: int) -> str | None:
        if state == 0:  # readline calls once per match; compute them only for the first
            self._found = [*self._complete(text)] if text.startswith("/") else []
        return self._found[state] if state < len(self._found) else None

    def ask(self) -> str | None:
        """Read a prompt; None at the end of input. Raises Cancelled for a Ctrl-C on an empty line.

        A line that ends with a backslash continues on the next one.
        """
        lines: list[str] = []
        while True:
            try:
                line = self._line(_MORE if lines else _PROMPT)
            except EOFError:
                return None
            except Cancelled:
                if not self._written and not lines:
                    raise
                sys.stderr.write("\n")
                return ""  # discard the current input only
            lines.append(line.removesuffix("\\"))
            if not line.endswith("\\"):
                text = "\n".join(lines).strip()
                self._remember(text)
                return text

    def _line(self, prompt: str) -> str:
        before, after = self._style
        self._written = ""
        self._interrupts.on_cancel = self._look
        try:
            with self._interrupts.waiting():
                if self._readline is not None:
                    return input(f"{before}{prompt}{after}")
                sys.stderr.write(prompt)
                sys.stderr.flush()
                line = sys.stdin.readline()
        finally:
            self._interrupts.on_cancel = None
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def _look(self) -> None:
        self._written = self._readline.get_line_buffer() if self._readline is not None else ""

    def _remember(self, text: str) -> None:
        readline = self._readline
        if readline is None or not text:
            return
        # Under a missing locale only ASCII can be encoded; skip other lines.
        with contextlib.suppress(OSError, UnicodeEncodeError):
            readline.add_history(text.replace("\n", " "))
            if hasattr(readline, "append_history_file"):
                readline.append_history_file(1, self._file)
            else:
                readline.write_history_file(self._file)
            self._file.chmod(0o600)  # truncating may have recreated it


def _load_readline() -> Any:
    try:
        import readline
    except ImportError:  # Windows
        return None
    return readline
