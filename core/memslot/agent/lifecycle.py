"""Sessions and runs: opens and ends them, and collects what plugins add before a prompt."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from memslot.agent.delivery import RunEndDelivery
from memslot.agent.messages import plain_messages
from memslot.agent.prompt import PromptMode, PromptSection, join_prompt, join_sections
from memslot.agent.registries import Registries
from memslot.diagnostics import Diagnostics
from memslot.embeddings.likeness import Likeness
from memslot.events import CHAT_TYPES, AgentStart, ChatType, MemoryWritten, Message, RunInfo, Session
from memslot.memory.fence import strip_recalled
from memslot.memory.recall import join_recalled
from memslot.plugins.hooks import HookRunner, describe_failure
from memslot.redaction.redact import redact
from memslot.tools import Tool

END_BUDGET_SECONDS = 30.0


class Lifecycle:
    """The sessions this host has seen, and the hooks around them."""

    def __init__(
        self,
        runner: HookRunner,
        registries: Registries,
        diagnostics: Diagnostics,
        delivery: RunEndDelivery,
        likeness: Likeness,
    ) -> None:
        self._runner = runner
        self._delivery = delivery
        self._likeness = likeness
        self._registries = registries
        self._diagnostics = diagnostics
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()

    def open_session(self, agent_id: str, session: str | Session | None, chat_type: ChatType) -> Session:
        """Return the session, and call `session_start` if it is new to this host."""
        if chat_type not in CHAT_TYPES:
            raise ValueError(f"chat_type must be one of {', '.join(CHAT_TYPES)}, not {chat_type!r}")
        if session is None:
            place = Session(agent_id, chat_type=chat_type)
        elif isinstance(session, str):
            place = Session(agent_id, session, chat_type)
        else:
            place = session
        with self._lock:
            is_new = place.id not in self._open
            self._open[place.id] = place
        if is_new:
            self._runner.call("session_start", session=place)
        return place

    def prepare(
        self,
        info: RunInfo,
        messages: Sequence[Message],
        base_prompt: str,
        mode: PromptMode,
        tools: Sequence[Tool],
        recall_seconds: float | None = None,
    ) -> tuple[str, str]:
        """Collect what plugins put before a prompt: (context, system prompt)."""
        plain = self._read_messages(messages, "before_agent_start")
        answers = self._runner.call("before_agent_start", at_most=recall_seconds, run=info, messages=plain)
        starts: list[AgentStart] = [answer.value for answer in answers]
        side_by_side = len(self._registries.memories) > 1
        by_plugin = _by_plugin((answer.plugin, answer.value) for answer in answers)
        recalled = join_recalled(by_plugin, side_by_side=side_by_side, cosine=self._likeness)
        parts = []
        for start in starts:
            if start.recalled:  # the block stands where the first plugin that recalls something would put it
                parts.append(recalled)
                recalled = ""
            parts.append(start.prepend_context.strip())
        base = next((start.system_prompt for start in starts if start.system_prompt.strip()), base_prompt)
        return "\n\n".join(filter(None, parts)), self.write_prompt(info, base, mode, tools)

    def write_prompt(self, info: RunInfo, base_prompt: str, mode: PromptMode, tools: Sequence[Tool]) -> str:
        """The base prompt with the sections of plugins that apply."""
        names = {tool.name for tool in tools}
        written = [
            (plugin_id, section, self._write(plugin_id, section, info))
            for plugin_id, section in self._registries.sections
            if section.applies(mode, names)
        ]
        return join_prompt(base_prompt, join_sections(written, self._registries.memories))

    def _read_messages(self, messages: Sequence[Message], stage: str) -> tuple[Message, ...]:
        plain, unread = plain_messages(messages)
        if unread:
            said = f"{unread} message(s) are neither mappings nor objects with a role and a content; they were left out"
            self._diagnostics.add("host", stage, said, level="warning")
        return plain

    def _write(self, plugin_id: str, section: PromptSection, info: RunInfo) -> str:
        """Return a section's text; empty if the plugin fails."""
        text: Any = section.text
        if not callable(text):
            return str(text)
        budget = self._runner.budget_of("before_agent_start", plugin_id)
        value, error, seconds = self._runner.call_function(
            plugin_id, "prompt section", lambda: text(info), budget=budget, in_a_hurry=True
        )
        if isinstance(value, str):
            return value
        said = describe_failure(error) if error else f"returned {type(value).__name__}, not text"
        stage = f"prompt section {section.heading!r}"
        self._diagnostics.add(plugin_id, stage, said, duration_ms=seconds * 1000)
        return ""

    def tell_written(self, written: MemoryWritten) -> None:
        """Tell the other plugins what a memory has kept."""
        others = [each for each in self._runner.implementers("memory_written") if each != written.memory_id]
        if others:
            clean = replace(written, text=redact(strip_recalled(written.text)))
            self._runner.call("memory_written", only=others, written=clean)

    def end_run(
        self,
        info: RunInfo,
        ends_session: bool,
        messages: Sequence[Message],
        success: bool,
        error: str | None,
        durable: bool,
    ) -> None:
        """Call `agent_end` in the background, and `session_end` if the run was a conversation of its own."""
        # Copies, because the caller may change the list while plugins read it in the background.
        plain = self._read_messages(messages, "agent_end")
        self._delivery.deliver(info, plain, success, error, durable=durable)
        if ends_session:
            self.end_session(info.session.id)

    def end_session(self, session_id: str) -> None:
        """Call `session_end` in the background, after the `agent_end` of the conversation's runs."""
        with self._lock:
            place = self._open.pop(session_id, None)
        if place is not None:
            self._runner.call("session_end", session=place)

    def close(self) -> None:
        """End every open conversation and wait for all background work."""
        for session_id in tuple(self._open):
            self.end_session(session_id)
        deadline = time.monotonic() + END_BUDGET_SECONDS
        self._delivery.finish(END_BUDGET_SECONDS)
        self._runner.drain(max(0.0, deadline - time.monotonic()))
        self._delivery.close()


def _by_plugin(starts: Iterable[tuple[str, AgentStart]]) -> dict[str, AgentStart]:
    """Group recalled items by plugin; one that implements the hook twice (`specname`) has a single group."""
    found: dict[str, AgentStart] = {}
    for plugin_id, start in starts:
        if (known := found.get(plugin_id)) is not None:
            room = max(known.recall_chars, start.recall_chars)
            start = replace(start, recalled=(*known.recalled, *start.recalled), recall_chars=room)
        found[plugin_id] = start
    return found
