"""Handles the events of coding agents: context at the start, recall before a prompt, capture after the reply.

All of them have these events, under one name or another, and accept the same answer; so does opencode's plugin.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from memslot import Host, Message, Session, count_tokens, fence, strip_recalled

from memslot_mcp_server.hook_client import ANSWER_SECONDS
from memslot_mcp_server.hooks.payload import Payload
from memslot_mcp_server.hooks.transcript import last_turn

MAX_CONTEXT_CHARS = 9_500
"""Claude Code takes 10,000 characters."""
_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between reads of a transcript that does not have the last reply yet."""
START_SECONDS, RECALL_SECONDS = 2.5, 4.5
"""At most. If one memory hangs, there must be time to answer with what the others recall."""
_ANSWER_SECONDS = 0.5
_LEAST_SECONDS = 0.1
SecondsLeft = Callable[[], float]
"""How long the agent may still wait for the answer."""

_COMMAND = re.compile(r"/[\w:.-]+(?:\s|\Z)")
"""A slash command such as /clear, not a question about /etc/hosts."""


def _all_seconds() -> float:
    return ANSWER_SECONDS


def at_session_start(host: Host, payload: Payload, seconds_left: SecondsLeft = _all_seconds) -> dict[str, Any] | None:
    """Return what plugins provide at the beginning of a conversation."""
    seconds = _budget(host, START_SECONDS + RECALL_SECONDS, seconds_left)
    # In a session of its own: after /clear and compaction the same conversation begins again.
    with host.run("", recall_seconds=seconds) as run:
        return _output("SessionStart", run.context)


def before_prompt(host: Host, payload: Payload, seconds_left: SecondsLeft = _all_seconds) -> dict[str, Any] | None:
    """Return what the memory recalls for the prompt."""
    prompt = payload.prompt.strip()
    if not prompt or _COMMAND.match(prompt):
        return None
    session = _session(host, payload)
    seconds = _budget(host, START_SECONDS, lambda: seconds_left() / 2)
    host.run("", session=session, recall_seconds=seconds)  # use up what plugins say once, at the start
    name = "BeforeAgent" if payload.client == "gemini" else "UserPromptSubmit"
    seconds = _budget(host, RECALL_SECONDS, seconds_left)
    return _output(name, host.run(prompt, session=session, recall_seconds=seconds).context)


def _budget(host: Host, most: float, seconds_left: SecondsLeft) -> float:
    """The time that plugins have: what is left once they are loaded, less what the answer takes."""
    return max(_LEAST_SECONDS, min(most, seconds_left() - _ANSWER_SECONDS)) if host.plugins else most


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


def handle(event: str, host: Host, payload: Payload, seconds_left: SecondsLeft = _all_seconds) -> dict[str, Any] | None:
    """Handle an event by its name in the command line; what it returns goes to the agent."""
    if event == "session-start":
        return at_session_start(host, payload, seconds_left)
    if event == "prompt":
        return before_prompt(host, payload, seconds_left)
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
