"""The program is run without a shell, within its limits, and nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from memslot_memory_core.qmd.errors import QmdError, QmdTimeoutError
from memslot_memory_core.qmd.program import QmdProgram

from .conftest import Fake


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "xdg-cache" / "qmd").mkdir(parents=True)
    return folder


@pytest.fixture
def program(fake: Fake, home: Path) -> QmdProgram:
    return QmdProgram(str(fake.program), home)


def is_alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.strip().startswith("Z")


def wait_until_gone(pid: int, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


def test_gives_what_was_printed(fake: Fake, program: QmdProgram) -> None:
    fake.will(search={"stdout": "[1]", "stderr": "careful"})

    output = program.run("search", "--", "x", timeout=30)

    assert (output.stdout, output.stderr) == ("[1]", "careful")


def test_arguments_arrive_as_they_are(fake: Fake, program: QmdProgram) -> None:
    words = ["--", "$(touch /tmp/x)", "; rm -rf ~", "a\tb", "ü 漢 🙂", "", "`id`"]

    program.run("search", *words, timeout=30)

    assert fake.calls[0]["arguments"] == ["--index", "index", "search", *words]


def test_missing_program_says_how_to_install_it(home: Path) -> None:
    with pytest.raises(QmdError, match="no-such-qmd was not found") as caught:
        QmdProgram("no-such-qmd", home).run("search", timeout=1)
    assert "npm install" in str(caught.value.action)


def test_file_that_is_not_executable_is_named(fake: Fake, program: QmdProgram) -> None:
    fake.program.chmod(0o644)

    with pytest.raises(QmdError, match="is not an executable program") as caught:
        program.run("search", timeout=1)
    assert "chmod +x" in str(caught.value.action)


def test_program_without_its_interpreter_says_so(fake: Fake, program: QmdProgram) -> None:
    fake.program.write_text("#!/no/such/node\n", encoding="utf-8")

    with pytest.raises(QmdError, match=r"could not start: .*No such file") as caught:
        program.run("search", timeout=30)
    assert "Node 22" in str(caught.value.action)


@pytest.mark.parametrize(
    ("complaint", "told"),
    [
        ("SqliteError: database is locked\n    at Database.prepare (x.js:1)\n", "SqliteError: database is locked"),
        ("\x1b[31mCollection not found: notes\x1b[0m\n", "Collection not found: notes"),
        ("", "no error message"),
        ("Error: bad key sk-abcdefghij0123456789xyz\n", r"Error: bad key \[redacted\]"),
    ],
)
def test_failure_is_told_in_one_line_without_secrets(
    fake: Fake, program: QmdProgram, complaint: str, told: str
) -> None:
    fake.will(search={"code": 1, "stderr": complaint})

    with pytest.raises(QmdError, match=f"^qmd search ended with code 1: {told}$"):
        program.run("search", timeout=30)


def test_output_beyond_the_limit_ends_it(fake: Fake, program: QmdProgram) -> None:
    fake.will(search={"megabytes": 40, "sleep": 60})

    with pytest.raises(QmdError, match="more than 16 MB"):
        program.run("search", timeout=20)


def test_complaints_without_end_do_not_fill_the_memory(fake: Fake, program: QmdProgram) -> None:
    fake.will(search={"stderr": "w" * 1_000_000 + "the end"})

    stderr = program.run("search", timeout=10).stderr

    assert stderr.endswith("the end")
    assert len(stderr) <= 65_536


def test_time_out_kills_the_program_and_its_children(fake: Fake, program: QmdProgram) -> None:
    fake.will(search={"spawn": True, "sleep": 600})

    with pytest.raises(QmdTimeoutError, match="did not answer within 8 s"):
        program.run("search", timeout=8)  # by then it has started its child, on a busy machine, too

    child = int((fake.folder / "child.pid").read_text(encoding="utf-8"))
    assert wait_until_gone(child)


def test_child_that_holds_the_output_open_counts_as_hanging(fake: Fake, program: QmdProgram) -> None:
    fake.will(search={"spawn": True, "stdout": "[]"})

    with pytest.raises(QmdTimeoutError):
        program.run("search", timeout=8)

    assert wait_until_gone(int((fake.folder / "child.pid").read_text(encoding="utf-8")))


def test_stop_ends_what_runs_and_starts_nothing_more(fake: Fake, program: QmdProgram) -> None:
    fake.will(update={"spawn": True, "sleep": 60})
    told: list[str] = []

    def run() -> None:
        try:
            program.run("update", timeout=60)
        except QmdError as error:
            told.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + 30
    while not (fake.folder / "child.pid").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    program.stop()
    thread.join(30)

    assert told == ["QMD was closed"]
    assert wait_until_gone(int((fake.folder / "child.pid").read_text(encoding="utf-8")))
    with pytest.raises(QmdError, match="closed"):
        program.run("search", timeout=1)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_program_does_not_outlive_a_parent_that_is_killed(fake: Fake, home: Path, ending: signal.Signals) -> None:
    fake.will(update={"spawn": True, "sleep": 60})
    code = (
        "import sys; from pathlib import Path; from memslot_memory_core.qmd.program import QmdProgram\n"
        "QmdProgram(sys.argv[1], Path(sys.argv[2])).run('update', timeout=60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(fake.program), str(home)])
    deadline = time.monotonic() + 20
    while not (fake.folder / "child.pid").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    child = int((fake.folder / "child.pid").read_text(encoding="utf-8"))
    assert is_alive(child)

    parent.send_signal(ending)
    parent.wait(30)

    assert wait_until_gone(child)


def test_it_gets_a_home_of_its_own_and_none_of_our_keys(fake: Fake, home: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": "/home/somebody",
        "LC_ALL": "C.UTF-8",
        "QMD_FORCE_CPU": "1",
        "QMD_CONFIG_DIR": "/elsewhere",
        "INDEX_PATH": "/elsewhere/index.sqlite",
        "XDG_CACHE_HOME": "/elsewhere",
        "OPENAI_API_KEY": "sk-secret",
        "MEMSLOT_HOME": "/private",
        "NODE_OPTIONS": "--require /tmp/evil.js",
    }

    with patch.dict(os.environ, environ, clear=True):
        program = QmdProgram(str(fake.program), home)
    program.run("search", timeout=30)

    env = fake.calls[0]["env"]
    assert env.pop("PATH") == f"{fake.folder}{os.pathsep}{environ['PATH']}"
    assert (
        env.items()
        >= {
            "HOME": "/home/somebody",
            "LC_ALL": "C.UTF-8",
            "QMD_FORCE_CPU": "1",
            "XDG_CONFIG_HOME": str(home / "xdg-config"),
            "XDG_CACHE_HOME": str(home / "xdg-cache"),
            "NO_COLOR": "1",
        }.items()
    )
    assert not env.keys() & {"QMD_CONFIG_DIR", "INDEX_PATH", "OPENAI_API_KEY", "MEMSLOT_HOME", "NODE_OPTIONS"}
    assert fake.calls[0]["cwd"] == str(home)
