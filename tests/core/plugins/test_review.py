"""Things that went wrong once: each found by looking, each kept from coming back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from memslot import Host, MemslotError, Session
from memslot.plugins import overview
from memslot.plugins.discovery import discover

ONE_TOOL = """
@hookimpl
def register_tools(ctx): return [Tool("ping", "Answer.", {}, lambda args: "pong")]
"""


def messages(host: Host) -> str:
    return "\n".join(event.message for event in host.diagnostics)


def test_pip_in_the_current_folder_is_not_pip(tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text("open('ran', 'w')")
    env = {**os.environ, "MEMSLOT_HOME": str(tmp_path / "home"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memslot", "plugins", "install", "no-such-package-anywhere"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "not": {"required": ["apiKey"]}},
        {"type": "object", "maxProperties": 0},
        {"type": "object", "properties": {"dsn": {"type": "string", "pattern": "^https"}}},
    ],
)
def test_secret_settings_are_not_quoted_by_any_fault(write_plugin, load_host, schema) -> None:
    folder = write_plugin("p", ONE_TOOL, configSchema=schema)
    entries = {"p": {"config": {"apiKey": "hunter2-very-secret", "dsn": "${DSN}"}}}
    host = load_host(folder, entries=entries, env={"DSN": "db-pass-word-99"})
    assert "p" not in host.plugins
    assert "hunter2" not in messages(host)
    assert "pass-word" not in messages(host)


def test_key_in_an_exception_is_not_kept(write_plugin, load_host) -> None:
    code = """
    @hookimpl
    def before_agent_start(): raise RuntimeError("401 for key sk-abcdefghij0123456789")
    """
    host = load_host(write_plugin("p", code))
    host.run("hello").finish()
    assert "401 for key [redacted]" in messages(host)


def test_hosts_loaded_at_the_same_time_all_work_and_leave_stdout_alone(write_plugin, load_host, tmp_path) -> None:
    folder = write_plugin("slow", "import time; time.sleep(0.2); print('loading')\n" + ONE_TOOL)
    before, hosts = sys.stdout, []
    threads = [threading.Thread(target=lambda: hosts.append(load_host(folder))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.stdout is before
    assert [host.call_tool("ping").text for host in hosts] == ["pong"] * 4


def test_plugin_refused_at_its_second_hook_does_not_keep_its_first(write_plugin, load_host) -> None:
    code = """
    @hookimpl
    def before_agent_start(): return AgentStart("still here")
    @hookimpl
    def session_start(ctx, bogus): pass
    """
    host = load_host(write_plugin("p", code))
    with host.run("hello") as run:
        assert run.context == ""


@pytest.mark.parametrize("odd", ["dangling", "loop"])
def test_odd_link_in_a_development_folder_stops_nothing(write_plugin, load_host, odd: str) -> None:
    folder = write_plugin("p", ONE_TOOL)
    link = folder / ".#editor-lock.py"
    link.symlink_to("nowhere.py" if odd == "dangling" else link.name)
    host = load_host(folder)
    assert host.call_tool("ping").text == "pong" or "p" in {event.plugin for event in host.diagnostics}


@pytest.mark.parametrize("path", ["~no-such-user-here/x", "x" * 5000, "a\x00b", "/proc/1/x"])
def test_odd_load_path_is_one_line(tmp_path: Path, path: str) -> None:
    with Host.load({"plugins": {"load": {"paths": [path]}}}, home=tmp_path, env={}) as host:
        assert len(list(host.diagnostics)) == 1
        assert "memory-core" in host.plugins


def test_broken_metadata_of_another_package_stops_nothing(tmp_path: Path, monkeypatch) -> None:
    info = tmp_path / "site" / "broken_one-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-one\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[console_scripts]\ngarbage\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert "memory-core" in {plugin.id for plugin in discover().plugins}


@pytest.mark.parametrize(
    "item",
    [
        "Tool('t', 'x', {}, print, chat_types=5)",
        "Tool('t', 'x', {}, print, chat_types='direct')",
        "Tool('t', 'x', {}, print, timeout_seconds='long')",
        "PromptSection('h', 5)",
        "PromptSection('h', 'text', requires_tools=None)",
    ],
)
def test_wrong_fields_are_one_line(write_plugin, load_host, item: str) -> None:
    hook = "register_tools" if item.startswith("Tool") else "register_prompt_sections"
    host = load_host(write_plugin("p", f"@hookimpl\ndef {hook}(ctx): return [{item}]"))
    host.run("hello").finish()
    assert len(list(host.diagnostics)) == 1


def test_slow_generator_of_tools_is_under_the_budget(write_plugin, load_host, monkeypatch) -> None:
    from memslot import hookspecs

    monkeypatch.setattr(hookspecs.register_tools, "memslot_budget", 0.2)
    code = """
    import threading
    GO_ON = threading.Event()
    @hookimpl
    def register_tools(ctx):
        GO_ON.wait(60)
        yield Tool('t', 'x', {}, print)
    """
    host = load_host(write_plugin("p", code))
    sys.modules["dev_p_0"].GO_ON.set()
    assert "did not finish within 0.2 s" in messages(host)


def test_what_a_tool_returns_is_read_in_its_own_thread(write_plugin, load_host) -> None:
    code = """
    import threading
    from pydantic import BaseModel, computed_field
    GO_ON = threading.Event()
    class Trap(BaseModel):
        @computed_field
        def x(self) -> int: raise SystemExit(3)
    def slow():
        yield 1
        GO_ON.wait(60)
    @hookimpl
    def register_tools(ctx):
        return [Tool("trap", "x", {}, lambda args: Trap()),
                Tool("slow", "x", {}, lambda args: slow(), timeout_seconds=0.3)]
    """
    host = load_host(write_plugin("p", code))
    assert host.call_tool("trap").is_error
    assert "did not finish within 0.3 s" in host.call_tool("slow").text
    sys.modules["dev_p_0"].GO_ON.set()


def test_plugin_that_registers_a_tool_twice_is_one_line(write_plugin, load_host) -> None:
    code = "@hookimpl\ndef register_tools(ctx): return [Tool('t', 'x', {}, lambda a: 'ok')] * 2"
    host = load_host(write_plugin("p", code, provides={"tools": ["t"]}))
    assert messages(host) == 'registers the tool "t" twice'
    assert host.call_tool("t").text == "ok"


@pytest.mark.parametrize("value", [Path("x"), b"x", {1, 2}, {1: 2}])
def test_settings_that_are_no_json_disable_their_plugin_only(write_plugin, load_host, value: object) -> None:
    folder = write_plugin("p", ONE_TOOL, configSchema={"type": "object", "properties": {"x": {"enum": ["a"]}}})
    host = load_host(folder, entries={"p": {"config": {"x": value}}})
    assert "p" not in host.plugins
    assert "JSON" in messages(host)


def test_half_a_surrogate_in_a_manifest_is_refused(write_plugin, load_host) -> None:
    text = '{"id": "p", "kind": "tool", "name": "n", "provides": {"tools": ["\\ud83d"]}}'
    host = load_host(write_plugin("p", ONE_TOOL, manifest=text), allow=[])
    assert "surrogate" in messages(host)


def test_manifest_that_is_added_later_is_seen(tmp_path: Path) -> None:
    home, package = tmp_path / "home", tmp_path / "dev" / "pack"
    home.mkdir()
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (home / "memslot.json5").write_text(json.dumps({"plugins": {"load": {"paths": [str(package.parent)]}}}))
    env = {"MEMSLOT_HOME": str(home)}

    def ids() -> set[str]:
        from memslot import Places

        return {d.plugin.id for d in overview.read_overview(Places.from_env(env), env).activation.decisions if d.runs}

    assert "late" not in ids()
    (package / "memslot.plugin.json").write_text(json.dumps({"id": "late", "kind": "tool", "name": "n"}))
    assert "late" in ids()


def test_cache_of_another_shape_is_made_again(tmp_path: Path) -> None:
    from memslot import Places

    env = {"MEMSLOT_HOME": str(tmp_path)}
    first = overview.read_overview(Places.from_env(env), env)
    for file in (tmp_path / "cache").iterdir():
        entry = json.loads(file.read_text())
        entry["data"] = {"decisions": [{"plugin": {"surprise": 1}}], "plugins": [{"x": 2}], "watched": 7}
        file.write_text(json.dumps(entry))
    assert overview.read_overview(Places.from_env(env), env) == first


def test_async_plugin_keeps_its_one_loop_under_load_and_lets_it_go(write_plugin, load_host) -> None:
    code = """
    import asyncio, time
    LOOPS = set()
    @hookimpl
    async def before_agent_start():
        LOOPS.add(asyncio.get_running_loop())
        time.sleep(0.1)
    @hookimpl
    def register_tools(ctx): return [Tool("loops", "x", {}, lambda args: str(len(LOOPS)))]
    """
    host = load_host(write_plugin("p", code), entries={"p": {"hooks": {"timeoutMs": 60_000}}})
    threads = [threading.Thread(target=lambda: host.run("hello").finish()) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert host.call_tool("loops").text == "1"
    host.close()
    deadline = time.perf_counter() + 30
    while any("memslot p loop" in t.name for t in threading.enumerate()) and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert not any("memslot p loop" in t.name for t in threading.enumerate())


def test_end_of_a_run_waits_where_there_is_no_thread_for_it(write_plugin, load_host, monkeypatch) -> None:
    code = """
    HEARD = []
    @hookimpl
    def agent_end(run): HEARD.append(run.prompt)
    @hookimpl
    def register_tools(ctx): return [Tool("heard", "x", {}, lambda args: {"heard": HEARD})]
    """
    host = load_host(write_plugin("p", code))
    run = host.run("one")
    with monkeypatch.context() as patch:

        def refuse(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        patch.setattr(threading.Thread, "start", refuse)
        run.finish()
    host.run("two").finish()
    host._runner.drain(5)
    assert json.loads(host.call_tool("heard").text) == {"heard": ["one", "two"]}


def test_strict_host_lets_its_memory_go_although_a_hook_raises(write_plugin, load_host) -> None:
    code = """
    CLOSED = []
    class Mem:
        def search(self, query, *, max_results=None): return MemorySearchOutcome([], mode="x")
        def status(self): return MemoryStatus("x")
        def close(self): CLOSED.append(1)
    @hookimpl
    def register_memory(ctx): return Mem()
    @hookimpl
    def session_end(): raise ValueError("last word")
    """
    host = load_host(write_plugin("m", code, kind="memory"), slots={"memory": "m"}, env={"MEMSLOT_STRICT_PLUGINS": "1"})
    host.run("hello", session="s")
    with pytest.raises(MemslotError, match="last word"):
        host.close()
    assert type(host.memory).close.__globals__["CLOSED"] == [1]


def test_closed_host_says_so(write_plugin, load_host) -> None:
    host = load_host(write_plugin("p", "@hookimpl\ndef agent_end(): pass\n" + ONE_TOOL))
    late = host.run("hello")
    host.close()
    for call in (lambda: host.run("again"), lambda: host.call_tool("ping")):
        with pytest.raises(MemslotError, match="closed"):
            call()
    late.finish()
    assert "was not called: the host is closed" in messages(host)


def test_messages_of_vendors_libraries_are_heard(write_plugin, load_host) -> None:
    code = """
    HEARD = []
    @hookimpl
    def agent_end(messages): HEARD.extend(message_text(m) for m in messages)
    @hookimpl
    def register_tools(ctx): return [Tool("heard", "x", {}, lambda args: {"heard": HEARD})]
    """
    host = load_host(write_plugin("p", code))
    dumps = SimpleNamespace(model_dump=lambda **options: {"role": "user", "content": [{"type": "text", "text": "b"}]})
    run = host.run("hello")
    run.finish([{"role": "user", "content": "a"}, dumps, SimpleNamespace(role="user", content="c"), 5])
    host._runner.drain(5)
    assert json.loads(host.call_tool("heard").text) == {"heard": ["a", "b", "c"]}
    assert "1 message(s)" in messages(host)


def test_death_of_the_programs_own_thread_is_not_blamed_on_a_plugin(write_plugin, load_host, monkeypatch) -> None:
    code = "def fail(): raise ValueError('inside')\n@hookimpl\ndef register_tools(ctx): return []"
    host = load_host(write_plugin("p", code))
    fail = next(m for name, m in sys.modules.items() if name.startswith("dev_p_")).fail
    watch = host._threads
    seen: list[bool] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(watch.takes(args)))
    thread = threading.Thread(target=lambda: fail())
    thread.start()
    thread.join()
    assert seen == [False]


def test_hook_with_a_typo_names_the_likely_one(write_plugin, load_host) -> None:
    host = load_host(write_plugin("p", "@hookimpl\ndef befor_agent_start(): pass"))
    assert "there is no hook 'befor_agent_start'; did you mean \"before_agent_start\"?" in messages(host)


def test_refusal_without_a_reason_still_says_something(write_plugin, load_host) -> None:
    code = ONE_TOOL + "\n@hookimpl\ndef before_tool_call(): return ToolCallVerdict(block='')\n"
    host = load_host(write_plugin("p", code))
    assert host.call_tool("ping").text == "ping was refused: no reason was given"


def test_optional_second_argument_named_call_is_given(write_plugin, load_host) -> None:
    code = """
    def where(args, call=None): return call.session.id
    def plain(args, verbose=False): return str(verbose)
    @hookimpl
    def register_tools(ctx): return [Tool("where", "x", {}, where), Tool("plain", "x", {}, plain)]
    """
    host = load_host(write_plugin("p", code))
    assert host.call_tool("where", session=Session("main", "s9")).text == "s9"
    assert host.call_tool("plain").text == "False"
