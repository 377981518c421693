"""Translates LanceDB's errors, which run over many lines of Rust, into one sentence with a next step."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from memslot import one_line, redact

from memslot_memory_lancedb.errors import StoreDamagedError, StoreError, StoreUnreachableError

_SOURCE = re.compile(r",?\s*/\S*\.rs:\d+(:\d+)?|, location: Location \{.*?\}|, backtrace: \w+")
"""Rust source locations, removed from messages."""

# In this order: a damaged file's message may also contain the word "error".
_KINDS: tuple[tuple[re.Pattern[str], type[StoreError], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind, sentence)
    for pattern, kind, sentence in (
        (
            r"no space left|file too large|disk quota|os error (28|27|122)\b",
            StoreError,
            "the disk of {place} is full: free some space to continue",
        ),
        (
            r"read-only file system|permission denied|os error (13|30)\b",
            StoreError,
            "{place} is not accessible to this user: check its owner and mode",
        ),
        (
            r"nosuchbucket|bucket does not exist",
            StoreError,
            "the bucket of {place} does not exist: create it, or correct dbPath",
        ),
        (
            r"accessdenied|invalidaccesskeyid|signaturedoesnotmatch|status: 40[13]\b|\b40[13] (forbidden|unauthorized)"
            r"|credential",
            StoreError,
            "{place} refuses these credentials: check storageOptions (aws_access_key_id, aws_secret_access_key, "
            "aws_region)",
        ),
        (
            r"error sending request|connection (refused|reset|closed)|timed? ?out|dns error|dispatch failure"
            r"|status: 50[0-9]|connect error|tcp connect|network is unreachable",
            StoreUnreachableError,
            "{place} does not answer: memory resumes by itself when it is back",
        ),
        (
            r"corrupt|magic|invalid (manifest|protobuf|file)|not found|failed to decode|buffer underflow|truncated"
            r"|unexpected (eof|end)|invalid tag|invalid wire|no such file|file too short|invalid range|range .* out of"
            r"|panicked|index out of bounds|out of range|protobuf|not a lance file|footer|file size is too small",
            StoreDamagedError,
            "files of {place} are damaged or missing: run memslot ltm doctor to see what can be saved",
        ),
    )
)


@contextlib.contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """Turn whatever LanceDB raises into a readable StoreError."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise as_store_error(error, place) from error
    except BaseException as error:
        # Rust panics are not Exceptions; other BaseExceptions pass through.
        if type(error).__name__ != "PanicException":
            raise
        raise as_store_error(error, place) from None


def as_store_error(error: BaseException, place: str) -> StoreError:
    """The error as a StoreError."""
    said = redact(str(error)) or type(error).__name__
    brief = one_line(_SOURCE.sub("", said).removeprefix("lance error: "), 160)
    for pattern, kind, sentence in _KINDS:
        if pattern.search(said) or (kind is StoreDamagedError and type(error).__name__ == "PanicException"):
            return kind(one_line(f"{sentence.format(place=place)} ({brief})"))
    return StoreError(one_line(f"{place} failed: {brief}"))


def is_conflict(error: BaseException) -> bool:
    """Whether it is a write conflict, so that a retry may succeed."""
    said = str(error).lower()
    return "conflict" in said or "concurrent" in said or "too many concurrent" in said


def is_missing(error: BaseException) -> bool:
    """Whether a file is missing: damage, unless an old version was just removed."""
    said = str(error).lower()
    return "not found" in said or "no such file" in said
