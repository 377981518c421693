"""What a coding agent's hooks get and give; whatever they send, the agent goes on."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import AgentStart, fence, hookimpl, strip_recalled
from memslot.testing import HostOpener, InlinePlugin
from memslot_mcp_server.hooks import transcript
from memslot_mcp_server.hooks.events import at_session_start, before_prompt
from memslot_mcp_server.hooks.payload import MAX_BYTES, Payload, PayloadError, read_payload
from memslot_mcp_server.hooks.transcript import last_turn

from tests.plugins.mcp_server.conftest import World

START = {"session_id": "a1", "transcript_path": "/none.jsonl", "hook_event_name": "SessionStart", "source": "startup"}
PROMPT = {"session_id": "a1", "hook_event_name": "UserPromptSubmit", "prompt": "which database has the harbour API?"}


def line(kind: str, content: Any, **more: Any) -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": content}, "uuid": "u", **more}) + "\n"


CONVERSATION = (
    json.dumps({"type": "summary", "summary": "Earlier"})
    + "\n"
    + line("user", "An older question")
    + line("assistant", [{"type": "text", "text": "An older answer"}])
    + line("user", "<relevant-memories>\nold\n</relevant-memories>\nRemember that I like tea.")
    + line("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I will look."}])
    + line("assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}])
    + line("user", [{"type": "tool_result", "tool_use_id": "t", "content": "secret output"}])
    + line("assistant", [{"type": "text", "text": "of a helper"}], isSidechain=True)
    + line("user", "Caveat: the messages below were generated", isMeta=True)
    + line("user", "<command-name>/cost</command-name>")
    + line("assistant", [{"type": "text", "text": "Noted."}])
    + '{"type": "assistant", "message": {"ro'
)
TURN = [
    {"role": "user", "content": "Remember that I like tea."},
    {"role": "assistant", "content": "I will look."},
    {"role": "assistant", "content": "Noted."},
]


class Recorder:
    """A host that notes how long plugins may take."""

    agent_id, plugins, context = "main", ("memory-core",), ""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def run(self, prompt: str, *, recall_seconds: float, session: object = None) -> Recorder:
        self.seconds.append(recall_seconds)
        return self

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(("left", "seconds"), [(8.0, [2.5, 4.5, 7.0]), (3.0, [1.0, 2.5, 2.5]), (0.2, [0.1, 0.1, 0.1])])
def test_plugins_have_only_the_time_that_loading_them_has_left(left: float, seconds: list[float]) -> None:
    host: Any = Recorder()
    before_prompt(host, Payload("s", "which database?"), lambda: left)
    at_session_start(host, Payload("s", ""), lambda: left)
    assert host.seconds == seconds


class TestTranscript:
    def test_gives_the_last_turn_and_only_what_was_said(self, tmp_path: Path) -> None:
        file = tmp_path / "a.jsonl"
        file.write_text(CONVERSATION, encoding="utf-8")

        assert last_turn(file) == TURN

    def test_finds_a_turn_longer_than_the_first_look(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transcript, "FIRST_BYTES", 64)
        file = tmp_path / "a.jsonl"
        file.write_text(CONVERSATION, encoding="utf-8")

        assert last_turn(file) == TURN

    @pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[]\n7\nnull\n", b'{"type": "user"}\n', b"{" * 100_000])
    def test_of_another_shape_gives_nothing(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "a.jsonl"
        file.write_bytes(content)

        assert last_turn(file) == []

    def test_that_is_no_file_gives_nothing(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")

        for client in ("claude-code", "opencode"):
            found = [last_turn(tmp_path / name, client, "ses_1") for name in ("none", "pipe", "", "x" * 300)]
            assert found == [[]] * 4


def codex(role: str, text: str, **more: Any) -> str:
    kind = "input_text" if role == "user" else "output_text"
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return json.dumps({"timestamp": "2026-11-18T15:25:44Z", "type": "response_item", "payload": payload, **more}) + "\n"


def gemini(kind: str, text: str, key: str) -> str:
    return json.dumps({"id": key, "type": kind, "content": [{"text": text}]}) + "\n"


def qwen(kind: str, text: str, key: str) -> str:
    message = {"role": kind, "parts": [{"text": text}]}
    return json.dumps({"uuid": key, "sessionId": "s", "type": kind, "message": message}) + "\n"


RECALLED = "<relevant-memories>\nold\n</relevant-memories>\n"
OTHERS = {
    "codex": codex("user", "An older question")
    + codex("assistant", "An older answer")
    + codex("developer", RECALLED)
    + codex("user", "Remember that I like tea.")
    + codex("assistant", "I will look.")
    + json.dumps({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{}"}})
    + "\n"
    + codex("assistant", "A summary.")
    + json.dumps({"type": "compacted", "payload": {"message": "It said:\nA summary."}})
    + "\n"
    + codex("assistant", "Noted.")
    + '{"type": "response_',
    "gemini": gemini("user", "An older question", "1")
    + gemini("gemini", "An older answer", "2")
    + gemini("user", "<hook_context>old</hook_context>\n\nRemember that I like tea.", "3")
    + gemini("gemini", "", "4")
    + gemini("gemini", "I will look.", "4")
    + gemini("info", "a notice", "5")
    + gemini("gemini", "Noted.", "6")
    + '{"$set": {"lastUpda',
    "qwen": qwen("user", "An older question", "1")
    + qwen("assistant", "An older answer", "2")
    + qwen("user", "Remember that I like tea.", "3")
    + qwen("assistant", "I will look.", "4")
    + qwen("tool_result", "secret output", "5")
    + qwen("assistant", "Noted.", "6")
    + '{"uuid": "7", "typ',
}


@pytest.mark.parametrize("client", list(OTHERS))
class TestOtherTranscripts:
    def test_give_the_last_turn_and_only_what_was_said(self, tmp_path: Path, client: str) -> None:
        (tmp_path / "a.jsonl").write_text(OTHERS[client], encoding="utf-8")

        assert last_turn(tmp_path / "a.jsonl", client) == TURN

    def test_give_a_turn_longer_than_the_first_look(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
    ) -> None:
        monkeypatch.setattr(transcript, "FIRST_BYTES", 64)
        (tmp_path / "a.jsonl").write_text(OTHERS[client], encoding="utf-8")

        assert last_turn(tmp_path / "a.jsonl", client) == TURN

    @pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[]\n7\n", b'{"id": "1", "type": 7}\n', b"{" * 9999])
    def test_of_another_shape_give_nothing(self, tmp_path: Path, client: str, content: bytes) -> None:
        (tmp_path / "a.jsonl").write_bytes(content)

        assert last_turn(tmp_path / "a.jsonl", client) == []


class TestPayload:
    def test_is_read(self) -> None:
        sent = {**PROMPT, "transcript_path": "/x/a.jsonl", "stop_hook_active": True, "last_assistant_message": "Done."}

        found = read_payload(io.BytesIO(json.dumps(sent).encode()))

        prompt = "which database has the harbour API?"
        assert found == Payload("claude-code-a1", prompt, Path("/x/a.jsonl"), "Done.", True, "claude-code", "a1")

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"{",
            b"[]",
            b"7",
            b"\xff",
            b"{}",
            b'{"session_id": 7}',
            b'{"session_id": "a", "prompt": []}',
            b'{"session_id": "a", "transcript_path": 7}',
            b"[" * 100_000,
        ],
        ids=lambda data: repr(data[:20]),
    )
    def test_that_is_none_is_refused(self, data: bytes) -> None:
        with pytest.raises(PayloadError):
            read_payload(io.BytesIO(data))

    def test_of_gemini_cli_has_its_own_names(self) -> None:
        prompt = "<hook_context>We decided on PostgreSQL.</hook_context>\n\nwhich database?"
        sent = {"session_id": "a1", "prompt": prompt, "prompt_response": "PostgreSQL.", "trigger": "auto"}

        found = read_payload(io.BytesIO(json.dumps(sent).encode()), "gemini")

        assert (found.session_id, found.prompt, found.last_reply) == ("gemini-a1", "which database?", "PostgreSQL.")

    @pytest.mark.parametrize("path", ["~nobody-of-that-name/x", "a\0b", "", None])
    def test_may_name_a_transcript_that_cannot_be(self, path: str | None) -> None:
        found = read_payload(io.BytesIO(json.dumps({"session_id": "a", "transcript_path": path}).encode()))

        assert found.transcript is None

    def test_of_50_mb_is_refused(self) -> None:
        with pytest.raises(PayloadError, match="MB"):
            read_payload(io.BytesIO(b" " * (MAX_BYTES + 1)))

    @given(st.text(min_size=1))
    def test_any_session_id_becomes_one_that_fits_in_a_file_name(self, given_id: str) -> None:
        found = read_payload(io.BytesIO(json.dumps({"session_id": given_id}).encode()))

        assert set(found.session_id) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        assert len(found.session_id) < 120


@pytest.mark.parametrize("prompt", ["", "  ", "/clear", "/memory postgresql harbour"])
def test_what_is_no_question_recalls_nothing(tmp_path: Path, prompt: str) -> None:
    with HostOpener(tmp_path) as open_host:
        assert before_prompt(open_host(InlinePlugin(Chatty())), Payload("s", prompt)) is None


def test_a_question_may_begin_with_a_path(tmp_path: Path) -> None:
    with HostOpener(tmp_path) as open_host:
        assert before_prompt(open_host(InlinePlugin(Chatty("words"))), Payload("s", "/etc/hosts is wrong, why?"))


def test_the_context_stays_within_what_claude_code_takes(tmp_path: Path) -> None:
    with HostOpener(tmp_path) as open_host:
        found = before_prompt(open_host(InlinePlugin(Chatty())), Payload("s", "which database?"))

    assert found is not None
    assert 9_000 < len(found["hookSpecificOutput"]["additionalContext"]) < 10_000


def test_a_fence_that_is_cut_is_closed_again(tmp_path: Path) -> None:
    """Else whatever follows it would be taken for recalled, and stripped."""
    with HostOpener(tmp_path) as open_host:
        chatty = Chatty(fence(["ships " * 10_000], max_chars=20_000))
        found = before_prompt(open_host(InlinePlugin(chatty)), Payload("s", "which database?"))

    assert found is not None
    context = found["hookSpecificOutput"]["additionalContext"]
    assert 9_000 < len(context) < 10_000
    assert strip_recalled(f"{context}\n\nMy own words.") == "My own words."


class Chatty:
    """A plugin that has much to say about everything."""

    def __init__(self, context: str = "words " * 10_000) -> None:
        self._context = context

    @hookimpl
    def before_agent_start(self) -> AgentStart:
        return AgentStart(prepend_context=self._context)


class TestCommands:
    def hook(self, world: World, event: str, payload: Any) -> tuple[str, str]:
        text = payload if isinstance(payload, bytes) else json.dumps(payload)
        done = world.hook("claude-code", event, text)
        assert done.returncode == 0
        return done.stdout, done.stderr

    def test_the_start_gives_the_notes(self, world: World) -> None:
        out, _ = self.hook(world, "session-start", START)

        answer = json.loads(out)["hookSpecificOutput"]
        assert answer["hookEventName"] == "SessionStart"
        assert "We decided on PostgreSQL" in answer["additionalContext"]

    def test_a_prompt_recalls_what_fits_and_not_the_beginning_again(self, world: World) -> None:
        (world.workspace / "MEMORY.md").write_text(
            "# Drinks\nTea, never coffee.\n\n# Harbour\n"
            + "Ships. " * 300
            + "\n\n# API\nThe harbour API has PostgreSQL as its database.\n",
            encoding="utf-8",
        )
        self.hook(world, "stop", {"session_id": "a1"})
        world.run("memory", "index")

        out, _ = self.hook(world, "prompt", PROMPT)

        answer = json.loads(out)["hookSpecificOutput"]
        assert answer["hookEventName"] == "UserPromptSubmit"
        assert "PostgreSQL" in answer["additionalContext"]
        assert "never coffee" not in answer["additionalContext"]

    def test_the_end_of_a_turn_is_told_to_plugins(self, world: World) -> None:
        file = world.folder / "conversation.jsonl"
        file.write_text(CONVERSATION, encoding="utf-8")
        payload = {"session_id": "a1", "hook_event_name": "Stop", "transcript_path": str(file)}

        out, _ = self.hook(world, "stop", payload)
        self.hook(world, "stop", {**payload, "stop_hook_active": True})

        assert out == ""
        ended = [json.loads(each) for each in (world.home / "ended.jsonl").read_text(encoding="utf-8").splitlines()]
        assert ended == [{"session": "claude-code-a1", "messages": TURN, "success": True}]

    @pytest.mark.parametrize("client", list(OTHERS))
    def test_other_agents_turns_are_told_too(self, world: World, client: str) -> None:
        file = world.folder / "conversation.jsonl"
        file.write_text(OTHERS[client], encoding="utf-8")
        payload = {"session_id": "a1", "transcript_path": str(file), "last_assistant_message": "Noted."}

        done = world.hook(client, "stop", json.dumps(payload))

        assert (done.returncode, done.stdout) == (0, "")
        assert self.ended(world) == [{"session": f"{client}-a1", "messages": TURN, "success": True}]

    def test_a_turn_that_is_written_down_late_is_waited_for(self, world: World) -> None:
        file = world.folder / "conversation.jsonl"
        file.write_text(line("user", "An older question") + line("assistant", "An older answer"), encoding="utf-8")
        payload = {"session_id": "a1", "transcript_path": str(file), "last_assistant_message": "Noted."}
        process = world.start("hook", "claude-code", "stop")

        def write_late() -> None:
            with file.open("a", encoding="utf-8") as late:
                late.write(line("user", "Remember that I like tea.") + line("assistant", "Noted."))

        late = threading.Timer(1.0, write_late)
        late.start()
        process.communicate(json.dumps(payload).encode(), timeout=60)

        said = [message["content"] for each in self.ended(world) for message in each["messages"]]
        assert said == ["Remember that I like tea.", "Noted."]

    def test_a_compaction_captures_the_turn_so_far(self, world: World) -> None:
        file = world.folder / "conversation.jsonl"
        file.write_text(CONVERSATION, encoding="utf-8")
        payload = {"session_id": "a1", "transcript_path": str(file), "trigger": "auto"}

        self.hook(world, "pre-compact", payload)
        world.run("hook", "gemini", "pre-compact", stdin=json.dumps(payload))  # it says so before every request

        assert self.ended(world) == [{"session": "claude-code-a1", "messages": TURN, "success": True}]

    @pytest.mark.parametrize("words", [("emacs", "prompt"), ("codex", "typed"), ("emacs",)])
    def test_an_agent_or_event_that_is_not_known_is_one_line_and_no_failure(
        self, world: World, words: tuple[str, ...]
    ) -> None:
        """Exit code 2 would stop the agent."""
        done = world.run("hook", *words, stdin=json.dumps(PROMPT))

        assert (done.returncode, done.stdout) == (0, "")
        said = [each for each in done.stderr.splitlines() if not each.startswith("Warning: odd")]
        assert len(said) == 1
        assert "not a known" in said[0]
        assert "nothing was done" in said[0]

    @pytest.mark.parametrize("words", [(), ("claude-code",), ("claude-code", "stop", "now"), ("--loud",), ("--agent",)])
    def test_a_command_that_was_written_wrong_stops_no_agent(self, world: World, words: tuple[str, ...]) -> None:
        """Exit code 2 would make Claude Code drop the prompt, or go on without end at a stop."""
        command = [sys.executable, "-m", "memslot_mcp_server.hook_client", *words]
        done = subprocess.run(command, env=world.env, input="{}", capture_output=True, text=True, timeout=60)

        assert done.returncode == 1
        assert "Usage:" in done.stderr

    def ended(self, world: World) -> list[dict[str, Any]]:
        return [json.loads(each) for each in (world.home / "ended.jsonl").read_text(encoding="utf-8").splitlines()]

    def test_what_was_noted_in_a_turn_is_found_after_it(self, world: World) -> None:
        """Without any server, the hooks alone keep the index up to date."""
        self.hook(world, "prompt", PROMPT)
        for number in range(30):
            file = world.workspace / "memory" / f"note-{number}.md"
            file.write_text(f"The lighthouse keeper has {number} parrots.\n" * 50, encoding="utf-8")
        (world.workspace / "memory" / "walrus.md").write_text("A walrus sleeps on the pier.\n", encoding="utf-8")

        self.hook(world, "stop", {"session_id": "a1"})
        out, _ = self.hook(world, "prompt", {**PROMPT, "prompt": "where does the walrus sleep?"})

        assert "on the pier" in json.loads(out)["hookSpecificOutput"]["additionalContext"]

    @pytest.mark.parametrize("event", ["session-start", "prompt", "stop", "pre-compact", "session-end"])
    def test_a_malformed_payload_holds_nobody_up(self, world: World, event: str) -> None:
        out, err = self.hook(world, event, b'{"session_id": "a1", "prompt": ')

        assert out == ""
        assert "not JSON" in err
        assert "Traceback" not in err

    @pytest.mark.parametrize("program", ["-m memslot hook", "-m memslot_mcp_server.hook_client"])
    @pytest.mark.parametrize("streams", ["<&-", ">&-", ">/dev/full"])
    def test_a_stream_that_is_closed_holds_nobody_up(self, world: World, program: str, streams: str) -> None:
        done = subprocess.run(
            f"{shlex.quote(sys.executable)} {program} claude-code prompt {streams}",
            shell=True,
            env=world.env,
            cwd=world.folder / "project",
            input=json.dumps(PROMPT).encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )

        said = [line for line in done.stderr.decode().splitlines() if not line.startswith("Warning: odd")]
        assert done.returncode == 0, said
        assert len(said) == (0 if streams == ">&-" else 1), said

    def test_a_folder_that_was_removed_holds_nobody_up(self, world: World) -> None:
        """Such as a git worktree in which the agent still runs."""
        folder = world.folder / "worktree"
        folder.mkdir()
        done = subprocess.run(
            f"rmdir {shlex.quote(str(folder))} && {shlex.quote(sys.executable)} -m memslot_mcp_server.hook_client"
            " codex session-end",
            shell=True,
            env=world.env,
            cwd=folder,
            input=json.dumps(START).encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )

        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def test_a_broken_config_is_a_failure_that_blocks_nothing(self, world: World) -> None:
        """Claude Code takes the exit code 2 alone as an order to stop."""
        (world.home / "memslot.json5").write_text("{ plugins: ", encoding="utf-8")

        done = world.run("hook", "claude-code", "prompt", stdin=json.dumps(PROMPT))

        assert done.returncode in (0, 1)
        assert done.stdout == ""
        assert done.stderr
