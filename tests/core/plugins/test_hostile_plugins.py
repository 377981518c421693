"""Plugins that do what plugins should not: each is one diagnostic line, and the host goes on."""

from __future__ import annotations

import json
import sys
import threading

import pytest
from memslot import NameClashError, SlotError

GOOD = """
@hookimpl
def register_tools(ctx): return [Tool("ping", "Answer.", {}, lambda args: "pong")]
"""


@pytest.fixture
def good(write_plugin):
    return write_plugin("good", GOOD, provides={"tools": ["ping"]})


def lines(host, plugin_id: str) -> list[str]:
    return [f"{event.stage}: {event.message}" for event in host.diagnostics if event.plugin == plugin_id]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit(7)", "import: its code could not be imported: called sys.exit(7)"),
        ("raise SystemExit", "import: its code could not be imported: called sys.exit(None)"),
        ("1/0", "import: its code could not be imported: ZeroDivisionError: division by zero"),
        ("import not_there_at_all", "No module named 'not_there_at_all'"),
        ("def broken(:", "SyntaxError"),
        ("@hookimpl\ndef register_tools(ctx, wrong): pass", "hooks: PluginValidationError"),
        ("@hookimpl\ndef register_tols(ctx): pass", "there is no hook 'register_tols'"),
        ("@hookimpl\ndef register_tools(ctx): return 5", "register_tools: returned int instead of a list of Tool"),
        ("@hookimpl\ndef register_tools(ctx): return ['x']", "register_tools: returned str instead of Tool"),
        ("@hookimpl\ndef register_tools(ctx): return 'abc'", "returned str instead of a list of Tool"),
        (
            "@hookimpl\ndef register_tools(ctx): return [Tool(f't{i}', 'x', {}, print) for i in range(10_000)]",
            "register_tools: returned more than 100 items; all were ignored",
        ),
        (
            "@hookimpl\ndef register_tools(ctx):\n while True: yield Tool('t', 'x', {}, print)",
            "register_tools: returned more than 100 items; all were ignored",
        ),
        ("@hookimpl\ndef register_tools(ctx): return [Tool('a b', 'x', {}, print)]", "a tool's name must be 1 to 64"),
        (
            "@hookimpl\ndef register_tools(ctx): return [Tool('bad', 'x', {'type': 'objekt'}, print)]",
            "schema must have type object",
        ),
        (
            "@hookimpl\ndef register_embedding_providers(ctx): return [object()]",
            "register_embedding_providers: returned object instead of EmbeddingProviderSpec",
        ),
        (
            "@hookimpl\ndef register_prompt_sections(ctx): return None or 3",
            "returned int instead of a list of PromptSection",
        ),
    ],
)
def test_bad_plugin_is_one_line_and_the_others_work(write_plugin, load_host, good, code: str, said: str) -> None:
    host = load_host(write_plugin("bad", code, provides={"tools": ["bad"]}), good)
    assert "bad" not in {tool.name for tool in host.tools()}
    (line,) = lines(host, "bad")
    assert said in line
    assert host.call_tool("ping").text == "pong"


def test_plugin_that_prints_at_import_does_not_reach_stdout(write_plugin, load_host, good, capsys) -> None:
    host = load_host(write_plugin("loud", 'print(\'{"i am": "in your json"}\')\n' + GOOD.replace("ping", "pang")), good)
    assert capsys.readouterr().out == ""
    assert any("characters at import, which were dropped" in line for line in lines(host, "loud"))
    assert host.call_tool("pang").text == "pong"


def test_thread_that_dies_is_one_line_and_no_stack_trace(write_plugin, load_host, good, capsys) -> None:
    code = """
    import threading
    def die(): raise RuntimeError("in a thread")
    thread = threading.Thread(target=die); thread.start(); thread.join()
    """
    host = load_host(write_plugin("forker", code), good)
    assert "thread: a thread it started died: RuntimeError: in a thread" in lines(host, "forker")
    assert "Traceback" not in capsys.readouterr().err


def test_thread_of_somebody_else_still_reports_as_python_does(load_host, good, monkeypatch) -> None:
    load_host(good)
    seen = []
    hook = threading.excepthook
    monkeypatch.setattr(threading, "excepthook", lambda args: (seen.append(args.exc_type), hook)[1])

    def die() -> None:
        raise RuntimeError("not a plugin")

    thread = threading.Thread(target=die)
    thread.start()
    thread.join()
    assert seen == [RuntimeError]


