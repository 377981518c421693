"""An answer of a model, put together from the pieces in which it comes."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_NO_NAME_LETTERS = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
THOUGHTS, EXTRA = "reasoning_content", "extra_content"
"""Names that endpoints use for what a model thinks, and for what belongs to a call."""


@dataclass(frozen=True)
class Usage:
    """Tokens as the endpoint counted them."""

    input: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input + other.input, self.output + other.output)

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(frozen=True)
class RequestedCall:
    """A tool call as the model asked for it; `arguments` is the text it sent, JSON or not.

    `extra` is what the endpoint added to it and wants back with it, such as Gemini's signature of a thought.
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
    """A whole answer. `finish` is the endpoint's reason for its end, empty where it gave none.

    `thoughts` are for nobody to see; but DeepSeek and Kimi refuse a conversation in which those of a turn with tool
    calls are missing.
    """

    text: str = ""
    thoughts: str = ""
    calls: tuple[RequestedCall, ...] = ()
    finish: str = ""
    usage: Usage | None = None

    def to_message(self) -> dict[str, Any]:
        """As it stands in a conversation."""
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
    """Takes the endpoint's chunks in turn; what has come so far is the reply so far.

    Endpoints differ in how they cut up tool calls: with an index or without, whole or in pieces, ids and names once
    or in every piece, arguments as text or as an object, several calls under one index.
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
        """Characters of all that came: text, thoughts, names and arguments."""

    def add(self, chunk: Mapping[str, Any]) -> Iterator[str]:
        """Take a chunk; gives the pieces of text in it. Whatever is not of the right type is passed over."""
        self.usage = _usage(chunk.get("usage")) or self.usage
        choices = chunk.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, Mapping):
            return
        if isinstance(first.get("finish_reason"), str):
            self.finish = first["finish_reason"]
        said = first.get("delta") or first.get("message")  # the latter from those that do not stream
        if not isinstance(said, Mapping):
            return
        for text in _texts(said.get("content") or said.get("refusal")):
            self._text.append(text)
            self.size += len(text)
            yield text
        thought = _text(said.get(THOUGHTS))
        self._thoughts.append(thought)
        self.size += len(thought)
        pieces = said.get("tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, Mapping):
                self._add_call(piece)

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id, name = _text(piece.get("id")), _text(function.get("name"))
        call = self._call_meant(piece.get("index"), call_id, name)
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

    def _call_meant(self, index: Any, call_id: str, name: str) -> _Call:
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
        """Whether a name without an index and an id is another call's, and not the same one's again."""
        arguments = "".join(last.arguments)
        return _is_json(arguments) if arguments.strip() else {name, last.name} <= self._tools

    def _begins_another(self, known: _Call, call_id: str, name: str) -> bool:
        """Some endpoints give every call of an answer the index 0; a whole name with another id tells them apart."""
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
        """The calls, each with an id that no other call of the conversation has: results are found by it."""
        taken = set(self._known_ids)
        for call in self._calls:
            if not call.name and not call.id and not "".join(call.arguments).strip():
                continue
            call_id = call.id if call.id and call.id not in taken else f"call_{uuid.uuid4().hex[:24]}"
            taken.add(call_id)
            name = _NO_NAME_LETTERS.sub("_", call.name)[:_LONGEST_NAME] or "unnamed"
            yield RequestedCall(call_id, name, "".join(call.arguments).strip() or "{}", call.extra)


def _grown(sofar: str, piece: str) -> str:
    """An id or a name with its next piece; endpoints that repeat the whole thing each time add nothing."""
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
