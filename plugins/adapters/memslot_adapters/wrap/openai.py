"""Clients of the openai SDK: chat completions and responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memslot_adapters.wrap.client import wrap_client
from memslot_adapters.wrap.formats import Answer, Format, Prompt, id_of, items_of, put_after, replaced, value_of

_CALLS = (
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "mcp_approval_request",
)
"""Output items that wait for the program to answer."""


class ChatCompletions:
    """`/chat/completions`; of several choices the first counts."""

    messages_key = "messages"
    takes_text = False
    text_types: tuple[str, ...] = ("text",)
    summary_key = ""

    def previous(self, body: Mapping[str, Any]) -> str:
        return ""

    def read(self, answer: Any) -> Answer:
        read = Answer()
        self._add_choice(read, items_of(answer, "choices"), "message")
        return read

    def add(self, answer: Answer, event: Any) -> None:
        self._add_choice(answer, items_of(event, "choices"), "delta")

    def with_recall(
        self, body: Mapping[str, Any], messages: Sequence[Any], prompt: Prompt, text: str
    ) -> dict[str, Any]:
        asked = put_after(messages[prompt.place], text, "text")
        return {**body, "messages": replaced(messages, prompt.place, asked)}

    def _add_choice(self, answer: Answer, choices: Any, key: str) -> None:
        for choice in choices:
            if value_of(choice, "index") not in (0, None):
                continue
            said = value_of(choice, key)
            if isinstance(text := value_of(said, "content"), str):
                answer.texts.append(text)
            if value_of(said, "tool_calls") or value_of(said, "function_call"):
                answer.is_final = False


class Responses:
    """`/responses`."""

    messages_key = "input"
    takes_text = True
    text_types: tuple[str, ...] = ("input_text", "output_text")
    summary_key = ""

    def previous(self, body: Mapping[str, Any]) -> str:
        return next(iter(id_of(body.get("previous_response_id")) or id_of(body.get("conversation"))), "")

    def read(self, answer: Any) -> Answer:
        read = Answer(ids=self._ids(answer), error=self._error(answer))
        for item in items_of(answer, "output"):
            for part in items_of(item, "content") if value_of(item, "type") == "message" else ():
                if value_of(part, "type") == "output_text" and isinstance(text := value_of(part, "text"), str):
                    read.texts.append(text)
            if value_of(item, "type") in _CALLS:
                read.is_final = False
        return read

    def add(self, answer: Answer, event: Any) -> None:
        kind = value_of(event, "type")
        if kind == "response.output_text.delta" and isinstance(text := value_of(event, "delta"), str):
            answer.texts.append(text)
        elif kind == "response.output_item.done" and value_of(value_of(event, "item"), "type") in _CALLS:
            answer.is_final = False
        elif kind == "response.created":
            answer.ids = self._ids(value_of(event, "response"))
        elif kind == "response.failed":
            answer.error = self._error(value_of(event, "response"))

    def _ids(self, answer: Any) -> set[str]:
        return id_of(answer) | id_of(value_of(answer, "conversation"))

    def _error(self, answer: Any) -> str | None:
        if value_of(answer, "status") != "failed":
            return None
        return str(value_of(value_of(answer, "error"), "message") or "the model's answer failed")

    def with_recall(
        self, body: Mapping[str, Any], messages: Sequence[Any], prompt: Prompt, text: str
    ) -> dict[str, Any]:
        asked = put_after(messages[prompt.place], text, "input_text")
        return {**body, "input": replaced(messages, prompt.place, asked)}


FORMATS: dict[str, Format] = {"/chat/completions": ChatCompletions(), "/responses": Responses()}


def wrap(client: Any, **options: Any) -> Any:
    """Wrap a client with a memory."""
    return wrap_client(client, FORMATS, **options)
