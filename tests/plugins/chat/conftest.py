"""`memslot chat` in a real process, on a real pseudo-terminal, against a scripted endpoint."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from memslot_chat.endpoint import Endpoint
from memslot_chat.interrupts import Interrupts
from memslot_chat.settings import Service

KEY = "sk-chat-7Hq2mXv9Lp4TzR8bNc6Kd1"
PATIENCE = 90.0
BENCH = Path(__file__).with_name("bench_plugin.py")
BENCH_TOOLS = ("meet", "fail", "hang", "keep", "long", "evil")


def _load(path: str) -> Any:
    """A file of the tests, which have no packages of their own (import mode importlib)."""
    name = f"memslot_tests_{path.replace('/', '_')}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / f"{path}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


chat_wire = _load("wire/chat")
cli_tests = _load("cli/conftest")

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")


class Terminal:
    """A pseudo-terminal with a program in it."""

    def __init__(self, argv: list[str], env: dict[str, str], cwd: Path, *, rows: int = 24, columns: int = 80) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C becomes a signal
        )
        os.close(theirs)
        self.raw = b""
        self._seen = 0

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def text(self) -> str:
        """All that was shown, without what only moves or colours."""
        return _ESCAPES.sub("", self.raw.decode("utf-8", "replace")).replace("\r", "")

    def send(self, text: str) -> None:
        self.send_bytes(text.encode())

    def send_bytes(self, data: bytes) -> None:
        os.write(self._ours, data)

    def line(self, text: str) -> None:
        self.send(text + "\r")

    def expect(self, *words: str) -> str:
        """Wait until these appear, one after the other, behind what was expected before; gives what was passed."""
        begin = self._seen
        for word in words:
            deadline = time.monotonic() + PATIENCE
            while (at := self.text.find(word, self._seen)) < 0:
                if not self._read(deadline):
                    pytest.fail(f"{word!r} did not appear in:\n{self.text[begin:]}")
            self._seen = at + len(word)
        return self.text[begin : self._seen]

    def _read(self, deadline: float) -> bool:
        if not select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # Linux says so when the other side is closed
            return False
        self.raw += piece
        return bool(piece)

    def prompt(self) -> str:
        """Wait for the prompt."""
        return self.expect("› ")

    def wait(self) -> int:
        """The exit code, with all that is shown until then."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        return self.process.wait(PATIENCE)

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._ours)
        self._ours = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        if self._ours >= 0:
            self.hang_up()


class Chat:
    """A home with a scripted endpoint, and the tools of a small plugin."""

    def __init__(self, command: Any, server: Any, opened: ExitStack) -> None:
        self.command = command
        self.server = server
        self._opened = opened
        self.plugin = command.folder / "plugins" / "bench"
        command.add_plugin(
            "bench", BENCH.read_text(encoding="utf-8"), kind="tool", provides={"tools": list(BENCH_TOOLS)}
        )
        self.configure()

    def configure(self, memory: str = "none", **defaults: Any) -> None:
        told = {"model": "echo-1", "baseUrl": self.server.url, "apiKey": KEY, **defaults}
        agents = {"defaults": told, "list": [{"id": "main", "default": True}, {"id": "work", "model": "work-1"}]}
        plugins = {"load": self.command.load, "slots": {"memory": memory}}
        self.command.write_config({"plugins": plugins, "agents": agents})

    def script(self, *steps: Any) -> None:
        self.server.script(*steps)

    def run(self, *arguments: str, text: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """One answer, not at a terminal."""
        return subprocess.run(
            [*self.command.argv, "chat", *arguments],
            env={**self.command.env, **env},
            cwd=self.command.project,
            input=text or "",
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )

    def in_shell(self, line: str) -> subprocess.CompletedProcess[str]:
        """`memslot …` as a shell runs it, with its redirections."""
        return subprocess.run(
            ["sh", "-c", f"{shlex.join(self.command.argv)} {line}"],
            env=self.command.env,
            cwd=self.command.project,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """One answer, in a process to send signals to."""
        process = subprocess.Popen(
            [*self.command.argv, "chat", *arguments],
            env=self.command.env,
            cwd=self.command.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._opened.callback(_end, process)
        return process

    def terminal(self, *arguments: str, rows: int = 24, columns: int = 80, **env: str) -> Terminal:
        """A chat at a terminal, at its first prompt."""
        argv = [*self.command.argv, "chat", *arguments]
        shown = Terminal(argv, {**self.command.env, **env}, self.command.project, rows=rows, columns=columns)
        self._opened.callback(shown.close)
        shown.prompt()
        return shown

    # What was kept

    def sessions(self) -> list[str]:
        return [each["id"] for each in self.command.json("sessions", "list")["sessions"]]

    def transcript(self, session: str) -> list[dict[str, Any]]:
        return list(self.command.json("sessions", "show", session)["messages"])

    def said(self, session: str) -> list[tuple[str, str]]:
        return [(each["role"], each["content"]) for each in self.transcript(session)]

    def file(self, name: str) -> str:
        """What the plugin wrote into a file of its own."""
        path = self.plugin / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def wait_for_file(self, name: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not (self.plugin / name).exists():
            assert time.monotonic() < deadline, f"{name} was not written"
            time.sleep(0.02)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.fixture
def wire() -> Any:
    """The steps of a script."""
    return chat_wire


@pytest.fixture
def server(wire: Any) -> Iterator[Any]:
    with wire.ChatServer() as started:
        yield started


@pytest.fixture
def endpoint(server: Any) -> Iterator[Callable[..., Endpoint]]:
    """Makes an endpoint that speaks to the server: `endpoint(silence=0.5)`."""
    with ExitStack() as opened:

        def make(base_url: str | None = None, *, key: str | None = KEY, **options: Any) -> Endpoint:
            made = Endpoint(Service(base_url or server.url, "echo-1", key), Interrupts(), **options)
            opened.callback(made.close)
            return made

        yield make


@pytest.fixture
def chat(tmp_path: Path, server: Any) -> Iterator[Chat]:
    with ExitStack() as opened:
        yield Chat(cli_tests.Command(tmp_path), server, opened)


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def requests(chat: Chat) -> Callable[[], list[dict[str, Any]]]:
    """The bodies of all requests so far."""
    return lambda: [json.loads(json.dumps(each.body)) for each in chat.server.seen]
