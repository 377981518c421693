"""What each hook may return, and how the host reads it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from memslot.agent.prompt import PromptSection
from memslot.embeddings.contract import EmbeddingProviderSpec
from memslot.events import AgentStart, ToolCallVerdict
from memslot.memory.contract import Memory, misfit
from memslot.plugins.hooks import Reader, UnusableResult
from memslot.tools import Tool

Item = TypeVar("Item")

MAX_ITEMS = 100
"""More of anything from one plugin is a mistake: no model can choose between so many tools."""
MAX_START_CHARS = 200_000
"""More before one prompt is a mistake: it would push everything else out of the model's sight."""


def _items(kind: type[Item], value: Any) -> list[Item]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise UnusableResult(f"returned {type(value).__name__} where a list of {kind.__name__} was due")
    items = list(itertools.islice(value, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise UnusableResult(f"returned more than {MAX_ITEMS} items, of which none was taken")
    wrong = sorted({type(item).__name__ for item in items if not isinstance(item, kind)})
    if wrong:
        raise UnusableResult(f"returned {', '.join(wrong)} where {kind.__name__} was due")
    return items


def _memory(value: Any) -> Memory:
    if (reason := misfit(value)) is not None:
        raise UnusableResult(reason)
    memory: Memory = value
    return memory


def _agent_start(value: Any) -> AgentStart:
    start = _instance(AgentStart, value)
    if not (isinstance(start.prepend_context, str) and isinstance(start.system_prompt, str)):
        raise UnusableResult("returned an AgentStart whose fields are not text")
    if len(start.prepend_context) + len(start.system_prompt) > MAX_START_CHARS:
        raise UnusableResult(f"returned more than {MAX_START_CHARS} characters, of which none was taken")
    return start


def _verdict(value: Any) -> ToolCallVerdict:
    verdict = _instance(ToolCallVerdict, value)
    if not isinstance(verdict.block, str | None):
        raise UnusableResult("returned a ToolCallVerdict whose block is not text")
    if not isinstance(verdict.args, Mapping | None):
        raise UnusableResult("returned a ToolCallVerdict whose args are not a mapping")
    return verdict


def _instance(kind: type[Item], value: Any) -> Item:
    if not isinstance(value, kind):
        raise UnusableResult(f"returned {type(value).__name__} where {kind.__name__} was due")
    return value


READERS: Mapping[str, Reader] = {
    "register_tools": functools.partial(_items, Tool),
    "register_embedding_providers": functools.partial(_items, EmbeddingProviderSpec),
    "register_prompt_sections": functools.partial(_items, PromptSection),
    "register_memory": _memory,
    "before_agent_start": _agent_start,
    "before_tool_call": _verdict,
}
