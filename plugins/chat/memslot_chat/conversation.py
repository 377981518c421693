"""A conversation, written to the session store as it happens and reread before each turn."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memslot import Message, Session, SessionError, SessionRecord, SessionStore

from memslot_chat.reply import Usage

if TYPE_CHECKING:
    from memslot import ChatType, Host, SessionSummary

CHANNEL, ONCE = "chat", "chat-once"
"""Channels: a dialogue, or a script's one-off question, which no dialogue resumes."""


class Conversation:
    """One session of the store. Several processes may share it, so each turn starts from what is on disk."""

    def __init__(self, store: SessionStore, session: Session, channel: str = CHANNEL) -> None:
        self.store = store
        self.session = session
        self._channel = channel
        self.measured: tuple[int, int] | None = None
        """The endpoint's last token count, and the number of messages it covers."""
        self._is_begun = False

    @property
    def id(self) -> str:
        return self.session.id

    def history(self) -> tuple[list[Message], list[str | None]]:
        """Return the model's messages, and the ids of those after the summary, if any."""
        try:
            transcript = self.store.read(self.id)
        except SessionError:
            if self.store.path_of(self.id).exists():
                raise
            return [], []  # no messages yet
        context = list(transcript.context)
        said = len(context) - (transcript.compacted is not None)
        return context, [entry.id for entry in transcript.entries[len(transcript.entries) - said :]]

    def add(self, message: Message) -> str:
        """Store a message and return its id. The session is created with its first message."""
        if not self._is_begun:
            self.store.begin(self.session, channel=self._channel)
            self._is_begun = True
        return self.store.append(self.id, [message])[0]

    def count(self, usage: Usage) -> None:
        """Add an answer's tokens to the session's."""

        def counted(record: SessionRecord) -> Mapping[str, Any]:
            return {
                "inputTokens": record.input_tokens + usage.input,
                "outputTokens": record.output_tokens + usage.output,
                "totalTokens": record.total_tokens + usage.total,
            }

        self.store.update(self.id, counted)


def store_of(host: Host) -> SessionStore:
    """The conversations of a host's agent in its workspace."""
    return SessionStore.of_agent(host.places, host.agent_id, host.config.workspace(host.agent_id, host.places))


def open_conversation(host: Host, session_id: str, chat_type: ChatType | None = None) -> Conversation:
    """A conversation by its id; a known one keeps its chat type unless another is given."""
    store = store_of(host)
    record = store.record(session_id)
    kind = chat_type or (record.chat_type if record is not None else "direct")
    return Conversation(store, Session(host.agent_id, session_id, kind))


def new_conversation(host: Host, chat_type: ChatType | None = None, channel: str = CHANNEL) -> Conversation:
    """A conversation without messages."""
    store = store_of(host)
    session_id = f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"  # readable and typeable
    return Conversation(store, Session(host.agent_id, session_id, chat_type or "direct"), channel)


def last_conversation(host: Host, chat_type: ChatType) -> SessionSummary | None:
    """The dialogue of this chat type that was used last."""
    store = store_of(host)
    held = store.sessions(1, only=lambda record: record.channel == CHANNEL and record.chat_type == chat_type)
    return held[0] if held else None


def find_session(store: SessionStore, written: str) -> str:
    """Return the session with this id or id prefix; without a match, a new one with this id."""
    if not written:
        raise SessionError("A conversation's id cannot be empty; `memslot sessions list` shows all.")
    ids = store.ids()
    begins = [each for each in ids if each.startswith(written)]
    if written in ids or not begins:
        return written
    if len(begins) > 1:
        raise SessionError(f"{written!r} matches {len(begins)} conversations; write more of the id.")
    return begins[0]
