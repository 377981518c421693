"""The server's life: it ends with what started it, and a kill loses nothing that was acknowledged."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.inspected_home import NOTES, WAIT, environment, serving
from tests.plugins.inspector.conftest import opened
from tests.plugins.inspector.test_writes import EDIT, shown_text


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_it_ends_at_a_signal(home: Path, number: signal.Signals) -> None:
    with serving(home) as server, opened(server) as browser:
        browser.get("/?q=tea")
        server.process.send_signal(number)
        assert server.process.wait(WAIT) == 0
        with pytest.raises(httpx2.ConnectError):
            browser.get("/")


def test_it_ends_when_the_program_that_started_it_is_killed(home: Path) -> None:
    """As a terminal that is closed by force: nobody sends a signal to what runs in its background."""
    start = (
        "import subprocess, sys, time; "
        "child = subprocess.Popen([sys.executable, '-m', 'memslot', 'ui', '--no-open'], start_new_session=True); "
        "time.sleep(600)"
    )
    shell = subprocess.Popen([sys.executable, "-c", start], env=environment(home), stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    link = shell.stdout.readline().strip()
    assert httpx2.get(link, timeout=WAIT).status_code == 200
    shell.kill()
    assert shell.stdout.read() == "", "its output ends with the last process that holds it"
    shell.wait(WAIT)
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(link, timeout=WAIT)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
@pytest.mark.parametrize("start", ['exec "$@"', '"$@" & wait', '"$@" & sleep 600'])
def test_it_ends_when_its_terminal_is_closed(home: Path, start: str) -> None:
    """In the foreground of a terminal, or in the background of a shell in it."""
    window, terminal = os.openpty()
    login = "import os, sys; os.login_tty(0); os.execvp('sh', ['sh', '-c', *sys.argv[1:]])"
    command = [sys.executable, "-m", "memslot", "ui", "--no-open"]
    shell = subprocess.Popen(
        [sys.executable, "-c", login, start, "sh", *command], stdin=terminal, env=environment(home), cwd=home
    )
    os.close(terminal)
    shown = b""
    while not (link := re.search(rb"(http://127\.0\.0\.1:\S+)\r?\n", shown)):
        shown += os.read(window, 4096)
    assert httpx2.get(link[1].decode(), timeout=WAIT).status_code == 200
    os.close(window)
    deadline = time.monotonic() + WAIT
    port = int(link[1].partition(b"127.0.0.1:")[2].partition(b"/")[0])
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            break
        assert time.monotonic() < deadline, "it goes on without its terminal"
        time.sleep(0.1)
    shell.kill()
    shell.wait(WAIT)


def test_a_signal_in_the_first_moments_is_not_lost(home: Path) -> None:
    """From the link on the terminal to the server's own handlers; sooner, the signal itself ends it."""
    for wait in (0.0, 0.1, 0.2, 0.4):
        with serving(home) as server:
            time.sleep(wait)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(WAIT) in (0, -signal.SIGTERM)


BROWSER = """
import re, sys, urllib.request
from pathlib import Path
page = Path(urllib.request.url2pathname(sys.argv[1].removeprefix("file://")))
link = re.search('url=([^"]+)', page.read_text())[1]
opened = urllib.request.urlopen(link, timeout=100)
Path(sys.argv[0]).with_suffix(".told").write_text(f"{opened.status} {page.stat().st_mode & 0o077}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="BROWSER names a command of POSIX")
def test_a_browser_that_python_waits_for_is_answered(home: Path, tmp_path: Path) -> None:
    """The server opens it with a private page, since the arguments of a command can be read by others."""
    browser = tmp_path / "browser.py"
    browser.write_text(BROWSER, encoding="utf-8")
    env = {**environment(home), "DISPLAY": ":0", "BROWSER": f"{sys.executable} {browser} %s"}
    server = subprocess.Popen([sys.executable, "-m", "memslot", "ui"], env=env, stdout=subprocess.DEVNULL)
    told = browser.with_suffix(".told")
    deadline = time.monotonic() + WAIT
    while server.poll() is None and time.monotonic() < deadline and not (told.exists() and told.read_text()):
        time.sleep(0.1)
    server.terminate()
    assert server.wait(WAIT) == 0
    assert told.exists(), "the browser waits for the server"
    assert told.read_text() == "200 0"
    assert not list((home / "plugins" / "inspector").glob("open-*")), "the page with the link is removed"


def test_a_kill_during_writes_leaves_the_note_whole_and_keeps_what_was_acknowledged(home: Path) -> None:
    file = home / "workspace" / "MEMORY.md"
    for round_ in range(3):
        file.write_text(NOTES["MEMORY.md"], encoding="utf-8")
        saved: list[int] = []
        with serving(home) as server, opened(server) as browser:
            begun = threading.Event()

            def write(begun: threading.Event = begun, saved: list[int] = saved) -> None:
                token = browser.form_token()
                for number in range(10_000):
                    digest, text = browser.field(EDIT, "digest"), shown_text(browser, EDIT).split("\nEdit ")[0]
                    values = {"form-token": token, "memory": "memory-core", "path": "MEMORY.md", "digest": digest}
                    answer = browser.client.post(
                        "/browse/save",
                        data={**values, "text": f"{text}\nEdit {number}\n" + "A long tail.\n" * 2000},
                        headers={"Origin": server.address},
                    )
                    assert answer.status_code == 303
                    saved.append(number)
                    begun.set()

            with ThreadPoolExecutor(1) as pool:
                writing = pool.submit(write)
                assert begun.wait(WAIT)
                time.sleep(0.05 * round_)
                os.kill(server.process.pid, signal.SIGKILL)
                with pytest.raises(httpx2.TransportError):
                    writing.result(WAIT)
        text = file.read_text(encoding="utf-8")
        head, _, tail = text.partition("\nEdit ")
        number, _, rest = tail.partition("\n")
        assert head.strip() == NOTES["MEMORY.md"].strip()
        assert int(number) in (saved[-1], saved[-1] + 1)
        assert rest.strip() == ("A long tail.\n" * 2000).strip()
        assert [each.name for each in file.parent.iterdir() if each.name.endswith(".tmp")] == []


def test_eight_tabs_at_once_get_their_answers(home: Path) -> None:
    with serving(home) as server, opened(server) as browser, ThreadPoolExecutor(8) as pool:
        words = ("tea", "berth plan", "tide", "crane", "Noor", "disk", "Friday", "Delft")

        def type_in(tab: str) -> list[int]:
            text = words[int(tab)]
            headers = {"X-Memslot-Part": tab}
            return [browser.get(f"/?q={text[:end]}", **headers).status_code for end in range(1, len(text) + 1)]

        for statuses in pool.map(type_in, map(str, range(8))):
            assert set(statuses) <= {200, 204}
            assert statuses[-1] == 200
