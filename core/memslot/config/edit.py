"""Get, set and unset single keys of a config file, preserving comments and layout."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memslot.config.keypath import MISSING, KeyPath, format_key, lookup, parse_key, put
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
"""Returns all problems of a tree."""
Changes = Sequence[tuple[str, Any]]
"""Keys and their new values; MISSING removes a key."""


def parse_cli_value(text: str) -> Any:
    """Parse a value from the command line: JSON5 if it is valid (`6`, `true`, `[a]`), else the text itself."""
    import pyjson5

    try:
        return pyjson5.decode(text, 64)
    except pyjson5.Json5Exception:
        return text


def get_value(tree: Any, key: str) -> Any:
    """Return the value at a dotted key. Raises ConfigError if it is unset."""
    path = parse_key(key)
    found = lookup(tree, path)
    if found is not MISSING:
        return found
    guess = _nearest_key(tree, path)
    hint = f"did you mean {guess}?" if guess else "`memslot config schema` lists all keys."
    raise ConfigError(f"{key} is not set; {hint}")


def _nearest_key(tree: Any, path: KeyPath) -> str | None:
    """Return the key with misspelt steps corrected, or None if a step resembles no existing one."""
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
    """Set one key of a config file, creating the file if needed; return False if it already had that value.

    A change that introduces a new problem is rejected, and nothing is written.
    """
    return change_values(path, [(key, value)], check=check)


def unset_value(path: Path, key: str, *, check: Check) -> bool:
    """Remove one key and any object left empty; return False if the key was not set."""
    return change_values(path, [(key, MISSING)], check=check)


def change_values(path: Path, changes: Changes, *, check: Check, expected: str | None = None) -> bool:
    """Set and remove (MISSING) several keys, all or none; return False if nothing changes.

    With `expected`, a file whose text has changed meanwhile is refused.
    """
    real = Path(os.path.realpath(path))  # symlinks to one file share one lock
    try:
        make_private_dir(real.parent)
        with file_lock(real.with_name(f".{real.name}.lock"), seconds=LOCK_SECONDS, what=real):
            old = read_config_file(real)
            if expected is not None and expected != ("" if old is None else old.text):
                raise ConfigError(f"{path} was changed meanwhile, and nothing was written; look at the change again.")
            before = old or _empty_file(real)
            after = _edited(before, changes, check)
            if after.text == before.text:
                return False
            bom = "\ufeff" if old and real.read_bytes().startswith(b"\xef\xbb\xbf") else ""
            mode = stat.S_IMODE(real.stat().st_mode) if old else None  # an explicit mode also replaces a 0400 file
            write_file(path, bom + after.text, mode=mode, follow_links=True)
    except FileBusyError as error:
        raise ConfigError(str(error)) from None
    except OSError as error:
        raise ConfigError(
            f"{path} could not be written ({error.strerror or error}), the old content is unchanged; "
            "check the disk's space and the permissions."
        ) from None
    return True


def preview_values(path: Path, changes: Changes, *, check: Check) -> tuple[RawConfig | None, RawConfig]:
    """The config file as it is and as `change_values` would write it."""
    real = Path(os.path.realpath(path))
    old = read_config_file(real)
    return old, _edited(old or _empty_file(real), changes, check)


def _empty_file(path: Path) -> RawConfig:
    return parse_config_bytes(path, b"" if path.suffix.lower() == ".toml" else b"{}\n")


def _edited(before: RawConfig, changes: Changes, check: Check) -> RawConfig:
    """The file after the changes. Raises ConfigError if they introduce a problem."""
    after, touched = before, []
    for key, value in changes:
        steps = parse_key(key)
        if value is MISSING:
            after = _without(after, steps)
        else:
            after = _with(after, steps, key, copied(value))
            touched.append(steps)
    if after.text != before.text:
        _refuse_new_problems(before, after, touched, check)
    return after


def _with(raw: RawConfig, steps: KeyPath, key: str, value: Any) -> RawConfig:
    _check_value(value, key)
    if _same(lookup(raw.tree, steps), value):
        return raw
    if raw.outline is None:
        from memslot.config.toml_edit import set_in_toml

        text = set_in_toml(raw.text, steps, value)
    else:
        from memslot.config.json5_edit import set_in_text

        text = set_in_text(raw.text, steps, value, strict_json=_is_strict_json(raw.path))
    return _checked_edit(raw, text, lambda tree: put(tree, steps, value))


def _without(raw: RawConfig, steps: KeyPath) -> RawConfig:
    if lookup(raw.tree, steps) is MISSING:
        return raw
    removed = [steps]
    if raw.outline is None:
        from memslot.config.toml_edit import unset_in_toml

        text = unset_in_toml(raw.text, steps)
    else:
        from memslot.config.json5_edit import is_empty_object, unset_in_text

        text = unset_in_text(raw.text, steps)
        while len(removed[-1]) > 1 and is_empty_object(text, owner := removed[-1][:-1]):
            removed.append(owner)
            text = unset_in_text(text, owner)
    return _checked_edit(raw, text, lambda tree: _unset_all(tree, removed))


def _checked_edit(before: RawConfig, text: str, apply: Callable[[dict[str, Any]], None]) -> RawConfig:
    """Parse the edited text and verify that it contains exactly the intended change."""
    wanted = copied(before.tree)
    apply(wanted)
    after = parse_config_bytes(before.path, text.encode("utf-8"))
    if not _same(after.tree, wanted):
        raise ConfigError(f"{before.path} is written in a way that cannot be edited safely; change it by hand.")
    return after


def _refuse_new_problems(before: RawConfig, after: RawConfig, touched: Sequence[KeyPath], check: Check) -> None:
    old = Counter(_identity(problem) for problem in check(before.tree))
    new = []
    for problem in check(after.tree):
        if any(_is_inside(problem.key, each) for each in touched) or old[_identity(problem)] == 0:
            new.append(problem)
        else:
            old[_identity(problem)] -= 1
    if new:
        raise ConfigError(f"{before.path} was not changed, because the result would not be valid:", new)


def _identity(problem: ConfigProblem) -> tuple[str, str, str | None]:
    # Removing an item shifts list indices; that is not a new problem.
    return re.sub(r"\[\d+\]", "[]", problem.key), problem.reason, problem.value


def _is_inside(key: str, touched: KeyPath) -> bool:
    """Whether a problem is inside the value just set; `list.0` and `list[0]` are the same place."""
    try:
        path = parse_key(key)
    except ConfigError:  # a problem with the whole file
        return False
    return [str(step) for step in path[: len(touched)]] == [str(step) for step in touched]


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
    """Compare as JSON: True differs from 1, and NaN equals NaN."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other) or (one is not MISSING and one != one and other != other)


def _check_value(value: Any, key: str) -> None:
    """Reject values that a config file can't represent."""
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
        except UnicodeEncodeError:  # a lone surrogate, from a broken terminal
            raise ConfigError(f"The value for {key} is not valid Unicode; type it again.") from None
    elif isinstance(value, int) and value.bit_length() > 1024:
        raise ConfigError(f"The number for {key} is too large for a config; choose a smaller one.")
    elif value is not None and not isinstance(value, int | float):
        raise ConfigError(f"The value for {key} is a {type(value).__name__}; use text, numbers, lists, objects.")


def _is_strict_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"
