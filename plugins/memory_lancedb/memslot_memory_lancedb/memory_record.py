"""The memory record and its JSON form."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from memslot import encodable

Category = Literal["preference", "fact", "decision", "entity", "other"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
Leg = Literal["words", "meaning"]
LEGS: tuple[Leg, ...] = get_args(Leg)
MAX_CHARS = 10_000
"""Maximum length of a memory: one thought, not a document."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Origin:
    """Where a memory came from: conversation and message, if known."""

    session: str = ""
    message: str = ""


@dataclass(frozen=True)
class MemoryRecord:
    """One memory of one agent. `embedder` identifies its vector; empty if it has none yet."""

    text: str
    category: Category = "other"
    importance: float = 0.7
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated_at: datetime | None = None
    origin: Origin = Origin()
    embedder: str = ""

    @property
    def changed_at(self) -> datetime:
        return self.updated_at or self.created_at

    def to_json(self) -> dict[str, Any]:
        """The memory as JSON with stable keys; `from_json` reads it back losslessly."""
        return {
            "id": self.id,
            "text": self.text,
            "category": self.category,
            "importance": self.importance,
            "createdAt": self.created_at.isoformat(),
            "updatedAt": self.updated_at.isoformat() if self.updated_at is not None else None,
            "origin": {"session": self.origin.session, "message": self.origin.message},
        }

    @classmethod
    def from_json(cls, tree: Any) -> MemoryRecord:
        """The inverse of `to_json`; raises ValueError for invalid input."""
        if not isinstance(tree, dict):
            raise ValueError("a memory must be an object")
        origin = tree.get("origin") or {}
        if not isinstance(origin, dict):
            raise ValueError("origin must be an object")
        memory = cls(
            id=_checked_id(tree.get("id")),
            text=_checked_text(tree.get("text")),
            category=_checked_category(tree.get("category", "other")),
            importance=_checked_importance(tree.get("importance", 0.7)),
            created_at=_moment("createdAt", tree.get("createdAt")),
            updated_at=None if tree.get("updatedAt") is None else _moment("updatedAt", tree["updatedAt"]),
            origin=Origin(_text("session", origin.get("session", "")), _text("message", origin.get("message", ""))),
        )
        return memory if memory.updated_at != memory.created_at else replace(memory, updated_at=None)


@dataclass(frozen=True)
class SearchHit:
    """A memory that answers a query.

    `score` is its vector's similarity, or its share of the query's words if no vector was `compared`. `relevance`
    combines words and meaning on a scale of 0 to 1 and determines the order. `found_by` says which of them matched.
    """

    memory: MemoryRecord
    score: float
    relevance: float = 1.0
    found_by: tuple[Leg, ...] = ("meaning",)
    compared: bool = True
    parts: Mapping[str, float] = field(default_factory=dict, compare=False)
    """What its relevance is made of, each from 0 to 1."""

    def to_json(self) -> dict[str, Any]:
        """The hit as JSON."""
        return {
            "score": round(self.score, 4),
            "relevance": round(self.relevance, 4),
            "foundBy": list(self.found_by),
        }


def is_id(value: str) -> bool:
    return _ID.fullmatch(value) is not None


def _checked_id(value: Any) -> str:
    if not isinstance(value, str) or not is_id(value):
        raise ValueError("id must be 1 to 64 letters, digits, _ or -")
    return value


def _checked_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("text must not be empty")
    if len(value) > MAX_CHARS:
        raise ValueError(f"text must have at most {MAX_CHARS} characters")
    return encodable(value)


def _checked_category(value: Any) -> Category:
    for category in CATEGORIES:
        if value == category:
            return category
    raise ValueError(f"category must be one of {', '.join(CATEGORIES)}")


def _checked_importance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("importance must be a number from 0 to 1")
    return float(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"origin.{name} must be text")
    return encodable(value)


def _moment(name: str, value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a time such as 2026-03-05T10:30:00+00:00") from None
    if moment.tzinfo is None:
        raise ValueError(f"{name} must include a time zone, such as +00:00")
    return moment.astimezone(UTC)
