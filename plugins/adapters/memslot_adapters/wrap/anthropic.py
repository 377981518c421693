"""Clients of the anthropic SDK: messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memslot_adapters.wrap.client import wrap_client
from memslot_adapters.wrap.formats import (
    Answer,
    Format,
    Prompt,
    fields_of,
    id_of,
    items_of,
    put_after,
    replaced,
    value_of,
)

_WAITING = ("tool_use", "pause_turn")
"""Stop reasons after which the same turn continues."""


class Messages:
    """`/v1/messages`."""

    messages_key = "messages"
    takes_text = False
    text_types: tuple[str, ...] = ("text",)
    summary_key = "compaction"

    def previous(self, body: Mapping[str, Any]) -> str:
        return str(value_of(body.get("thread"), "previous_message_id") or "")

    def read(self, answer: Any) -> Answer:
        read = Answer(is_final=value_of(answer, "stop_reason") not in _WAITING, ids=id_of(answer))
        for block in items_of(answer, "content"):
            if value_of(block, "type") == "text" and isinstance(text := value_of(block, "text"), str):
                read.texts.append(text)
        return read

    def add(self, answer: Answer, event: Any) -> None:
        delta = value_of(event, "delta")
        if value_of(event, "type") == "content_block_delta" and value_of(delta, "type") == "text_delta":
            answer.texts.append(str(value_of(delta, "text")))
        elif value_of(event, "type") == "message_delta" and value_of(delta, "stop_reason") in _WAITING:
            answer.is_final = False
        elif value_of(event, "type") == "message_start":
            answer.ids = id_of(value_of(event, "message"))

    def with_recall(
        self, body: Mapping[str, Any], messages: Sequence[Any], prompt: Prompt, text: str
    ) -> dict[str, Any]:
        asked, rest = messages[prompt.place], dict(body)
        if prompt.is_last and isinstance(mark := body.get("cache_control"), Mapping):
            # It marks the end of the request. With recalled text there, no later request would hit the cache.
            asked, rest = _marked(asked, mark), {name: value for name, value in body.items() if name != "cache_control"}
        return {**rest, "messages": replaced(messages, prompt.place, put_after(asked, text, "text"))}


def _marked(message: Any, mark: Mapping[str, Any]) -> dict[str, Any]:
    """A message whose last block has a cache mark."""
    content = value_of(message, "content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    blocks[-1] = {"cache_control": mark, **fields_of(blocks[-1])}
    return {**fields_of(message), "content": blocks}


FORMATS: dict[str, Format] = {"/v1/messages": Messages()}


def wrap(client: Any, **options: Any) -> Any:
    """Wrap a client with a memory."""
    return wrap_client(client, FORMATS, **options)
