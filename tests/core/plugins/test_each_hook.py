"""Every hook, through the true door: called, with its arguments, and its answer used."""

from __future__ import annotations

import sys

import pytest
from memslot import Session


def test_hook_register_tools_gives_a_tool_to_the_agent(write_plugin, load_host) -> None:
    folder = write_plugin(
        "t",
        """
        @hookimpl
        def register_tools(ctx):
            def shout(args): return args["text"].upper() + ctx.plugin_id
            schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
            return [Tool("shout", "Shout a text.", schema, shout)]
        """,
        provides={"tools": ["shout"]},
    )
    host = load_host(folder)
    assert host.call_tool("shout", {"text": "hi "}).text == "HI t"
    assert host.tool_owner("shout") == "t"


def test_hook_register_commands_gives_a_command_when_it_is_asked_for(write_plugin, load_host) -> None:
    folder = write_plugin(
        "c",
        """
        import click
        @hookimpl
        def register_commands(ctx, cli):
            @cli.command("greet")
            def greet(): click.echo("hello from " + ctx.plugin_id)
        """,
        kind="app",
        provides={"commands": ["greet"]},
    )
    from click.testing import CliRunner

    command = load_host(folder).plugin_commands("c")["greet"]
    assert CliRunner().invoke(command, []).output == "hello from c\n"


def test_hook_register_embedding_providers_makes_a_provider_selectable(write_plugin, load_host) -> None:
    folder = write_plugin(
        "e",
        """
        class Ones:
            id, model, dims, max_input_tokens = "ones", "ones-1", 4, 100
            def embed_query(self, text): return [1.0] * 4
            def embed_documents(self, texts): return [self.embed_query(t) for t in texts]
        @hookimpl
        def register_embedding_providers(ctx):
            return [EmbeddingProviderSpec("ones", lambda options: Ones(), auto_order=5)]
        """,
        kind="embedder",
        provides={"providers": ["ones"]},
    )
    selection = load_host(folder).select_embedder()
    assert selection.provider is not None
    assert selection.provider.model == "ones-1"


def test_hook_register_memory_fills_the_slot(write_plugin, load_host) -> None:
    folder = write_plugin(
        "m",
        """
        class Mem:
            def search(self, query, *, max_results=None):
                return MemorySearchOutcome([MemoryHit("a.md", 1.0, query)], mode="echo")
            def status(self): return MemoryStatus("echo")
            def close(self): pass
        @hookimpl
        def register_memory(ctx): return Mem()
        """,
        kind="memory",
    )
    host = load_host(folder, slots={"memory": "m"})
    assert host.memory_owner == "m"
    assert host.memory is not None
    assert host.memory.search("q").hits[0].snippet == "q"


def test_hook_register_prompt_sections_adds_to_the_system_prompt(write_plugin, load_host) -> None:
    folder = write_plugin(
        "p",
        """
        @hookimpl
        def register_prompt_sections(ctx):
            return [PromptSection("House rules", "Be kind."), PromptSection("Who", lambda run: run.prompt)]
        """,
    )
    with load_host(folder).run("me", system_prompt="You are a bot.") as run:
        assert run.system_prompt == "You are a bot.\n\n## House rules\nBe kind.\n\n## Who\nme"


RECORDER = """
SEEN = []
@hookimpl
def session_start(session): SEEN.append(("session_start", session.id))
@hookimpl
async def before_agent_start(run, messages):
    SEEN.append(("before_agent_start", run.prompt, len(messages)))
    return AgentStart(prepend_context="remember this", system_prompt="own prompt")
@hookimpl
def before_tool_call(tool, args):
    SEEN.append(("before_tool_call", tool, dict(args)))
    return ToolCallVerdict(args={"n": args["n"] + 1})
@hookimpl
def after_tool_call(tool, args, result, duration_seconds):
    SEEN.append(("after_tool_call", tool, dict(args), result.text, duration_seconds >= 0))
@hookimpl
def agent_end(run, messages, success, error):
    SEEN.append(("agent_end", run.prompt, [m["content"] for m in messages], success, error))
@hookimpl
def before_compaction(session, messages, tokens): SEEN.append(("before_compaction", session.id, tokens))
@hookimpl
def session_end(session): SEEN.append(("session_end", session.id))
@hookimpl
def register_tools(ctx):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return [Tool("double", "Double n.", schema, lambda args: str(args["n"] * 2))]
"""


@pytest.fixture
def heard(write_plugin, load_host) -> list[list[object]]:
    """What a plugin with every lifecycle hook heard of one conversation."""
    folder = write_plugin("r", RECORDER, provides={"tools": ["double"]})
    host = load_host(folder)
    with host.run("hello", session="s1", messages=[{"role": "user", "content": "before"}]) as run:
        assert run.context == "remember this"
        assert run.system_prompt == "own prompt"
        assert run.call_tool("double", {"n": 4}).text == "10"
        run.finish([{"role": "assistant", "content": "bye"}])
    host.before_compaction(Session(host.agent_id, "s1"), [], 123)
    host.end_session("s1")
    host.close()
    module = next(module for name, module in sys.modules.items() if name.startswith("dev_r_"))
    return [list(item) for item in module.SEEN]


def test_hook_session_start_is_called_once_with_the_session(heard) -> None:
    assert [e for e in heard if e[0] == "session_start"] == [["session_start", "s1"]]


def test_hook_before_agent_start_sees_prompt_and_messages(heard) -> None:
    assert ["before_agent_start", "hello", 1] in heard


def test_hook_before_tool_call_sees_the_arguments_and_can_change_them(heard) -> None:
    assert ["before_tool_call", "double", {"n": 4}] in heard


def test_hook_after_tool_call_sees_the_result(heard) -> None:
    assert ["after_tool_call", "double", {"n": 5}, "10", True] in heard


def test_hook_agent_end_gets_the_messages_after_the_tool_calls(heard) -> None:
    ended = ["agent_end", "hello", ["bye"], True, None]
    assert ended in heard
    assert heard.index(ended) > [e[0] for e in heard].index("after_tool_call")


def test_hook_before_compaction_hears_of_the_tokens(heard) -> None:
    assert ["before_compaction", "s1", 123] in heard


def test_hook_session_end_comes_last(heard) -> None:
    assert heard[-1] == ["session_end", "s1"]


def test_what_a_plugin_reports_is_in_the_diagnostics(write_plugin, load_host) -> None:
    code = """
    @hookimpl
    def before_agent_start(ctx):
        ctx.report("recall", "the store at key sk-abcdefghijklmnop12345678 did not answer")
    """
    host = load_host(write_plugin("teller", code))
    with host.run("hello there"):
        pass
    (event,) = [event for event in host.diagnostics if event.plugin == "teller"]
    assert (event.stage, event.level) == ("recall", "warning")
    assert event.message == "the store at key [redacted] did not answer"
