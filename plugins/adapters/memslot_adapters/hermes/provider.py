"""Hermes' MemoryProvider over a host."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from agent.memory_provider import MemoryProvider  # type: ignore[import-not-found]
from memslot import AgentRun, CanRemember, Host, MemslotError, Session, count_tokens, strip_recalled

from memslot_adapters.memory_run import assistant_message, user_message
from memslot_adapters.tools import ChatType

_CHAT_TYPES: dict[str, ChatType] = {"": "direct", "dm": "direct", "channel": "channel"}
"""Hermes' chat types and ours; any other has an audience, too."""


class MemslotProvider(MemoryProvider):  # type: ignore[misc]
    """The memory of memslot's default agent, or of a given host, for Hermes.

    Hermes calls it from several threads. It requests the tools before it names the conversation.
    """

    def __init__(self, host: Host | None = None) -> None:
        self._given = host
        self._loaded: Host | None = None
        self._session: Session | None = None
        self._run: AgentRun | None = None
        self._captures = True
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        return "memslot"

    @property
    def host(self) -> Host:
        """The host, loaded on first use."""
        with self._lock:
            if self._given is not None:
                return self._given
            if self._loaded is None:
                self._loaded = Host.load()
            return self._loaded

    def is_available(self) -> bool:
        """Whether memslot can be loaded: its config is right, and a memory is in the slot."""
        try:
            return self.host.memory is not None
        except MemslotError:
            return False

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        chat_type = _CHAT_TYPES.get(str(kwargs.get("chat_type") or ""), "group")
        self._session = Session(self.host.agent_id, session_id, chat_type)
        # Prompts of timers and sub-agents are not from the user.
        self._captures = kwargs.get("agent_context", "primary") == "primary"

    def system_prompt_block(self) -> str:
        return self.host.system_prompt(self._place.chat_type)

    @property
    def _place(self) -> Session:
        if self._session is None:
            self._session = Session(self.host.agent_id)
        return self._session

    # Turns

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """What is recalled for a prompt; Hermes puts it after the prompt."""
        self._end_run(None)
        run = self.host.run(query, session=self._place)
        with self._lock:
            self._run = run
        return run.context

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Let plugins capture what was said; it is on disk when this returns."""
        said = [user_message(strip_recalled(user_content))]
        if assistant_content:
            said.append(assistant_message(assistant_content))
        self._end_run(said)

    def _end_run(self, said: Sequence[Mapping[str, Any]] | None) -> None:
        """End the run in progress with its messages, or as interrupted."""
        with self._lock:
            run, self._run = self._run, None
        if said is None:
            if run is not None:
                run.finish(success=False, error="it was interrupted")
            return
        if run is None:  # recall took too long for Hermes, or there was none; an empty prompt recalls nothing
            run = self.host.run("", session=self._place)
        run.finish(said if self._captures else (), durable=self._captures)

    # Tools

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        tools = self.host.tools(self._place.chat_type)
        return [{"name": tool.name, "description": tool.description, "parameters": tool.schema} for tool in tools]

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any], **kwargs: Any) -> str:
        with self._lock:
            run = self._run
        result = run.call_tool(tool_name, args) if run is not None else self._call(tool_name, args)
        return result.text if _is_json(result.text) else json.dumps({_KEYS[result.is_error]: result.text})

    def _call(self, name: str, args: Mapping[str, Any]) -> Any:
        return self.host.call_tool(name, args, session=self._place)

    # Other events

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        before = self._place
        self._end_run(None)
        if reset:
            self.host.end_session(before)
        self._session = Session(before.agent_id, new_session_id, before.chat_type)

    def on_session_end(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self._end_run(None)
        self.host.end_session(self._place)

    def on_pre_compress(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Call `before_compaction`; plugins add nothing to the summary."""
        self.host.before_compaction(self._place, messages, count_tokens(messages))
        return ""

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Remember what Hermes' own memory tool wrote. What it removes stays here."""
        if action not in ("add", "replace") or not content.strip() or not self._captures:
            return
        if self._place.is_private and self.host.memories.first(CanRemember) is not None:
            about = "About the user: " if target == "user" else ""
            self.host.memories.remember(f"{about}{content}", session=self._place)

    def backup_paths(self) -> list[str]:
        """The notes and transcripts, for `hermes backup`."""
        host = self.host
        folders = (host.config.workspace(host.agent_id, host.places), host.places.sessions_dir(host.agent_id))
        return [str(folder) for folder in folders]

    def shutdown(self) -> None:
        self._end_run(None)
        with self._lock:
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded.close()


_KEYS = {False: "result", True: "error"}


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False
