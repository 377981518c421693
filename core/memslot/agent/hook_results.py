"""Validates what hooks return."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from memslot.agent.prompt import PromptSection
from memslot.embeddings.contract import EmbeddingProviderSpec
from memslot.events import AgentStart, RecalledItem, ToolCallVerdict
from memslot.memory.answers import is_score
from memslot.memory.contract import Memory, misfit
from memslot.plugins.hooks import Reader, UnusableResult
from memslot.redaction.redact import redact
from memslot.tools import Tool

Item = TypeVar("Item")

MAX_ITEMS = 100
"""More of anything from one plugin is a mistake: no model can choose between so many tools."""
MAX_RECALLED = 1000
"""More recalled items than this never fit before a prompt."""
MAX_RECALL_CHARS = 20_000
"""More than this for recalled items crowds out the prompt, and they would take long to compare."""
MAX_START_CHARS = 200_000
"""More than this before a prompt is a mistake: it would crowd out everything else."""


def _items(kind: type[Item], value: Any, most: int = MAX_ITEMS) -> list[Item]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise UnusableResult(f"returned {type(value).__name__} instead of a list of {kind.__name__}")
    items = list(itertools.islice(value, most + 1))
    if len(items) > most:
        raise UnusableResult(f"returned more than {most} items; all were ignored")
    wrong = sorted({type(item).__name__ for item in items if not isinstance(item, kind)})
    if wrong:
        raise UnusableResult(f"returned {', '.join(wrong)} instead of {kind.__name__}")
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
    recalled = _recalled(start.recalled)
    chars = (
        len(start.prepend_context)
        + len(start.system_prompt)
        + sum(len(item.text) + len(item.source or "") for item in recalled)
    )
    if chars > MAX_START_CHARS:
        raise UnusableResult(f"returned more than {MAX_START_CHARS} characters; all were ignored")
    if not isinstance(start.recall_chars, int):
        raise UnusableResult("returned an AgentStart whose recall_chars is not a whole number")
    return replace(start, recalled=recalled, recall_chars=min(start.recall_chars, MAX_RECALL_CHARS))


def _recalled(value: Any) -> tuple[RecalledItem, ...]:
    items = _items(RecalledItem, value, MAX_RECALLED)
    for item in items:
        if not isinstance(item.text, str) or not isinstance(item.source, str | None):
            raise UnusableResult("returned a RecalledItem whose text or source is not text")
        if not is_score(item.score):
            raise UnusableResult(f"returned a RecalledItem whose score is {item.score!r}, not a number from 0 to 1")
    return tuple(replace(item, text=redact(item.text), score=float(item.score)) for item in items)


def _verdict(value: Any) -> ToolCallVerdict:
    verdict = _instance(ToolCallVerdict, value)
    if not isinstance(verdict.block, str | None):
        raise UnusableResult("returned a ToolCallVerdict whose block is not text")
    if not isinstance(verdict.args, Mapping | None):
        raise UnusableResult("returned a ToolCallVerdict whose args are not a mapping")
    return verdict


def _instance(kind: type[Item], value: Any) -> Item:
    if not isinstance(value, kind):
        raise UnusableResult(f"returned {type(value).__name__} instead of {kind.__name__}")
    return value


READERS: Mapping[str, Reader] = {
    "register_tools": functools.partial(_items, Tool),
    "register_embedding_providers": functools.partial(_items, EmbeddingProviderSpec),
    "register_prompt_sections": functools.partial(_items, PromptSection),
    "register_memory": _memory,
    "before_agent_start": _agent_start,
    "before_tool_call": _verdict,
}
