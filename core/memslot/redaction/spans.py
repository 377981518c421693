"""Locations of the secrets in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memslot.redaction import names
from memslot.redaction.phrases import find_phrased
from memslot.redaction.rules import find_shapes, find_tokens
from memslot.redaction.values import is_placeholder, looks_random

Span = tuple[int, int]
_MIN_TOKEN = 14
_EXAMINED_CHARS = 64
"""Only the beginning of a long token is tested for randomness."""


def find(text: str) -> list[Span]:
    """Return the span of every secret, in order and without overlaps."""
    # Tokens are longer than most words: skip short ones. Line by line, because splitting a large text at once takes
    # ten times its memory.
    long_words = " ".join([word for line in text.split("\n") for word in line.split() if len(word) >= _MIN_TOKEN])
    folded = fold(text)
    pattern = names.pattern(folded)
    return merged(
        (
            *(_tokens(text, long_words) if long_words else ()),
            *find_shapes(text, long_words),
            *_keys(text),
            *find_phrased(text, folded),
            *(_after_names(text, folded, pattern) if pattern is not None else ()),
        )
    )


def merged(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and merge those that touch."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        elif end > start:
            joined.append((start, end))
    return joined


def replaced(text: str, spans: Iterable[Span], mark: str) -> str:
    kept, at = list[str](), 0
    for start, end in spans:
        kept += text[at:start], mark
        at = end
    kept.append(text[at:])
    return "".join(kept)


def _after_names(text: str, folded: str, pattern: names.NamePattern) -> Iterator[Span]:
    # Imported late: most texts name no secret, and the patterns take 4 ms to compile.
    from memslot.redaction.named import find_named
    from memslot.redaction.tables import find_in_tables

    for start, end in (*find_named(text, folded, pattern), *find_in_tables(text, pattern)):
        if not text.startswith(_DASHES, start):  # a PEM border below a name is not a value
            yield start, end


def _tokens(text: str, long_words: str) -> Iterator[Span]:
    for rule, match in find_tokens(text, long_words):
        body = match[1][:_EXAMINED_CHARS]
        if rule.certain or (looks_random(body) and not is_placeholder(body)):
            yield match.span()


_DASHES = "----"
_BORDER = re.compile(r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_BODY = re.compile(r"(?:(?:\r?\n|\\n)[ \t>]*(?:[A-Za-z0-9+/=]+|[A-Z][\w-]+: [^\n]*)?[ \t]*(?=\r?\n|\\n|\Z|\"))*")


def _keys(text: str) -> Iterator[Span]:
    """Yield PEM private keys; one without an END line extends over all base64 lines."""
    if " PRIVATE KEY" not in text:
        return
    begin: int | None = None
    inside = 0
    for border in _BORDER.finditer(text):
        if border[1] == "END":
            if begin is not None and re.search(r"[A-Za-z0-9+/]{12}", text[inside : border.start()]):
                yield begin, border.end()
            begin = None
            continue
        if begin is not None:
            yield from _open_key(text, begin, inside)
        begin, inside = border.span()
    if begin is not None:
        yield from _open_key(text, begin, inside)


def _open_key(text: str, begin: int, inside: int) -> Iterator[Span]:
    body = _BODY.match(text, inside)
    if body and body[0].strip():
        yield begin, body.end()


def fold(text: str) -> str:
    """Lower-case a text without changing any offset."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return folded if folded.isascii() else folded.replace("ſ", "s").replace("ı", "i")
