"""Checks whether a client's tools and hooks work: by running what is configured, and by the client's own check."""

from __future__ import annotations

import json
import queue
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memslot import MemslotError, one_line

from memslot_mcp_server.clients.catalog import Client, Env, HookPlace
from memslot_mcp_server.clients.config_edit import read_config
from memslot_mcp_server.clients.connection import ConfigFile, files_of, has_package
from memslot_mcp_server.clients.draft import Draft
from memslot_mcp_server.clients.server_entry import SERVER, Program, find_entry, program_of
from memslot_mcp_server.hooks.opencode import plugin_program
from memslot_mcp_server.hooks.settings import FoundHook, command_line, find_hooks

SECONDS = 60.0
"""How long a program may take to answer."""
_NO_ANSWER = f"no answer within {SECONDS:g} seconds"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_OWN_LINE = re.compile(rf"\W*(?:plugin:{SERVER}:)?{SERVER}(?=[\s:])")
"""How the line of our server begins, after marks and bullets; another may be named memslot-team."""
_INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "memslot-connect", "version": "1"},
}


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    what: str
    is_ok: bool
    detail: str

    def to_json(self) -> dict[str, Any]:
        tree = asdict(self)
        return {"check": tree["what"], "ok": tree["is_ok"], "detail": tree["detail"]}


def check_client(client: Client, env: Env) -> list[Check]:
    """All checks of one client."""
    program: Program | None = None
    hooks: list[FoundHook] = []
    turned_off = ""
    expected = {"prompt"} if client.plugin is not None else set()
    try:
        for config in files_of(client, project=None, env=env):
            draft = _read(config)
            if config.server is not None:
                entry = find_entry(draft, config.server)
                program = program_of(config.server, entry) if entry is not None else None
            if config.hooks is not None:
                expected = {name for name, _ in config.hooks.events.values()}
                hooks = list(find_hooks(draft, client.id, config.hooks))
                turned_off = _off_switch(draft, config.hooks)
            if config.is_plugin and (caller := plugin_program(draft.text)) is not None:
                hooks = [FoundHook("prompt", command_line(caller, client.id, "prompt"), (), True)]
    except MemslotError as error:
        return [Check("config", False, str(error))]
    if has_package(client, env):
        if program is not None or hooks:
            what = "it has memslot twice, as a package and in its config, so each prompt recalls twice"
            return [Check("config", False, f"{what}; run: memslot connect {client.id} --undo")]
        program = Program("memslot", ("mcp",))
        hooks = [FoundHook(name, f"memslot-hook {client.id} {name}", (), True) for name in expected]
    connect = f"run: memslot connect {client.id}"
    found = [_try_server(program, env) if program else Check("server", False, f"not in its config; {connect}")]
    if expected:
        missing = expected - {hook.name for hook in hooks}
        if turned_off:
            found.append(Check("hooks", False, f"all hooks are turned off, by {turned_off} in its config"))
        elif missing:
            found.append(Check("hooks", False, f"{len(missing)} of {len(expected)} not in its config; {connect}"))
        else:
            found.append(_try_hook(next(hook for hook in hooks if hook.name == "prompt"), env))
    if program is not None and client.program is not None and client.can_list:
        path = shutil.which(client.program, path=env.get("PATH"))
        if path is None:
            found.append(Check("its own check", False, f"{client.program} is not on PATH"))
        else:
            found += _ask_codex(path, env) if client.id == "codex" else [_ask_client(client, path, env)]
    return found


def _read(config: ConfigFile) -> Draft:
    try:
        return read_config(config.file, config.syntax)
    except MemslotError as error:
        raise MemslotError(f"{config.file}: {error}") from None


def _off_switch(draft: Draft, place: HookPlace) -> str:
    """The setting that turns hooks off, if it does."""
    path, off = place.off_switch or ((), None)
    return ".".join(path) if path and draft.get(*path) is off else ""


def _try_server(program: Program, env: Env) -> Check:
    """Start the configured command as a client does, and ask for its tools."""
    started = time.monotonic()
    try:
        with _talk([program.command, *program.args], {**env, **program.env}) as talk:
            talk.ask("initialize", _INITIALIZE)
            talk.tell("notifications/initialized")
            tools = [tool["name"] for tool in talk.ask("tools/list", {})["tools"]]
    except (OSError, MemslotError, KeyError, TypeError) as error:
        return Check("server", False, f"{program.command} does not answer ({one_line(str(error))})")
    if not tools:
        return Check("server", False, "it starts, but has no tools")
    return Check("server", True, f"{len(tools)} tools in {time.monotonic() - started:.1f} s: {', '.join(tools)}")


