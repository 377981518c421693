"""A store item as a Markdown note: a front-matter block for programs, and below it the text that is searched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from langgraph.store.base import Item, SearchItem, get_text_at_path
from memslot import MemslotError

Index = Literal[False] | list[str] | None
"""The `index` argument of `put`: index nothing (False), these fields, or everything (None)."""
_EDGE = "---"
_NAMES = ("namespace", "key", "created", "updated", "index", "value")


@dataclass(frozen=True)
class Stored:
    """An item as its note records it."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    created: datetime
    updated: datetime
    index: Index = None

    def to_item(self) -> Item:
        return Item(
            value=dict(self.value),
            key=self.key,
            namespace=self.namespace,
            created_at=self.created,
            updated_at=self.updated,
        )

    def to_search_item(self, score: float | None) -> SearchItem:
        return SearchItem(self.namespace, self.key, dict(self.value), self.created, self.updated, score)

    def to_note(self) -> bytes:
        """The whole file; raises a MemslotError if the value is not JSON."""
        told = {
            "namespace": list(self.namespace),
            "key": self.key,
            "created": self.created.isoformat(),
            "updated": self.updated.isoformat(),
            "index": self.index,
            "value": self.value,
        }
        try:
            block = [f"{name}: {_json(told[name])}" for name in _NAMES]
            text = "\n".join(self._searched())
        except (TypeError, ValueError, RecursionError) as error:
            raise MemslotError(f"the value of {self.key!r} cannot be kept, since it is not JSON: {error}") from None
        note = "\n".join([_EDGE, *block, _EDGE, "", *([text] if text else []), ""])
        return note.encode("utf-8", "replace")  # the block escapes what would be replaced

    def _searched(self) -> Iterator[str]:
        if self.index is None:
            yield from _leaves("", self.value)
        else:
            for path in self.index or ():
                yield from (f"{path}: {text}" for text in get_text_at_path(self.value, path))


def read_note(data: bytes) -> Stored | None:
    """Return the item in a note, or None if there is none. Raises a ValueError for a malformed block."""
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[0].rstrip("\r") != _EDGE:
        return None
    told: dict[str, Any] = {}
    for line in lines[1:]:
        if line.rstrip("\r") == _EDGE:
            break
        name, _, written = line.partition(":")
        if name in _NAMES:
            told[name] = _read_json(written)
    else:
        raise ValueError("its block has no end")
    if not {"namespace", "key", "value"} <= told.keys():
        return None
    if not isinstance(told["value"], dict):
        raise ValueError("its value is not an object")
    created = datetime.fromisoformat(str(told.get("created")))
    return Stored(
        namespace=tuple(str(label) for label in told["namespace"]),
        key=str(told["key"]),
        value=told["value"],
        created=created,
        updated=datetime.fromisoformat(str(told.get("updated") or created)),
        index=told.get("index"),
    )


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_mapping)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can hold
        text = json.dumps(value, allow_nan=False, default=_mapping)
    return text


def _mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def _leaves(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(f"{path}.{name}" if path else str(name), each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(path, each)
    elif value is not None:
        yield f"{path}: {value}"
