"""Words cut into tokens, kept in a file: to load the tokenizer takes longer than all else that a cold search does."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from memslot import ProviderError

_MOST_KEPT = 50_000


def read_words(file: Path, origin: str, tokens: int) -> dict[str, list[int]]:
    """The words of an earlier process with that tokenizer (`origin`) and so many tokens; none where there are none."""
    try:
        kept = json.loads(file.read_bytes())
        words: dict[str, list[int]] = kept["words"] if kept["origin"] == origin else {}
        return words if all(0 <= token < tokens for ids in words.values() for token in ids) else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_words(file: Path, origin: str, words: Mapping[str, list[int]]) -> None:
    """Keep them, for this user alone. Never raises: without the file the tokenizer is asked."""
    if len(words) > _MOST_KEPT:
        words = dict(list(words.items())[-_MOST_KEPT:])
    try:
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".tmp-")
        with os.fdopen(handle, "w", encoding="utf-8") as written:
            json.dump({"origin": origin, "words": words}, written)
        Path(temporary).replace(file)
    except OSError:
        return


def origin_of(tokenizer: Path) -> str:
    """Tells one tokenizer's file from another."""
    try:
        status = tokenizer.stat()
    except OSError as error:
        raise ProviderError(f'static has no tokenizer in "{tokenizer.parent}" ({error.strerror})') from None
    return f"{status.st_size}:{status.st_mtime_ns}:{tokenizer}"
