"""A host with notes, and a plugin in it that writes down what it hears."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memslot import Host, Message, RunInfo, Session, Tool, hookimpl
from memslot.testing import HostOpener, InlinePlugin

PRIVATE = "Ana likes mango in the morning."
SHARED = "The orchid stands in the hall."
QUIET = {"watch": False, "onSearch": False, "onSessionStart": False}


class Ear:
    """Hooks that hear everything, and tools that are slow, broken or for groups only."""

    def __init__(self) -> None:
        self.ends: list[dict[str, Any]] = []
        self.calls: list[tuple[str, str, str]] = []
        self.sessions: list[tuple[str, str]] = []
        self.gate = threading.Event()
        self.gate.set()

    @hookimpl
    def register_tools(self) -> list[Tool]:
        def wait(args: dict[str, Any]) -> str:
            self.gate.wait(30)
            return f"waited for {args['name']}"

        def fail(args: dict[str, Any]) -> str:
            raise ValueError("it is broken")

        name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        closed = {**name, "additionalProperties": False}
        odd = {"type": "object", "properties": {each: {"type": "string"} for each in ("config", "self", "run_manager")}}
        return [
            Tool("wait", "Waits.", closed, wait, read_only=True),
            Tool("fail", "Fails.", name, fail),
            Tool("odd", "Takes arguments with odd names.", odd, lambda args: dict(args)),
            Tool("raise_hand", "For groups.", {"type": "object"}, lambda args: "raised", chat_types=("group",)),
        ]

    @hookimpl
    def session_start(self, session: Session) -> None:
        self.sessions.append((session.id, session.chat_type))

    @hookimpl
    def before_tool_call(self, run: RunInfo, tool: str) -> None:
        self.calls.append((run.prompt, run.session.id, tool))

    @hookimpl
    def agent_end(self, run: RunInfo, messages: tuple[Message, ...], success: bool, error: str | None) -> None:
        told = {"prompt": run.prompt, "session": run.session.id, "success": success, "error": error}
        self.ends.append({**told, "messages": [dict(message) for message in messages]})


OpenHost = Callable[..., Host]


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def open_host(memslot_host: HostOpener, memslot_home: Path, ear: Ear) -> OpenHost:
    """Opens hosts over the notes; by keywords only unless told, since that needs no model."""
    workspace = memslot_home / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text(f"{PRIVATE}\n", encoding="utf-8")
    (workspace / "memory" / "house.md").write_text(f"{SHARED}\n", encoding="utf-8")

    def open_one(*plugins: str, provider: str = "none", **options: Any) -> Host:
        search = {"provider": provider, "sync": QUIET}
        host = memslot_host(
            *(plugins or ("memory-core",)),
            InlinePlugin(ear, id="ear", manifest={"provides": {"tools": ["wait", "fail", "odd", "raise_hand"]}}),
            config={"agents": {"defaults": {"memorySearch": search}}},
            strict=False,
            **options,
        )
        sync = getattr(host.memory, "sync", None)
        if sync is not None:
            sync()
        return host

    return open_one


@pytest.fixture
def host(open_host: OpenHost) -> Host:
    return open_host()
