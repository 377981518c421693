"""A model's answer, assembled from streamed chunks."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_NO_NAME_LETTERS = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME = 64
THOUGHTS, EXTRA = "reasoning_content", "extra_content"
"""Field names for a model's reasoning, and for vendor data of a tool call."""


@dataclass(frozen=True)
class Usage:
    """Token counts reported by the endpoint."""

    input: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input + other.input, self.output + other.output)

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(frozen=True)
class RequestedCall:
    """A tool call as requested by the model; `arguments` is the raw text, JSON or not.

    `extra` is vendor data that the endpoint wants back, such as Gemini's thought signature.
    """

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] | None = None

    def to_message(self) -> dict[str, Any]:
        extra = {} if self.extra is None else {EXTRA: self.extra}
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function, **extra}


@dataclass(frozen=True)
class Reply:
    """A complete answer. `finish` is the endpoint's finish reason, or empty.

    `thoughts` are never shown, but DeepSeek and Kimi reject a conversation in which those of a turn with tool calls
    are missing.
    """

    text: str = ""
    thoughts: str = ""
    calls: tuple[RequestedCall, ...] = ()
    finish: str = ""
    usage: Usage | None = None

    def to_message(self) -> dict[str, Any]:
        """Return the answer as a conversation message."""
        thoughts = {THOUGHTS: self.thoughts} if self.thoughts else {}
        calls = {"tool_calls": [call.to_message() for call in self.calls]} if self.calls else {}
        return {"role": "assistant", "content": self.text, **thoughts, **calls}


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: Mapping[str, Any] | None = None


class ReplyBuilder:
    """Assembles the endpoint's chunks; `reply` is the answer so far.

    Endpoints differ in how they split tool calls: with or without an index, whole or in pieces, ids and names once or
    in every piece, arguments as text or as an object, several calls under one index.
    """

    def __init__(self, tools: Collection[str] = (), known_ids: Collection[str] = ()) -> None:
        self._tools = frozenset(tools)
        self._known_ids = frozenset(known_ids)
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self.finish = ""
        self.usage: Usage | None = None
        self.size = 0
        """Characters received: text, thoughts, names and arguments."""

    def add(self, chunk: Mapping[str, Any]) -> Iterator[str]:
        """Add a chunk; yield its text. Fields of the wrong type are ignored."""
        self.usage = _usage(chunk.get("usage")) or self.usage
        choices = chunk.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, Mapping):
            return
        if isinstance(first.get("finish_reason"), str):
            self.finish = first["finish_reason"]
        delta = first.get("delta") or first.get("message")  # the latter from endpoints that don't stream
        if not isinstance(delta, Mapping):
            return
        for text in _texts(delta.get("content") or delta.get("refusal")):
            self._text.append(text)
            self.size += len(text)
            yield text
        thought = _text(delta.get(THOUGHTS))
        self._thoughts.append(thought)
        self.size += len(thought)
        pieces = delta.get("tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, Mapping):
                self._add_call(piece)

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id, name = _text(piece.get("id")), _text(function.get("name"))
        call = self._find_call(piece.get("index"), call_id, name)
        call.id = _grown(call.id, call_id)
        call.name = _grown(call.name, name)
        if isinstance(piece.get(EXTRA), Mapping):
            call.extra = piece[EXTRA]
        arguments = function.get("arguments")
        if arguments is not None:
            told = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            call.arguments.append(told)
            self.size += len(told)
        self.size += len(call_id) + len(name)

    def _find_call(self, index: Any, call_id: str, name: str) -> _Call:
        if isinstance(index, int):
            known = self._by_index.get(index)
            if known is None or self._begins_another(known, call_id, name):
                known = self._by_index[index] = self._begin()
            return known
        last = self._calls[-1] if self._calls else None
        if last is None or (call_id and last.id and call_id != last.id):
            return self._begin()
        return self._begin() if name and last.name and not call_id and self._is_whole(last, name) else last

    def _is_whole(self, last: _Call, name: str) -> bool:
        """Whether a name without index and id starts another call rather than repeats the last one."""
        arguments = "".join(last.arguments)
        return _is_json(arguments) if arguments.strip() else {name, last.name} <= self._tools

    def _begins_another(self, known: _Call, call_id: str, name: str) -> bool:
        """Whether it is another call: some endpoints send index 0 for all, which then differ by id and name."""
        return bool(call_id and known.id and call_id != known.id and name in self._tools and known.name in self._tools)

    def _begin(self) -> _Call:
        self._calls.append(call := _Call())
        return call

    @property
    def call_count(self) -> int:
        return len(self._calls)

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reply(self) -> Reply:
        return Reply(self.text, "".join(self._thoughts), tuple(self._numbered()), self.finish, self.usage)

    def _numbered(self) -> Iterator[RequestedCall]:
        """Yield the calls, each with an id unique in the conversation, since results are matched by id."""
        taken = set(self._known_ids)
        for call in self._calls:
            if not call.name and not call.id and not "".join(call.arguments).strip():
                continue
            call_id = call.id if call.id and call.id not in taken else f"call_{uuid.uuid4().hex[:24]}"
            taken.add(call_id)
            name = _NO_NAME_LETTERS.sub("_", call.name)[:_MAX_NAME] or "unnamed"
            yield RequestedCall(call_id, name, "".join(call.arguments).strip() or "{}", call.extra)


def _grown(sofar: str, piece: str) -> str:
    """Append the next piece of an id or name; endpoints that repeat the whole value add nothing."""
    return sofar if piece == sofar else sofar + piece


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str) and content:
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, Mapping) and isinstance(part.get("text"), str) and part["text"]:
                yield part["text"]


def _usage(told: Any) -> Usage | None:
    if not isinstance(told, Mapping):
        return None
    counts = [told.get(name) for name in ("prompt_tokens", "completion_tokens")]
    numbers = [each if isinstance(each, int) and not isinstance(each, bool) and each > 0 else 0 for each in counts]
    return Usage(*numbers) if any(numbers) else None
