"""Secret settings, and how values are shown in messages."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from memslot.config.keypath import KeyPath, format_key
from memslot.redaction.mask import MASKED, SecretMask, is_reference
from memslot.redaction.names import is_secret_name

HIDDEN = MASKED
LONGEST = 60
_mask = SecretMask()


def is_secret_key(path: KeyPath) -> bool:
    """Whether the value at this path must never be printed."""
    names = [step for step in path if isinstance(step, str)]
    if any(name.lower() == "headers" for name in names[:-1]):
        return True
    return any(is_secret_name(name) for name in names)


def shown(value: Any, path: KeyPath, *, hide: bool = False) -> str:
    """Format a value for an error message: short, on one line, secrets masked."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is not None and not isinstance(value, bool) and (hide or is_secret_key(path)):
        return HIDDEN
    if isinstance(value, str):
        value = _mask(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # an integer with more digits than Python will convert
        return "a very large number"
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x7f", "\\u007f")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def masked(tree: Any, path: KeyPath = (), *, also: Collection[str] = ()) -> Any:
    """Return a copy of a config tree that is safe to show: secrets and the keys in `also` become `***`."""
    if path and format_key(path) in also and not isinstance(tree, bool | None):
        return _reference_or_hidden(tree)
    if isinstance(tree, dict):
        return {key: masked(value, (*path, key), also=also) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [masked(value, (*path, index), also=also) for index, value in enumerate(tree)]
    if isinstance(tree, str) and tree:
        return _reference_or_hidden(tree) if is_secret_key(path) else _mask(tree)
    return tree


def _reference_or_hidden(value: Any) -> str:
    return value if isinstance(value, str) and is_reference(value) else HIDDEN
