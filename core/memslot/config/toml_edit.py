"""Edit one key of a TOML text; tomlkit preserves comments and layout."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from memslot.config.keypath import KeyPath, format_key, list_index, nested
from memslot.errors import ConfigError


def _or_by_hand(edit: Callable[..., str]) -> Callable[..., str]:
    """Turn tomlkit failures into a ConfigError: it supports less TOML than tomllib."""

    @wraps(edit)
    def guarded(*arguments: Any) -> str:
        from tomlkit.exceptions import TOMLKitError

        try:
            return edit(*arguments)
        except (TOMLKitError, ValueError, TypeError, KeyError, IndexError) as error:
            raise ConfigError(
                f"The TOML file cannot be edited safely ({type(error).__name__}); change it by hand."
            ) from None

    return guarded


@_or_by_hand
def set_in_toml(text: str, path: KeyPath, value: Any) -> str:
    """Return the text with `value` at `path`, creating missing tables."""
    import tomlkit

    if _has_null(value):
        raise ConfigError(f"{format_key(path)} cannot be null in TOML, which has no such value; unset it instead.")
    document = tomlkit.parse(text)
    owner: Any = document
    for depth, step in enumerate(path[:-1]):
        below = _get(owner, step)
        if below is None:
            _put(owner, step, nested(path[depth + 1 :], value), path[: depth + 1])
            return _dumped(document)
        owner = below
        if not isinstance(owner, dict | list):
            where = format_key(path[: depth + 1])
            raise ConfigError(f"{where} is a single value and has no keys inside; unset or replace it first.")
    _put(owner, path[-1], value, path)
    return _dumped(document)


@_or_by_hand
def unset_in_toml(text: str, path: KeyPath) -> str:
    """Return the text without the key; unchanged if the key is not set."""
    import tomlkit

    document = tomlkit.parse(text)
    owner: Any = document
    for step in path[:-1]:
        owner = _get(owner, step)
    if _get(owner, path[-1]) is None:
        return text
    if isinstance(owner, list):
        del owner[int(path[-1])]
    else:
        owner.remove(str(path[-1]))
    return _dumped(document)


def _get(owner: Any, step: str | int) -> Any:
    if isinstance(owner, dict):
        return owner.get(str(step)) if isinstance(step, str) else None
    index = list_index(step)
    return owner[index] if isinstance(owner, list) and index is not None and index < len(owner) else None


def _put(owner: Any, step: str | int, value: Any, path: KeyPath) -> None:
    if isinstance(owner, dict):
        if isinstance(step, int):
            raise ConfigError(f"{format_key(path)} is a list index, but there is a table; use a name.")
        owner[step] = value
        return
    index = list_index(step)
    if index is None or index > len(owner):
        raise ConfigError(
            f"{format_key(path)} does not exist, the list has {len(owner)} items; append with [{len(owner)}]."
        )
    if index == len(owner):
        owner.append(value)
    else:
        owner[index] = value


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_null(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(_has_null(item) for item in value)
    return value is None


def _dumped(document: Any) -> str:
    import tomlkit

    return tomlkit.dumps(document)
