"""The endpoint that is spoken to: its address, model and key, and what of them may be said."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from memslot.memory.redact import REDACTED, redact

_PATH = "/chat/completions"
_PIECE = 8
"""A server that shortens a key when it names it shows about this much of it at a time."""


@dataclass(frozen=True)
class Service:
    """An OpenAI-compatible chat API as messages name it; nothing secret is in its text form."""

    base_url: str = field(repr=False)
    model: str
    key: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"the chat endpoint at {self.address}"

    @property
    def address(self) -> str:
        """The base URL without what may be secret in it."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        place = f"[{host}]" if ":" in host else host
        return urlunsplit((parts.scheme, f"{place}:{parts.port}" if parts.port else place, parts.path, "", ""))

    @property
    def chat_url(self) -> str:
        """Where a request goes; a query in the base URL, such as an API version, stays at its end."""
        parts = urlsplit(self.base_url)
        path = parts.path.rstrip("/")
        return urlunsplit(parts._replace(path=path if path.endswith(_PATH) else path + _PATH, fragment=""))

    @property
    def is_local(self) -> bool:
        """Whether it is this very machine, to which no proxy leads."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def hide(self, text: str) -> str:
        """A text without the key, without longer pieces of it, and without whatever else looks like one."""
        parts = urlsplit(self.base_url)
        for secret in {self.key or "", unquote(parts.password or "")} - {""}:
            for form in (secret, quote(secret, safe="")):
                text = _without(text, form)
        return redact(text)


def _without(text: str, secret: str) -> str:
    text = text.replace(secret, REDACTED) if len(secret) >= 4 else text
    at = 0
    while at <= len(text) - _PIECE:
        if text[at : at + _PIECE] not in secret:
            at += 1
            continue
        end = at + _PIECE
        while end < len(text) and text[at : end + 1] in secret:
            end += 1
        text = text[:at] + REDACTED + text[end:]
        at += len(REDACTED)
    return text
