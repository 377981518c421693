"""Claude Agent SDK options with a memory."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher
from memslot import AgentRun, Host, Session

from memslot_adapters.claude_agent.server import SERVER, allowed_tools, memory_server
from memslot_adapters.memory_run import assistant_message, run_to_completion, user_message
from memslot_adapters.tools import ActiveRun, ChatType, chat_type_of

_PREFIX = "claude-code-"
"""Prefix of a conversation's id, the same as for imported transcripts."""


def with_memory(
    host: Host,
    options: ClaudeAgentOptions | None = None,
    *,
    session: str | Session | None = None,
    chat_type: ChatType | None = None,
) -> ClaudeAgentOptions:
    """Options with the tools, allowed without asking, and with recall before each prompt and capture after it.

    Claude's hooks do it, beside the hooks that the options have. Without a session each of Claude's conversations is
    its own. Create separate options for each user who talks to the agent.
    """
    base = options or ClaudeAgentOptions()
    if not isinstance(base.mcp_servers, dict):
        raise TypeError("with_memory needs mcp_servers as a dict, not as a config's path or text")
    wanted = chat_type_of(session, chat_type)
    conversation = _Conversation(host, session, wanted)
    server = memory_server(host, chat_type=wanted, follow=conversation.active_run)
    hooks: dict[Any, list[HookMatcher]] = {event: list(found) for event, found in (base.hooks or {}).items()}
    hooks.setdefault("UserPromptSubmit", []).append(HookMatcher(hooks=[conversation.recall]))
    hooks.setdefault("Stop", []).append(HookMatcher(hooks=[conversation.capture]))
    return dataclasses.replace(
        base,
        mcp_servers={**base.mcp_servers, SERVER: server},
        allowed_tools=[*base.allowed_tools, *allowed_tools(host, chat_type=wanted)],
        hooks=hooks,
    )


class _Conversation:
    """The runs that Claude's hooks begin and end, by Claude's conversation id."""

    def __init__(self, host: Host, session: str | Session | None, chat_type: ChatType) -> None:
        self._host = host
        self._session = session
        self._chat_type = chat_type
        self._runs: dict[str, AgentRun] = {}
        self._guided: set[str] = set()
        self._latest: AgentRun | None = None

    def active_run(self) -> ActiveRun | None:
        return None if self._latest is None else ActiveRun(self._host, self._latest)

    async def recall(self, event: Any, tool_use_id: str | None, context: Any) -> Any:
        """Before a prompt: return what is recalled, and the first time also the plugins' prompt sections."""
        conversation = event["session_id"]
        interrupted = self._runs.pop(conversation, None)
        if interrupted is not None:
            end = functools.partial(interrupted.finish, success=False, error="it was interrupted")
            await run_to_completion(end)
        session = self._session if self._session is not None else f"{_PREFIX}{conversation}"

        def begin() -> AgentRun:
            # Stored before the call can be cancelled, or the run would never end.
            run = self._host.run(event["prompt"], session=session, chat_type=self._chat_type)
            self._runs[conversation] = self._latest = run
            return run

        run = await run_to_completion(begin)
        guide = "" if conversation in self._guided else run.system_prompt
        self._guided.add(conversation)
        text = "\n\n".join(part for part in (guide, run.context) if part)
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}} if text else {}

    async def capture(self, event: Any, tool_use_id: str | None, context: Any) -> Any:
        """After the last answer: plugins capture what was said."""
        run = self._runs.pop(event["session_id"], None)
        if run is not None:
            answer = event.get("last_assistant_message")
            said = [user_message(run.info.prompt), *([assistant_message(answer)] if answer else [])]
            await run_to_completion(run.finish, said)
        return {}
