"""Conversations of a ChatGPT export: `conversations.json`, zipped or not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memslot import ForeignLine, ForeignSession, to_ms

_SAID = ("text", "multimodal_text")
"""Kinds of content that people read; the others are searches, code for tools, reasoning and settings."""
_MARK = re.compile("\ue200(\\w+)\ue202([^\ue200\ue201]*)\ue201")
"""A link, a name or a footnote in ChatGPT's own markup: its kind and its parts."""


def is_chatgpt(tree: object) -> bool:
    """Whether this is a list of conversations as the export has it, or a single one."""
    first = next((each for each in tree if isinstance(each, Mapping)), None) if isinstance(tree, list) else tree
    return isinstance(first, Mapping) and isinstance(first.get("mapping"), Mapping)


def read_chatgpt(tree: object) -> Iterator[ForeignSession]:
    """All conversations of an export; of several branches, the one shown last."""
    for each in tree if isinstance(tree, list) else [tree]:
        if isinstance(each, Mapping) and isinstance(each.get("mapping"), Mapping):
            yield _conversation(each, each["mapping"])


def _conversation(tree: Mapping[str, Any], mapping: Mapping[str, Any]) -> ForeignSession:
    title = tree["title"] if isinstance(tree.get("title"), str) else ""
    started_at = to_ms(tree.get("create_time"))
    found = tree.get("conversation_id") or tree.get("id")
    their_id = found if isinstance(found, str) and found else ForeignLine.make_key("chatgpt", started_at, title)
    said = [line for node in _branch(tree, mapping) if (line := _spoken(node)) is not None]
    return ForeignSession("chatgpt", f"chatgpt-{their_id}", their_id, tuple(said), title=title, started_at=started_at)


def _branch(tree: Mapping[str, Any], mapping: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The nodes from the first to the current one."""
    at = tree.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        at = _last_leaf(mapping)
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at not in seen and isinstance(node := mapping.get(at), Mapping):
        seen.add(at)
        found.append(node)
        at = node.get("parent")
    return found[::-1]


def _last_leaf(mapping: Mapping[str, Any]) -> str | None:
    leaves = [key for key, node in mapping.items() if isinstance(node, Mapping) and not node.get("children")]
    return max(leaves, key=lambda key: _time(mapping[key]) or 0, default=None)


def _time(node: Mapping[str, Any]) -> int | None:
    message = node.get("message")
    return to_ms(message.get("create_time")) if isinstance(message, Mapping) else None


def _spoken(node: Mapping[str, Any]) -> ForeignLine | None:
    message = node.get("message")
    if not isinstance(message, Mapping):
        return None
    author, content, metadata = (message.get(key) for key in ("author", "content", "metadata"))
    role = author.get("role") if isinstance(author, Mapping) else None
    if role not in ("user", "assistant") or not isinstance(content, Mapping):
        return None
    is_hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation")
    # What the assistant sends to a tool has the tool's name here.
    if is_hidden or message.get("recipient", "all") != "all" or content.get("content_type") not in _SAID:
        return None
    text = _MARK.sub(_shown, "\n".join(_texts(content.get("parts")))).strip()
    key = message.get("id") or node.get("id")
    if not text:
        return None
    key = str(key or ForeignLine.make_key(role, text))
    return ForeignLine.of_message(key, _time(node), {"role": role, "content": text})


def _shown(mark: re.Match[str]) -> str:
    """Return what is visible of a marker: a name, a link, or nothing."""
    kind, told = mark[1], mark[2]
    if kind == "url":
        return " ".join(told.split("\ue202"))
    if kind != "entity":
        return ""
    try:
        named = json.loads(told)
    except (ValueError, RecursionError):
        return told
    return named[1] if isinstance(named, list) and len(named) > 1 and isinstance(named[1], str) else ""


def _texts(parts: object) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):  # transcribed speech
            yield part["text"]
