"""Arguments and results of lifecycle hooks."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

ChatType = Literal["direct", "group", "channel"]
"""The audience of a conversation: one person, a group or a channel."""
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
class RecalledItem:
    """Something a memory recalls for a prompt: plain text, how well it fits (0..1), and where it is from.

    Since host API 2. `score` is on the scale of `memslot.retrieval.calibrated`, so that items of several memories can
    be compared. The host escapes the text, fences it and removes duplicates; lines are kept whole if there is room.
    """

    text: str
    score: float = 1.0
    source: str | None = None
    """Written before the text, such as `MEMORY.md#L3-L7`. None: the plugin's id if memories run side by side,
    else nothing. Empty: nothing, since the text itself says where it is from."""


@dataclass(frozen=True)
class AgentStart:
    """A plugin's answer to `before_agent_start`: text for the model to see before the prompt.

    A memory returns what it recalls as `recalled`, and the host joins it with what other memories recall. In
    `prepend_context` a plugin has to fence text that it did not write itself.
    """

    prepend_context: str = ""
    system_prompt: str = ""
    recalled: Sequence[RecalledItem] = ()
    """Since host API 2."""
    recall_chars: int = 1000
    """Maximum length of the block of recalled items, at most 20,000; of several memories, the largest counts.

    Since host API 2."""


WrittenBy = Literal["tool", "capture", "remember"]
"""What caused a write: a tool call by the model, automatic capture, or a program."""


@dataclass(frozen=True)
class MemoryWritten:
    """Something that a memory has just stored. Since host API 2."""

    memory_id: str
    """The plugin whose memory it is."""
    text: str
    """What was stored, secrets redacted."""
    path: str = ""
    """Its path, as search and read use it; empty if the memory does not say."""
    session: Session | None = None
    by: WrittenBy = "tool"


@dataclass(frozen=True)
class ToolCallVerdict:
    """A plugin's answer to `before_tool_call`: other arguments, or a reason to refuse the call."""

    args: Mapping[str, Any] | None = None
    block: str | None = None
