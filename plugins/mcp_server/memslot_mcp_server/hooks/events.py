"""Handles the events of coding agents: context at the start, recall before a prompt, capture after the reply.

All of them have these events, under one name or another, and accept the same answer; so does opencode's plugin.
"""

from __future__ import annotations

import re
import time
from typing import Any

from memslot import Host, Message, Session, count_tokens, fence, strip_recalled

from memslot_mcp_server.hooks.payload import Payload
from memslot_mcp_server.hooks.transcript import last_turn

MAX_CONTEXT_CHARS = 9_500
"""Claude Code takes 10,000 characters."""
_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between reads of a transcript that does not have the last reply yet."""
START_SECONDS, RECALL_SECONDS = 2.5, 4.5
"""Must leave time for the other memories if one hangs: the hook gives up after 8 seconds."""
_COMMAND = re.compile(r"/[\w:.-]+(?:\s|\Z)")
"""A slash command such as /clear, not a question about /etc/hosts."""


def at_session_start(host: Host, payload: Payload) -> dict[str, Any] | None:
    """Return what plugins provide at the beginning of a conversation."""
    # In a session of its own: after /clear and compaction the same conversation begins again.
    with host.run("", recall_seconds=START_SECONDS + RECALL_SECONDS) as run:
        return _output("SessionStart", run.context)


def before_prompt(host: Host, payload: Payload) -> dict[str, Any] | None:
    """Return what the memory recalls for the prompt."""
    prompt = payload.prompt.strip()
    if not prompt or _COMMAND.match(prompt):
        return None
    session = _session(host, payload)
    host.run("", session=session, recall_seconds=START_SECONDS)  # use up what plugins say once, at the start
    name = "BeforeAgent" if payload.client == "gemini" else "UserPromptSubmit"
    return _output(name, host.run(prompt, session=session, recall_seconds=RECALL_SECONDS).context)


def after_reply(host: Host, payload: Payload) -> int:
    """Pass the turn that ended to plugins; returns the number of messages."""
    messages = [] if payload.goes_on else _ended_turn(payload)
    if not messages:
        return 0
    if payload.last_reply and messages[-1]["role"] == "user":  # the file may lag behind
        messages.append({"role": "assistant", "content": payload.last_reply})
    _capture(host, payload, messages)
    return len(messages)


def before_compaction(host: Host, payload: Payload) -> int:
    """Pass on what is about to be summarised, and capture a turn that may never end.

    Returns the number of messages.
    """
    if payload.client == "gemini" and payload.trigger != "manual":
        return 0  # it announces a compaction before every request to the model, whether or not there will be one
    messages = _last_turn(payload)
    if messages:
        host.before_compaction(_session(host, payload), messages, count_tokens(messages))
        _capture(host, payload, messages)
    return len(messages)


def at_session_end(host: Host, payload: Payload) -> None:
    """Tell plugins that the conversation is over."""
    host.end_session(_session(host, payload))


def handle(event: str, host: Host, payload: Payload) -> dict[str, Any] | None:
    """Handle an event by its name in the command line; what it returns goes to the agent."""
    if event == "session-start":
        return at_session_start(host, payload)
    if event == "prompt":
        return before_prompt(host, payload)
    if event == "stop":
        after_reply(host, payload)
    elif event == "pre-compact":
        before_compaction(host, payload)
    elif event == "session-end":
        at_session_end(host, payload)
    return None


def _ended_turn(payload: Payload) -> list[Message]:
    """Return the turn that ended. Claude Code may write it only after calling the hook, so wait for it briefly."""
    reply = strip_recalled(payload.last_reply).strip()
    for pause in (*_PAUSES, 0.0):
        messages = _last_turn(payload)
        # The reply may have several parts, each in its own message.
        if not reply or (messages and reply.endswith(messages[-1]["content"])):
            break
        time.sleep(pause)
    return messages


def _last_turn(payload: Payload) -> list[Message]:
    """Return the messages since the last prompt: from the transcript or, if it lacks them, from the payload."""
    file = payload.transcript
    messages = last_turn(file, payload.client, payload.their_id) if file is not None else []
    if messages or not payload.prompt or not payload.last_reply:
        return messages
    return [{"role": "user", "content": payload.prompt}, {"role": "assistant", "content": payload.last_reply}]


def _capture(host: Host, payload: Payload, messages: list[Message]) -> None:
    # An empty prompt recalls nothing.
    with host.run("", session=_session(host, payload)) as run:
        # The agent may kill this process as soon as it has its answer, Claude Code after 0.5 s.
        run.finish(messages, success=True, durable=True)


def _session(host: Host, payload: Payload) -> Session:
    return Session(host.agent_id, payload.session_id, "direct")


def _output(event: str, context: str) -> dict[str, Any] | None:
    text = context.strip()
    if not text:
        return None
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": _cut(text)}}


def _cut(text: str) -> str:
    """Truncate to the limit, and close a truncated fence, or everything after it would be inside."""
    if len(text) <= MAX_CONTEXT_CHARS:
        return text
    opening, *_, closing = fence(["…"]).splitlines()
    kept = text[: MAX_CONTEXT_CHARS - len(closing) - 2] + "…"
    return f"{kept}\n{closing}" if kept.rfind(opening) > kept.rfind(closing) else kept
