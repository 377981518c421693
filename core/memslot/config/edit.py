"""Get, set and unset single keys of a config file, keeping everything else a person wrote."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memslot.config.keypath import MISSING, KeyPath, format_key, list_index, lookup, parse_key
from memslot.config.merge import copied
from memslot.config.problems import ConfigProblem
from memslot.config.read import RawConfig, parse_config_bytes, read_config_file
from memslot.config.spelling import nearest
from memslot.errors import ConfigError, FileBusyError
from memslot.storage.atomic import write_file
from memslot.storage.folder import make_private_dir
from memslot.storage.lock import file_lock

LOCK_SECONDS = 20.0
Check = Callable[[Mapping[str, Any]], Sequence[ConfigProblem]]
"""Tells everything that is wrong with a tree."""


def parse_cli_value(text: str) -> Any:
    """A value from the command line: JSON5 if it reads as that (`6`, `true`, `[a]`), else the text itself."""
    import pyjson5

    try:
        return pyjson5.decode(text, 64)
    except pyjson5.Json5Exception:
        return text


def get_value(tree: Any, key: str, default: Any = MISSING) -> Any:
    """The value at a dotted key of a tree; a ConfigError when there is none and no default."""
    path = parse_key(key)
    found = lookup(tree, path)
    if found is not MISSING:
        return found
    if default is not MISSING:
        return default
    guess = _nearest_key(tree, path)
    hint = f"did you mean {guess}?" if guess else "`memslot config schema` lists the keys there are."
    raise ConfigError(f"{key} is not set; {hint}")


def _nearest_key(tree: Any, path: KeyPath) -> str | None:
    """The key with each misspelt step corrected, where all of them are near one that is there."""
    found: list[str | int] = []
    for step in path:
        if lookup(tree, (step,)) is MISSING:
            near = nearest(str(step), tree) if isinstance(tree, dict) else None
            if near is None:
                return None
            step = near
        found.append(step)
        tree = lookup(tree, (step,))
    return format_key(tuple(found))


def set_value(path: Path, key: str, value: Any, *, check: Check) -> bool:
    """Write one key into a config file, which is created if missing; False when it already had that value.

    A result with a problem that the file did not have before is refused and nothing is written.
    """
    steps = parse_key(key)
    value = copied(value)
    _check_value(value, key)

    def edit(raw: RawConfig) -> str:
        if _same(lookup(raw.tree, steps), value):
            return raw.text
        if raw.outline is None:
            from memslot.config.toml_edit import set_in_toml

            return set_in_toml(raw.text, steps, value)
        from memslot.config.json5_edit import set_in_text

        return set_in_text(raw.text, steps, value, strict_json=_is_strict_json(raw.path))

    return _changed(path, edit, lambda tree: _set(tree, steps, value), steps, check)


def unset_value(path: Path, key: str, *, check: Check) -> bool:
    """Remove one key from a config file, and objects that are empty then; False when it was not there."""
    steps = parse_key(key)
    removed = [steps]

    def edit(raw: RawConfig) -> str:
        if lookup(raw.tree, steps) is MISSING:
            return raw.text
        if raw.outline is None:
            from memslot.config.toml_edit import unset_in_toml

            return unset_in_toml(raw.text, steps)
        from memslot.config.json5_edit import is_empty_object, unset_in_text

        text = unset_in_text(raw.text, steps)
        while len(removed[-1]) > 1 and is_empty_object(text, owner := removed[-1][:-1]):
            removed.append(owner)
            text = unset_in_text(text, owner)
        return text

    return _changed(path, edit, lambda tree: _unset_all(tree, removed), None, check)


def _changed(
    path: Path,
    edit: Callable[[RawConfig], str],
    apply: Callable[[dict[str, Any]], None],
    touched: KeyPath | None,
    check: Check,
) -> bool:
    real = Path(os.path.realpath(path))  # two links to one file share one lock
    try:
        make_private_dir(real.parent)
        with file_lock(real.with_name(f".{real.name}.lock"), seconds=LOCK_SECONDS, what=real):
            old = read_config_file(real)
            before = old or parse_config_bytes(real, b"" if real.suffix.lower() == ".toml" else b"{}\n")
            text = edit(before)
            if text == before.text:
                return False
            after = _checked_edit(before, text, apply)
            _refuse_new_problems(before, after, touched, check)
            bom = "\ufeff" if old and real.read_bytes().startswith(b"\xef\xbb\xbf") else ""
            mode = stat.S_IMODE(real.stat().st_mode) if old else None  # forced: who sets a key means it, 0400 or not
            write_file(path, bom + text, mode=mode, follow_links=True)
    except FileBusyError as error:
        raise ConfigError(str(error)) from None
    except OSError as error:
        raise ConfigError(
            f"{path} could not be written ({error.strerror or error}), the old content is unchanged; "
            "check the disk's space and the permissions."
        ) from None
    return True


def _checked_edit(before: RawConfig, text: str, apply: Callable[[dict[str, Any]], None]) -> RawConfig:
    """Parse the edited text and make sure that it says what was asked for, and nothing else changed."""
    wanted = copied(before.tree)
    apply(wanted)
    after = parse_config_bytes(before.path, text.encode("utf-8"))
    if not _same(after.tree, wanted):
        raise ConfigError(f"{before.path} is written in a way that cannot be edited safely; change it by hand.")
    return after


def _refuse_new_problems(before: RawConfig, after: RawConfig, touched: KeyPath | None, check: Check) -> None:
    old = Counter(_identity(problem) for problem in check(before.tree))
    new = []
    for problem in check(after.tree):
        if (touched and _is_inside(problem.key, touched)) or old[_identity(problem)] == 0:
            new.append(problem)
        else:
            old[_identity(problem)] -= 1
    if new:
        raise ConfigError(f"{before.path} was not changed, because the result would not be valid:", new)


def _identity(problem: ConfigProblem) -> tuple[str, str, str | None]:
    # Places in a list shift when an item goes; that makes no new problem.
    return re.sub(r"\[\d+\]", "[]", problem.key), problem.reason, problem.value


def _is_inside(key: str, touched: KeyPath) -> bool:
    """Whether a problem is about the value that was just set; `list.0` and `list[0]` are one place."""
    try:
        path = parse_key(key)
    except ConfigError:  # a problem of the file as a whole
        return False
    return [str(step) for step in path[: len(touched)]] == [str(step) for step in touched]


def _set(tree: dict[str, Any], path: KeyPath, value: Any) -> None:
    owner: Any = tree
    for position, step in enumerate(path):
        last = position == len(path) - 1
        index = list_index(step) if isinstance(owner, list) else None
        place: Any = step if index is None else index
        if last:
            fresh = copied(value)
        else:
            fresh = [] if isinstance(path[position + 1], int) else {}
        current = lookup(owner, (step,))
        if last or current is MISSING or current is None:
            if isinstance(owner, list) and place == len(owner):
                owner.append(fresh)
            else:
                owner[place] = fresh
        owner = lookup(owner, (step,))


def _unset_all(tree: dict[str, Any], paths: Sequence[KeyPath]) -> None:
    for path in paths:
        _unset(tree, path)


def _unset(tree: dict[str, Any], path: KeyPath) -> None:
    owner = lookup(tree, path[:-1])
    if isinstance(owner, list):
        del owner[int(path[-1])]
    else:
        del owner[path[-1]]


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: True is not 1, and NaN is NaN."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other) or (one is not MISSING and one != one and other != other)


def _check_value(value: Any, key: str) -> None:
    """Refuse what no config file could hold."""
    if isinstance(value, dict):
        for name, item in value.items():
            _check_value(name, key)
            _check_value(item, key)
    elif isinstance(value, list):
        for item in value:
            _check_value(item, key)
    elif isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:  # half a surrogate pair, from a broken terminal
            raise ConfigError(f"The value for {key} is not valid Unicode; type it again.") from None
    elif isinstance(value, int) and value.bit_length() > 1024:
        raise ConfigError(f"The number for {key} is too large for a config; choose a smaller one.")
    elif value is not None and not isinstance(value, int | float):
        raise ConfigError(f"The value for {key} is a {type(value).__name__}; use text, numbers, lists, objects.")


def _is_strict_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"