def _try_hook(hook: FoundHook, env: Env) -> Check:
    """Call a hook as the agent does, with a prompt that recalls nothing."""
    payload = json.dumps({"session_id": "memslot-connect-check", "hook_event_name": "check", "prompt": ""})
    try:
        done = subprocess.run(
            hook.command, shell=True, input=payload, env=dict(env), capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return Check("hooks", False, _NO_ANSWER)
    except OSError as error:
        return Check("hooks", False, f"the command cannot be run ({one_line(str(error))})")
    said = one_line(done.stderr)[:200]
    if done.returncode:
        return Check("hooks", False, f"exit code {done.returncode}: {said or hook.command}")
    return Check("hooks", not said, said or f"{hook.command.split()[-1]} answers")


def _ask_client(client: Client, path: str, env: Env) -> Check:
    """What `PROGRAM mcp list` says about memslot; other servers' lines are not shown."""
    what = f"{client.program} mcp list"
    try:
        done = subprocess.run(
            [path, "mcp", "list"],
            env={**env, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Check(what, False, _NO_ANSWER)
    except OSError as error:
        return Check(what, False, one_line(str(error)))
    lines = [one_line(_COLOUR.sub("", line)).strip() for line in (done.stdout + done.stderr).splitlines()]
    about = next((line for line in lines if _OWN_LINE.match(line)), "it does not know memslot")
    if re.search(r"\bconnected\b", about, re.IGNORECASE) and not re.search(r"\bnot connected", about, re.IGNORECASE):
        return Check(what, True, "connected")
    # Only lines about us, or about this folder: other servers' lines may contain keys.
    why = next((f"; {line}" for line in lines if "untrusted" in line), "")
    return Check(what, False, (about + why)[:300])


def _ask_codex(path: str, env: Env) -> Iterator[Check]:
    """Ask Codex's app server, which knows the tools and which hooks are trusted: `codex mcp list` starts no server."""
    try:
        with _talk([path, "app-server"], env) as talk:
            talk.ask("initialize", {"clientInfo": _INITIALIZE["clientInfo"]})
            talk.tell("initialized")
            servers = talk.ask("mcpServerStatus/list", {})["data"]
            tools = next((server["tools"] for server in servers if server["name"] == SERVER), None)
            hooks = [
                hook for each in talk.ask("hooks/list", {"cwds": [str(Path.cwd())]})["data"] for hook in each["hooks"]
            ]
    except (OSError, MemslotError, KeyError, TypeError) as error:
        yield Check("codex app-server", False, one_line(str(error)))
        return
    if tools is None:
        yield Check("codex app-server", False, "it does not know the server")
    else:
        yield Check("codex app-server", bool(tools), f"{len(tools)} tools")
    ours = [hook for hook in hooks if "memslot" in str(hook.get("command"))]
    waiting = [hook for hook in ours if hook.get("trustStatus") not in ("trusted", "managed")]
    if not ours:
        yield Check("codex hooks", False, "it does not know the hooks")
    elif waiting:
        yield Check(
            "codex hooks", False, f"{len(waiting)} of {len(ours)} wait for your review; start codex and trust them"
        )
    else:
        yield Check("codex hooks", True, f"{len(ours)} trusted")


class _Talk:
    """JSON-RPC with a program over its stdin and stdout."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._number = 0
        self._deadline = time.monotonic() + SECONDS
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            try:
                answer = self._answers.get(timeout=max(0.0, self._deadline - time.monotonic()))
            except queue.Empty:
                raise MemslotError(f"no answer to {method} within {SECONDS:g} seconds") from None
            if answer is None:
                raise MemslotError(f"it ended before it answered {method}")
            if answer.get("id") == self._number and "method" not in answer:
                if (error := answer.get("error")) is not None:
                    raise MemslotError(f"{method}: {error.get('message') if isinstance(error, dict) else error}")
                return answer["result"]

    def tell(self, method: str) -> None:
        self._send({"method": method})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict):
                self._answers.put(answer)
        self._answers.put(None)


@contextmanager
def _talk(command: Sequence[str], env: Env) -> Iterator[_Talk]:
    process = subprocess.Popen(
        command, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield _Talk(process)
    finally:
        assert process.stdin is not None
        try:
            process.stdin.close()
            process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
