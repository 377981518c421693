"""What lifecycle hooks are told, and what they may answer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

ChatType = Literal["direct", "group", "channel"]
"""Who listens to a conversation: one person, a group, or a channel."""
CHAT_TYPES: tuple[ChatType, ...] = get_args(ChatType)

Message = Mapping[str, Any]
"""One message of a conversation: at least `role` and `content`, as chat APIs have them."""


@dataclass(frozen=True)
class Session:
    """One conversation of one agent. `direct` chats are private; the other types have an audience."""

    agent_id: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    chat_type: ChatType = "direct"

    @property
    def is_private(self) -> bool:
        return self.chat_type == "direct"


@dataclass(frozen=True)
class RunInfo:
    """One run of an agent: the prompt that starts it and the conversation it belongs to."""

    prompt: str
    session: Session
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class AgentStart:
    """A plugin's answer to `before_agent_start`: text for the model to see before the prompt."""

    prepend_context: str = ""
    system_prompt: str = ""


@dataclass(frozen=True)
class ToolCallVerdict:
    """A plugin's answer to `before_tool_call`: other arguments, or a reason to refuse the call."""

    args: Mapping[str, Any] | None = None
    block: str | None = None
