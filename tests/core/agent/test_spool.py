"""Durable run ends: whatever happens to the process, plugins hear of each once they can."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from glob import glob
from pathlib import Path
from typing import Any

import pytest
from memslot import Host
from memslot.agent import spool as spool_module

from tests.core.agent.conftest import Bench

LISTENER = """
@hookimpl
def agent_end(ctx, run, messages, success, error):
    HEARD.append([run.id, run.session.id, run.session.chat_type, [m["content"] for m in messages], success, error])
"""
WAITING = """
GO_ON = threading.Event()

@hookimpl
def agent_end(run):
    HEARD.append(run.id)
    GO_ON.wait(60)
"""
FAILING = LISTENER + "    raise RuntimeError('the kettle is empty')\n"
KEY = "sk-" + "a1B2c3D4" * 4


def go_on() -> None:
    """Let the plugin WAITING go on."""
    sys.modules["slow"].GO_ON.set()


def finish(host: Host, text: str, session: str = "s") -> str:
    run = host.run("", session=session)
    run.finish([{"role": "user", "content": text}], durable=True)
    return run.info.id


def entries(bench: Bench) -> list[Path]:
    # Not Path.glob, which fails in Python 3.11 when a host removes its folder meanwhile.
    found = (bench.home / path for path in glob("agents/*/spool/*/*/*.json", root_dir=bench.home))  # noqa: PTH207
    return sorted(path for path in found if path.parent.name != "set-aside")


def set_aside(bench: Bench) -> list[Path]:
    return sorted(bench.home.glob("agents/*/spool/*/set-aside/*.json"))


def leave_behind(bench: Bench, *texts: str, **options: Any) -> list[Path]:
    """Finish runs in a process that is killed before its plugin is done with one; gives their entries."""
    code = f"""
        import json, sys, time
        from memslot import Host, hookimpl
        host = Host.load(json.loads(sys.argv[1]), home=sys.argv[2], env={{"MEMSLOT_LOAD_PLUGINS": "slow"}})
        for text in {texts!r}:
            run = host.run("", session="s")
            run.finish([{{"role": "user", "content": text}}], durable=True, **{options!r})
        print("done", flush=True)
        time.sleep(60)
    """
    folder = bench.folder / "slow-plugins" / "slow"
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700)
        hook = "import time\nfrom memslot import hookimpl\n@hookimpl\ndef agent_end(run):\n    time.sleep(60)\n"
        (folder / "__init__.py").write_text(hook, encoding="utf-8")
        (folder / "memslot.plugin.json").write_text(json.dumps({"id": "slow", "kind": "tool", "name": "slow"}))
    config = {"plugins": {"load": {"paths": [str(folder.parent)]}, "slots": {"memory": "none"}}}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), json.dumps(config), str(bench.home)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline().strip()
        process.kill()
    return entries(bench)


def change(entry: Path, **values: Any) -> None:
    entry.write_text(json.dumps({**json.loads(entry.read_text()), **values}), encoding="utf-8")


def test_a_run_is_on_disk_until_every_plugin_is_done(bench: Bench) -> None:
    bench.write("slow", WAITING)
    host = bench.load()
    run_id = finish(host, f"The key is {KEY}.")

    (entry,) = entries(bench)
    text = entry.read_text(encoding="utf-8")
    assert run_id in text
    assert KEY not in text
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700

    go_on()
    host.close()
    assert bench.heard("slow") == [run_id]
    assert entries(bench) == []
    assert list(bench.home.glob("agents/*/spool/*/*")) == []


def test_what_a_killed_process_left_behind_is_delivered_once(bench: Bench) -> None:
    (entry,) = leave_behind(bench, "Tea.", success=False, error="it broke")
    left = json.loads(entry.read_text(encoding="utf-8"))
    bench.write("slow", LISTENER)

    with bench.load():
        pass
    with bench.load():
        pass

    assert bench.heard("slow") == [[left["run"]["id"], "s", "direct", ["Tea."], False, "it broke"]]
    assert entries(bench) == []


def test_it_is_delivered_after_the_first_run_and_not_before(bench: Bench) -> None:
    leave_behind(bench, "Tea.")
    bench.write("slow", LISTENER)
    host = bench.load()
    run = host.run("", session="other")
    assert len(entries(bench)) == 1

    run.finish([])
    deadline = time.monotonic() + 20
    while entries(bench):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert [each[3] for each in bench.heard("slow")].count(["Tea."]) == 1


def test_entries_of_a_living_host_are_left_to_it(bench: Bench) -> None:
    bench.write("slow", WAITING)
    first = bench.load()
    run_id = finish(first, "Tea.")

    bench.load().close()
    assert len(entries(bench)) == 1
    go_on()
    first.close()
    assert bench.heard("slow") == [run_id]


def test_another_workspace_or_agent_never_sees_them(bench: Bench) -> None:
    (entry,) = leave_behind(bench, "Tea.")
    bench.write("slow", LISTENER)
    env = {"MEMSLOT_LOAD_PLUGINS": "slow"}
    other = {"agents": {"defaults": {"workspace": str(bench.folder / "other")}, "list": [{"id": "ana"}]}}
    Host.load({**bench.config, **other}, home=bench.home, env=env).close()
    Host.load({**bench.config, **other}, home=bench.home, env=env, agent="ana").close()
    assert bench.heard("slow") == []

    moved = bench.home / "agents" / "ana" / "spool" / entry.parent.parent.name
    moved.parent.mkdir(parents=True)
    entry.parent.parent.rename(moved)
    same = {"agents": {"list": [{"id": "ana"}]}}
    host = Host.load({**bench.config, **same}, home=bench.home, env=env, agent="ana")
    host.close()
    assert bench.heard("slow") == []
    assert "belongs to another agent" in " ".join(map(str, host.diagnostics))


def test_a_run_that_fails_three_times_is_set_aside_and_told(bench: Bench) -> None:
    leave_behind(bench, "Tea.")
    bench.write("slow", FAILING)
    for _ in range(3):
        assert set_aside(bench) == []
        host = bench.load()
        host.close()
    assert len(bench.heard("slow")) == 3
    assert (len(set_aside(bench)), entries(bench)) == (1, [])
    assert "slow failed 3 times" in " ".join(map(str, host.diagnostics))

    bench.load().close()
    assert len(bench.heard("slow")) == 3


def test_only_the_plugin_that_failed_is_told_again(bench: Bench) -> None:
    bench.write("good", LISTENER)
    bench.write("bad", FAILING)
    host = bench.load()
    run_id = finish(host, "Tea.")
    host.close()

    bench.load().close()
    assert [each[0] for each in bench.heard("good")] == [run_id]
    assert [each[0] for each in bench.heard("bad")] == [run_id, run_id]


DAMAGE: list[Callable[[Path], Any]] = [
    lambda entry: entry.write_bytes(entry.read_bytes()[:-40]),
    lambda entry: entry.write_bytes(b""),
    lambda entry: entry.write_bytes(os.urandom(200)),
    lambda entry: entry.write_bytes(b"[" * 100_000),
    lambda entry: change(entry, version=2),
    lambda entry: change(entry, messages=[7]),
    lambda entry: change(entry, starts=spool_module.MAX_STARTS),
    lambda entry: change(entry, writtenAt=time.time() - 31 * 86400),
]


def test_what_cannot_be_delivered_is_set_aside_and_the_rest_goes_on(bench: Bench) -> None:
    *damaged, _ = leave_behind(bench, *("Tea." for _ in DAMAGE), "Coffee.")
    for entry, damage in zip(damaged, DAMAGE, strict=True):
        damage(entry)
    bench.write("slow", LISTENER)
    host = bench.load()
    host.close()

    assert [each[3] for each in bench.heard("slow")] == [["Coffee."]]
    assert (len(set_aside(bench)), entries(bench)) == (len(DAMAGE), [])
    assert sum("set aside" in str(event) for event in host.diagnostics) == len(DAMAGE)


def test_runs_of_a_plugin_that_is_not_running_wait_for_it(bench: Bench) -> None:
    leave_behind(bench, "Tea.")
    bench.write("other", LISTENER)
    bench.load().close()
    assert len(entries(bench)) == 1

    bench.write("slow", LISTENER)
    bench.load().close()
    assert [each[3] for each in bench.heard("slow")] == [["Tea."]]
    assert bench.heard("other") == []


@pytest.mark.parametrize("limit", ["file in the way", "number", "size"])
def test_where_there_can_be_no_entry_finish_waits_for_the_plugins(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    bench.write("slow", "@hookimpl\ndef agent_end(run):\n    time.sleep(0.3)\n    HEARD.append(run.id)\n")
    if limit == "file in the way":
        bench.home.mkdir()
        (bench.home / "agents").write_text("")
    elif limit == "number":
        monkeypatch.setattr(spool_module, "MAX_ENTRIES", 0)
    else:
        monkeypatch.setattr(spool_module, "MAX_BYTES", 10)
    host = bench.load()

    run_id = finish(host, "Tea.")

    assert bench.heard("slow") == [run_id]
    assert "waiting for the plugins" in " ".join(map(str, host.diagnostics))


TAKER = """
import json, os, sys, time
from memslot import Host
host = Host.load(json.loads(sys.argv[1]), home=sys.argv[2], env={"MEMSLOT_LOAD_PLUGINS": "slow"})
print("ready", flush=True)
sys.stdin.readline()
host.close()
"""
NOTING = """
def note(what, messages):
    with open(LOG, "a") as file:
        file.write(f"{os.getpid()} {what} {messages[0]['content']}\\n")

