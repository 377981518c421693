"""A transcript as a request that every endpoint accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memslot import Message, count_tokens, message_text

from memslot_chat.reply import EXTRA, THOUGHTS

if TYPE_CHECKING:
    from memslot import Tool

CANCELLED = "cancelled: the call was stopped before it gave a result"
INTERRUPTED = "[interrupted]"
_LOST = "no result: the program ended before the call came back"


def for_request(messages: Iterable[Message], model: str | None = None) -> list[dict[str, Any]]:
    """Return valid request messages: each tool call is followed by its result, and user and assistant alternate.

    Reasoning and vendor-specific fields go back only to the `model` they came from.

    Transcripts of killed programs have calls without results, those of concurrent programs have other messages between
    a call and its result, and those of other programs have unknown message types.
    """
    known = [dict(message) for message in messages]
    results = _Results(known)
    ready: list[dict[str, Any]] = []
    for place, message in enumerate(known):
        role = message.get("role")
        if role == "user":
            _add(ready, {"role": "user", "content": message_text(message)})
        elif role == "assistant":
            is_its_own = model is not None and message.get("model") == model
            said = {"role": "assistant", "content": message_text(message)}
            if is_its_own and isinstance(message.get(THOUGHTS), str):
                said[THOUGHTS] = message[THOUGHTS]
            found = (_call(each, with_extra=is_its_own) for each in _listed(message.get("tool_calls")))
            calls = [call for call in found if call is not None]
            if not calls:
                _add(ready, said)
                continue
            ready.append({**said, "tool_calls": calls})
            for call in calls:
                ready.append({"role": "tool", "tool_call_id": call["id"], "content": results.after(place, call["id"])})
    return ready


def _add(ready: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Merge consecutive messages of one role, which some models' templates reject."""
    if not message["content"].strip():
        return
    last = ready[-1] if ready else None
    if last is not None and last["role"] == message["role"] and "tool_calls" not in last:
        last["content"] = f"{last['content']}\n\n{message['content']}"
    else:
        ready.append(message)


class _Results:
    """Return the results of tool calls; a call's result is the first one after it with its id."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._by_id: dict[str, list[tuple[int, str]]] = {}
        for place, message in enumerate(messages):
            call_id = message.get("tool_call_id")
            if message.get("role") == "tool" and isinstance(call_id, str):
                self._by_id.setdefault(call_id, []).append((place, message_text(message)))

    def after(self, place: int, call_id: str) -> str:
        for found in self._by_id.get(call_id, []):
            if found[0] > place:
                self._by_id[call_id].remove(found)
                return found[1] or "(nothing)"
        return _LOST


def _call(value: Any, *, with_extra: bool) -> dict[str, Any] | None:
    """Return a tool call as sent. Servers parse the arguments, so anything but a JSON object is wrapped in one."""
    function = value.get("function") if isinstance(value, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(value.get("id"), str) or not function.get("name"):
        return None
    arguments = function.get("arguments")
    if not isinstance(arguments, str) or not _is_object(arguments):
        arguments = json.dumps({"unreadable": arguments}, ensure_ascii=False)
    extra = {EXTRA: value[EXTRA]} if with_extra and isinstance(value.get(EXTRA), Mapping) else {}
    told = {"name": str(function["name"]), "arguments": arguments}
    return {"id": value["id"], "type": "function", "function": told, **extra}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def call_ids(messages: Iterable[Message]) -> set[str]:
    """Return the ids of all tool calls in a conversation."""
    calls = (call for message in messages for call in _listed(message.get("tool_calls")))
    return {str(call["id"]) for call in calls if isinstance(call, Mapping) and "id" in call}


def turn_starts(messages: Sequence[Message]) -> Iterator[int]:
    """Return the positions where turns start: the user's messages."""
    return (place for place, message in enumerate(messages) if message.get("role") == "user")


def schema_tokens(tools: Sequence[Tool]) -> int:
    """Estimate the tokens of the tools' schemas."""
    return count_tokens([], json.dumps([tool.to_openai() for tool in tools], ensure_ascii=False)) if tools else 0
