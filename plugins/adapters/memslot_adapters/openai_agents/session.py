"""A session of the SDK, stored as a memslot transcript."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agents import SessionSettings
from memslot import Host, MemslotError, SessionStore, message_text
from memslot import Session as Place

from memslot_adapters.memory_run import run_to_completion
from memslot_adapters.tools import ChatType, session_of

if TYPE_CHECKING:
    from agents import TResponseInputItem

_ITEM = "openaiItem"
"""Key of an item that is more than a role and a text."""
_TAKEN_BACK = "takesBack"
_ROLES = ("user", "assistant", "system", "developer")


class MemorySession:
    """A session of the SDK (`Runner.run(…, session=…)`) in the agent's session store.

    `memslot sessions show` prints it, and a memory that indexes transcripts finds it. Items are returned as they were
    added. Transcripts are append-only, so a popped item stays, marked as taken back; `clear_session` deletes the
    transcript.
    """

    def __init__(
        self,
        host: Host,
        session: str | Place | None = None,
        *,
        chat_type: ChatType | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.place = session_of(host, session, chat_type)
        self.session_id = self.place.id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        workspace = host.config.workspace(self.place.agent_id, host.places)
        self._store = SessionStore.of_agent(host.places, self.place.agent_id, workspace)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first; `limit` keeps the newest."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items, _ = await run_to_completion(self._read)
        return items if limit is None else items[-limit:] if limit > 0 else []

    async def add_items(self, items: Sequence[TResponseInputItem]) -> None:
        """Add items at the end, all of them or none."""
        if items:
            await run_to_completion(self._append, [_message_of(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item, or None."""
        return await run_to_completion(self._pop)

    async def clear_session(self) -> None:
        """Permanently delete the conversation."""
        await run_to_completion(self._store.delete, self.session_id)

    def _append(self, messages: Sequence[Mapping[str, Any]]) -> None:
        if self._store.record(self.session_id) is None:
            self._store.begin(self.place, channel="openai-agents")
        self._store.append(self.session_id, messages)

    def _pop(self) -> TResponseInputItem | None:
        if not self._read()[0]:
            return None
        # Written first and looked up afterwards, so that a concurrent pop removes another item.
        mark = uuid.uuid4().hex
        self._append([{"role": "memslot", "content": "(the item before was taken back)", _TAKEN_BACK: mark}])
        return self._read()[1].get(mark)

    def _read(self) -> tuple[list[TResponseInputItem], dict[str, TResponseInputItem]]:
        """The current items, and those taken back, by mark."""
        items: list[TResponseInputItem] = []
        taken: dict[str, TResponseInputItem] = {}
        for message in self._messages():
            mark = message.get(_TAKEN_BACK)
            if isinstance(mark, str):
                if items:
                    taken[mark] = items.pop()
            elif (item := _item_of(message)) is not None:
                items.append(item)
        return items, taken

    def _messages(self) -> Sequence[Mapping[str, Any]]:
        try:
            return self._store.read(self.session_id).context
        except MemslotError:
            if self._store.record(self.session_id) is None and not self._store.path_of(self.session_id).exists():
                return ()  # not begun yet
            raise


def _message_of(item: Any) -> dict[str, Any]:
    """An item as a readable message, with the item itself inside if it is more than text."""
    plain: dict[str, Any] = dict(item) if isinstance(item, Mapping) else item.model_dump(exclude_unset=True)
    if _says_only_text(plain):
        return plain
    role = plain["role"] if plain.get("role") in _ROLES else "tool"
    return {"role": role, "content": _text_of(plain), _ITEM: plain}


def _text_of(item: Mapping[str, Any]) -> str:
    """An item's text for readers of the transcript."""
    if item.get("role") in _ROLES:
        return message_text(item)
    kind = str(item.get("type", "item"))
    if kind == "function_call":
        return f"{item.get('name')}({item.get('arguments')})"
    output = item.get("output")
    return output if isinstance(output, str) else f"({kind})"


def _item_of(message: Mapping[str, Any]) -> Any:
    """The item in a message. Messages of other programs become plain text; their tool messages None."""
    if isinstance(message.get(_ITEM), Mapping):
        return dict(message[_ITEM])
    if message.get("role") not in _ROLES:
        return None
    return {"role": message["role"], "content": message_text(message)}


def _says_only_text(item: Mapping[str, Any]) -> bool:
    return item.keys() == {"role", "content"} and item["role"] in _ROLES and isinstance(item["content"], str)