@hookimpl
def agent_end(messages):
    note("begins", messages)
    while not os.path.exists(LOG + ".go_on"):
        time.sleep(0.01)
    note("ends", messages)
"""


def test_of_many_processes_one_takes_an_entry_and_if_it_is_killed_another_does(bench: Bench) -> None:
    leave_behind(bench, *(f"Fact {number}." for number in range(3)))
    log = bench.folder / "log"
    bench.write("slow", NOTING.replace("LOG", repr(str(log))))
    arguments = [sys.executable, "-c", TAKER, json.dumps(bench.config), str(bench.home)]
    takers = [subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for taker in takers:
        assert taker.stdout is not None
        assert taker.stdout.readline() == "ready\n"
    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("\n")
        taker.stdin.flush()
    deadline = time.monotonic() + 30
    while not (log.exists() and log.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    victim = int(log.read_text().split()[0])
    os.kill(victim, signal.SIGKILL)
    log.with_name("log.go_on").touch()
    for taker in takers:
        taker.communicate(timeout=60)
    subprocess.run(arguments, input="\n", text=True, timeout=60, check=True, stdout=subprocess.DEVNULL)

    lines = [line.split(" ", 2) for line in log.read_text().splitlines()]
    ended = [fact for _, what, fact in lines if what == "ends"]
    assert sorted(ended) == ["Fact 0.", "Fact 1.", "Fact 2."]
    others = [fact for pid, what, fact in lines if what == "begins" and int(pid) != victim]
    assert sorted(others) == sorted(set(others))
    assert entries(bench) == []
