"""A request as the pages see it, and their answers."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from memslot import MemslotError, Session

from memslot_inspector.markup import Markup, h

if TYPE_CHECKING:
    from memslot import Host, PluginContext

Capability = TypeVar("Capability")
MOST_PENDING = 32


class PendingChanges:
    """Settings changes that were shown but not confirmed yet; they may contain a secret."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Any] = {}

    def put(self, change: Any) -> str:
        """Store a change; return the id that the confirmation sends."""
        ident = secrets.token_urlsafe(16)
        with self._lock:
            self._known[ident] = change
            while len(self._known) > MOST_PENDING:
                del self._known[next(iter(self._known))]
        return ident

    def take(self, ident: str) -> Any:
        """Return the change, once."""
        with self._lock:
            if ident not in self._known:
                raise MemslotError("this change was written already, or is no longer known; nothing was written")
            return self._known.pop(ident)


@dataclass(frozen=True)
class Visit:
    """A request: `values` are those of the query string or of the form."""

    host: Host
    ctx: PluginContext
    values: Mapping[str, Sequence[str]]
    form_token: str
    pending: PendingChanges

    def get(self, name: str, default: str = "") -> str:
        """A value as it was sent; browsers send line ends as CRLF."""
        found = self.values.get(name)
        return found[0].replace("\r\n", "\n") if found else default

    def number(self, name: str, default: int) -> int:
        text = self.get(name)
        return int(text) if text.isdecimal() and len(text) < 9 else default

    @property
    def session(self) -> Session:
        """Users look at their own memory, so nothing is hidden."""
        return Session(self.host.agent_id, "inspector")

    def memory(self) -> tuple[str, Any]:
        """Return the named memory, or the first."""
        memories = self.host.memories
        memory_id = self.get("memory") or next(iter(memories.ids), "")
        memory = memories.get(memory_id)
        if memory is None:
            raise MemslotError(self.host.memory_problem or f"no memory {memory_id!r} is in the slot")
        return memory_id, memory

    def able(self, capability: type[Capability], verb: str) -> tuple[str, Capability]:
        """Return the named memory if it has the capability."""
        memory_id, memory = self.memory()
        if not isinstance(memory, capability):
            raise MemslotError(f"{memory_id} cannot {verb}")
        return memory_id, memory

    def host_setting(self, name: str) -> Any:
        """A setting of the inspector itself, as it is now."""
        entry = self.host.config.plugins.entries.get(self.ctx.plugin_id)
        return entry.config.get(name) if entry is not None else None

    def token_field(self) -> Markup:
        """The hidden field that every form which writes must have."""
        return h("input", type="hidden", name="form-token", value=self.form_token)


@dataclass(frozen=True)
class Page:
    """An answer; `part` is sent alone if the script requests it, to be inserted into the open page."""

    title: str
    body: Markup
    part: Markup | None = None
    status: int = 200


@dataclass(frozen=True)
class Redirect:
    """The answer to a write: a page to go to, which shows the notice of that name."""

    address: str
    notice: str = ""


Answer = Page | Redirect


def address(path: str, /, **values: object) -> str:
    """Build an address in the inspector."""
    given = {name: str(value) for name, value in values.items() if value not in (None, "")}
    return f"{quote(path)}?{urlencode(given)}" if given else quote(path)


def item_address(memory_id: str, path: str, line: int | None = None) -> str:
    """The page of an item, at a line."""
    shown = address("/browse/item", memory=memory_id, path=path, line=line)
    return f"{shown}#L{line}" if line else shown
