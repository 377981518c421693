"""Handles the events of coding agents: context at the start, recall before a prompt, capture after the reply."""

from __future__ import annotations

import re
from typing import Any

from memslot import Host, Session, fence

from memslot_mcp_server.hooks.payload import Payload
from memslot_mcp_server.hooks.transcript import last_turn

MAX_CONTEXT_CHARS = 9_500
"""Claude Code takes 10,000 characters."""
_COMMAND = re.compile(r"/[\w:.-]+(?:\s|\Z)")
"""A slash command such as /clear, not a question about /etc/hosts."""


def at_session_start(host: Host, payload: Payload) -> dict[str, Any] | None:
    """What plugins say at the beginning of a conversation."""
    # In a conversation of its own: after /clear and compaction the same one begins again.
    with host.run("") as run:
        return _output("SessionStart", run.context)


def before_prompt(host: Host, payload: Payload) -> dict[str, Any] | None:
    """What the memory recalls for the prompt."""
    prompt = payload.prompt.strip()
    if not prompt or _COMMAND.match(prompt):
        return None
    session = _session(host, payload)
    host.run("", session=session)  # take what plugins say once, at the start
    return _output("UserPromptSubmit", host.run(prompt, session=session).context)


def after_reply(host: Host, payload: Payload) -> int:
    """Tell plugins what was said in the turn that ended; returns the number of messages."""
    messages = last_turn(payload.transcript) if payload.transcript is not None else []
    if not messages or payload.goes_on:
        return 0
    if payload.last_reply and messages[-1]["role"] == "user":  # the file is a moment behind
        messages.append({"role": "assistant", "content": payload.last_reply})
    # An empty prompt recalls nothing.
    with host.run("", session=_session(host, payload)) as run:
        # Claude Code may kill this process 0.5 s after the answer.
        run.finish(messages, success=True, durable=True)
    return len(messages)


def _session(host: Host, payload: Payload) -> Session:
    return Session(host.agent_id, payload.session_id, "direct")


def _output(event: str, context: str) -> dict[str, Any] | None:
    text = context.strip()
    if not text:
        return None
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": _cut(text)}}


def _cut(text: str) -> str:
    """Cut to the limit, and close a fence that was cut, or all that follows would be inside it."""
    if len(text) <= MAX_CONTEXT_CHARS:
        return text
    opening, *_, closing = fence(["…"]).splitlines()
    kept = text[: MAX_CONTEXT_CHARS - len(closing) - 2] + "…"
    return f"{kept}\n{closing}" if kept.rfind(opening) > kept.rfind(closing) else kept
