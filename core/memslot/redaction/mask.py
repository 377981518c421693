"""Masking of secrets in settings and error messages, where false positives are cheap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from memslot.redaction.names import is_secret_name

if TYPE_CHECKING:
    from memslot.redaction.spans import Span

MASKED = "***"
_MIN_CHARS, _PIECE = 4, 8  # servers quote about eight characters of a truncated key
# Looser than redaction: anything with a key's prefix is masked, even if too short.
_KEY_PREFIX = re.compile(
    r"(?i:bearer )\s*\S+|\b(?:sk|pk|rk|ghp|gho|pat|xox[abprs])[-_][A-Za-z0-9]\S*"
    r"|AIza\S*|\beyJ\S*"
)
_QUERY_VALUE = re.compile(r"[?&]([^=&#\s]{1,64})=([^&#\s]+)")
_QUERY_NAMES = ("key", "sig", "signature", "auth", "code", "pwd", "pass")
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


class SecretMask:
    """Replaces known secrets, fragments of them and anything that looks like a secret with `***`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets for form in (secret, quote(secret, safe=""))}
        self._short = {secret for secret in known if _MIN_CHARS <= len(secret) < _PIECE}
        self._pieces = {secret[i : i + _PIECE] for secret in known for i in range(len(secret) - _PIECE + 1)}

    def __call__(self, text: str) -> str:
        from memslot.redaction.spans import find, merged, replaced

        spans = [*self._known(text), *find(text), *(match.span() for match in _KEY_PREFIX.finditer(text))]
        if "://" in text:
            spans += _query_values(text)
        return replaced(text, merged(spans), MASKED)

    def __repr__(self) -> str:
        return "<SecretMask>"

    def _known(self, text: str) -> Iterator[Span]:
        for secret in self._short:
            yield from (match.span() for match in re.finditer(re.escape(secret), text))
        if self._pieces:
            for i in range(len(text) - _PIECE + 1):
                if text[i : i + _PIECE] in self._pieces:
                    yield i, i + _PIECE


def is_reference(value: str) -> bool:
    """Whether a value is `${NAME}`, a reference to a secret rather than the secret."""
    return _REFERENCE.fullmatch(value) is not None


def _query_values(text: str) -> Iterator[Span]:
    for match in _QUERY_VALUE.finditer(text):
        is_secret = match[1].lower() in _QUERY_NAMES or is_secret_name(match[1])
        if is_secret and not is_reference(match[2]):
            yield match.span(2)
