"""The line a person writes: edited with readline, remembered in the home, completed with Tab."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from memslot.chat.interrupts import Cancelled, Interrupts
from memslot.config.paths import make_private_dir

HISTORY = "chat_history"
_KEPT = 2000
_PROMPT, _MORE = "› ", "… "


class LineEditor:
    """Asks the person. `complete` gives the words that may stand where the text before the cursor begins with `/`."""

    def __init__(
        self, home: Path, interrupts: Interrupts, complete: Callable[[str], Iterable[str]], *, colour: bool = True
    ) -> None:
        self._interrupts = interrupts
        self._complete = complete
        self._file = home / HISTORY
        self._written = ""
        self._found: list[str] = []
        self._readline = _load_readline() if sys.stdin.isatty() and sys.stdout.isatty() else None
        # Readline counts what is not marked as invisible, and would wrap lines too early.
        self._style = ("\001\033[1;36m\002", "\001\033[0m\002") if colour and self._readline else ("", "")
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")  # what is pasted may be no text in the terminal's encoding
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
        if state == 0:  # readline asks for one after the other, and to look all up each time may take long
            self._found = [*self._complete(text)] if text.startswith("/") else []
        return self._found[state] if state < len(self._found) else None

    def ask(self) -> str | None:
        """What the person wrote; None where they are done. Raises Cancelled for a Ctrl-C on an empty line.

        A line that ends with a backslash goes on in the next one; what is pasted may have many.
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
                return ""  # it was meant for what was being written
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
        # A locale that is not installed can encode ASCII alone; what it cannot is not remembered.
        with contextlib.suppress(OSError, UnicodeEncodeError):
            readline.add_history(text.replace("\n", " "))
            if hasattr(readline, "append_history_file"):
                readline.append_history_file(1, self._file)
            else:
                readline.write_history_file(self._file)
            self._file.chmod(0o600)  # shortening it may have made it anew


def _load_readline() -> Any:
    try:
        import readline
    except ImportError:  # Windows
        return None
    return readline