def test_registration_that_hangs_is_left_behind(write_plugin, load_host, good, monkeypatch) -> None:
    from memslot import hookspecs

    monkeypatch.setattr(hookspecs.register_tools, "memslot_budget", 0.2)
    code = "import threading\nGO_ON = threading.Event()\n@hookimpl\ndef register_tools(ctx): GO_ON.wait(60)"
    host = load_host(write_plugin("stuck", code), good)
    sys.modules["dev_stuck_1"].GO_ON.set()
    assert lines(host, "stuck") == ["register_tools: did not finish within 0.2 s"]
    assert host.call_tool("ping").text == "pong"


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("{not json", "is not valid JSON"),
        ("[]", "must hold one JSON object"),
        ('{"id": "x", "id": "y", "kind": "tool", "name": "n"}', "the key 'id' appears twice"),
        ({"id": "Bad Id!", "kind": "tool", "name": "n"}, "id is"),
        ({"id": "x", "kind": "nonsense", "name": "n"}, "kind is"),
        ({"id": "x", "kind": "tool"}, "name is required"),
        ({"id": "x", "kind": "tool", "name": "n", "nmae": "m"}, 'nmae is not a known key (did you mean "name"?)'),
        ({"id": "x", "kind": "tool", "name": "n", "configSchema": {"type": "objct"}}, "must describe an object"),
        (
            {"id": "x", "kind": "tool", "name": "n", "configSchema": {"properties": {"a": {"type": "strng"}}}},
            "not a valid JSON Schema",
        ),
        (
            {"id": "x", "kind": "tool", "name": "n", "configSchema": {"$ref": "http://127.0.0.1:9/x"}},
            "only references within the schema are allowed",
        ),
        ({"id": "x", "kind": "tool", "name": "n", "provides": {"commands": ["config"]}}, "command of memslot itself"),
        ({"id": "x", "kind": "tool", "name": "n", "provides": {"commands": ["config wipe"]}}, "only to: sessions"),
        ({"id": "x", "kind": "tool", "name": "n", "entry": "os:system"}, "outside its package"),
        ("[" * 100_000, "is not valid JSON"),
        ('{"id": "' + "x" * 300_000, "is larger than 256 KB"),
    ],
)
def test_broken_manifest_is_one_line_and_its_code_never_runs(
    write_plugin, load_host, good, tmp_path, manifest, said: str
) -> None:
    marker = tmp_path / "ran"
    folder = write_plugin("broken", f"open({str(marker)!r}, 'w')", manifest=manifest)
    host = load_host(folder, good, allow=[])
    found = [str(event) for event in host.diagnostics if said in event.message]
    assert len(found) == 1
    assert not marker.exists()
    assert host.call_tool("ping").text == "pong"


def test_settings_that_do_not_fit_are_told_all_at_once_before_the_code_runs(
    write_plugin, load_host, good, tmp_path
) -> None:
    marker = tmp_path / "ran"
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["url"],
        "properties": {
            "url": {"type": "string"},
            "limit": {"type": "integer", "maximum": 9},
            "apiKey": {"type": "integer"},
        },
    }
    folder = write_plugin("picky", f"open({str(marker)!r}, 'w')", configSchema=schema)
    entries = {"picky": {"config": {"limit": 10, "apiKey": "hunter2-hunter2", "limti": 1}}}
    host = load_host(folder, good, entries=entries)
    (line,) = lines(host, "picky")
    for part in (
        "plugins.entries.picky.config.url: is required",
        "plugins.entries.picky.config.limit is 10: must be at most 9",
        "plugins.entries.picky.config.apiKey is ***: must be integer",
        'plugins.entries.picky.config.limti: is not a known key (did you mean "limit"?)',
    ):
        assert part in line
    assert "hunter2" not in line
    assert not marker.exists()
    assert host.call_tool("ping").text == "pong"


def test_defaults_of_the_schema_reach_the_plugin(write_plugin, load_host) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"default": [1]}, "b": {"type": "object", "properties": {"c": {"default": 2}}}},
    }
    code = """
    import json
    @hookimpl
    def register_tools(ctx): return [Tool("show", "Show.", {}, lambda args: json.dumps(ctx.config))]
    """
    host = load_host(write_plugin("d", code, configSchema=schema), entries={"d": {"config": {"b": {}}}})
    assert json.loads(host.call_tool("show").text) == {"a": [1], "b": {"c": 2}}


def test_two_plugins_with_one_tool_name_are_an_error_that_names_both(write_plugin, load_host, good) -> None:
    with pytest.raises(NameClashError, match='good and other both register the tool "ping"'):
        load_host(good, write_plugin("other", GOOD))


def test_two_plugins_with_one_command_are_an_error_that_names_both(write_plugin, load_host) -> None:
    one = write_plugin("one", provides={"commands": ["greet"]})
    two = write_plugin("two", provides={"commands": [{"name": "greet", "help": "Say hello."}]})
    with pytest.raises(NameClashError, match='one and two both register the command "greet"'):
        load_host(one, two)


def test_slot_owner_whose_import_fails_leaves_a_host_without_memory_that_says_why(
    write_plugin, load_host, good
) -> None:
    host = load_host(write_plugin("m", "1/0", kind="memory"), good, slots={"memory": "m"})
    assert host.memory is None
    assert host.memory_problem is not None
    assert "ZeroDivisionError" in host.memory_problem
    assert host.call_tool("ping").text == "pong"
    assert not host.memory_status().is_healthy


def test_slot_owner_that_returns_nonsense_leaves_the_slot_empty(write_plugin, load_host) -> None:
    code = "@hookimpl\ndef register_memory(ctx): return 42"
    host = load_host(write_plugin("m", code, kind="memory"), slots={"memory": "m"})
    assert host.memory is None
    assert lines(host, "m") == ["register_memory: int is not a memory: it lacks search, status, close"]


def test_missing_slot_owner_raises_with_the_command_that_installs_it(load_host, good) -> None:
    with pytest.raises(SlotError, match=r"not installed.*memslot plugins install PACKAGE"):
        load_host(good, slots={"memory": "nowhere"})


def test_unselected_memory_plugin_registers_nothing(write_plugin, load_host, good) -> None:
    code = GOOD.replace("ping", "from_rival") + "\nraise AssertionError('imported')"
    rival = write_plugin("rival", code, kind="memory", provides={"tools": ["from_rival"], "commands": ["rivalry"]})
    host = load_host(rival, good, slots={"memory": "none"})
    assert "rival" not in host.plugins
    assert [tool.name for tool in host.tools()] == ["ping"]
    assert lines(host, "rival") == []
