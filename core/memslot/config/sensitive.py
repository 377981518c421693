"""Which settings are secrets, and how a value is shown in a message."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from memslot.config.keypath import KeyPath, format_key
from memslot.redaction.names import is_secret_name
from memslot.redaction.redact import find_secrets

HIDDEN = "***"
LONGEST = 60

# A setting is shown to people: what begins like a key is hidden even where it is too short to be one.
_BEGINS_LIKE_ONE = re.compile(
    r"(?i:bearer )\s*\S+|\b(?:sk|pk|rk|ghp|gho|pat|xox[abprs])[-_][A-Za-z0-9]\S*"
    r"|AIza\S*|\beyJ\S*"
)
_QUERY_VALUE = re.compile(r"(?<=[?&])([^=&#\s]{1,64})=([^&#\s]+)")
_QUERY_NAMES = ("key", "sig", "signature", "auth", "code", "pwd", "pass")


def is_secret_key(path: KeyPath) -> bool:
    """Whether the value at this path must never be printed."""
    names = [step for step in path if isinstance(step, str)]
    if any(name.lower() == "headers" for name in names[:-1]):
        return True
    return any(is_secret_name(name) for name in names)


def without_secrets(text: str) -> str:
    """A text with `***` for every secret in it: keys put where none belongs, passwords and keys inside URLs."""
    for start, end in reversed(find_secrets(text)):
        text = text[:start] + HIDDEN + text[end:]
    text = _BEGINS_LIKE_ONE.sub(HIDDEN, text)
    if "://" in text:
        text = _QUERY_VALUE.sub(_hide_query_value, text)
    return text


def _hide_query_value(match: re.Match[str]) -> str:
    is_secret = match[1].lower() in _QUERY_NAMES or is_secret_name(match[1])
    return f"{match[1]}={_reference_or_hidden(match[2])}" if is_secret else match[0]


def shown(value: Any, path: KeyPath, *, hide: bool = False) -> str:
    """A value for an error message: short, on one line, and never a secret."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is not None and not isinstance(value, bool) and (hide or is_secret_key(path)):
        return HIDDEN
    if isinstance(value, str):
        value = without_secrets(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # an integer with more digits than Python is willing to print
        return "a very large number"
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x7f", "\\u007f")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def masked(tree: Any, path: KeyPath = (), *, also: Collection[str] = ()) -> Any:
    """A copy of a config tree that can be shown to anybody: every secret is `***`, and what `also` names."""
    if path and format_key(path) in also and not isinstance(tree, bool | None):
        return _reference_or_hidden(tree)
    if isinstance(tree, dict):
        return {key: masked(value, (*path, key), also=also) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [masked(value, (*path, index), also=also) for index, value in enumerate(tree)]
    if isinstance(tree, str) and tree:
        return _reference_or_hidden(tree) if is_secret_key(path) else without_secrets(tree)
    return tree


def _reference_or_hidden(value: Any) -> str:
    """`${NAME}` names a secret and does not hold it."""
    is_reference = isinstance(value, str) and re.fullmatch(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", value)
    return str(value) if is_reference else HIDDEN
