"""Where the secrets of a text are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memslot.redaction import names
from memslot.redaction.phrases import find_phrased
from memslot.redaction.rules import find_shapes, find_tokens
from memslot.redaction.values import is_placeholder, looks_random

Span = tuple[int, int]
_SHORTEST_TOKEN = 14
_LOOKED_AT = 64
"""The beginning of a long token decides whether it looks random."""


def find(text: str) -> list[Span]:
    """Where every secret begins and ends, in order; none overlap."""
    # Every token is longer than most words: what is too short for one is not looked at again. Line by line, as all
    # words of a large text at once take ten times its memory.
    long_words = " ".join([word for line in text.split("\n") for word in line.split() if len(word) >= _SHORTEST_TOKEN])
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
    """The spans in order, those that touch as one."""
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


def _after_names(text: str, folded: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    # Most texts name no secret, and the patterns for those that do take 4 ms to compile.
    from memslot.redaction.named import find_named
    from memslot.redaction.tables import find_in_tables

    for start, end in (*find_named(text, folded, pattern), *find_in_tables(text, pattern)):
        if not text.startswith(_DASHES, start):  # the border of a block on the line below a name is no value
            yield start, end


def _tokens(text: str, long_words: str) -> Iterator[Span]:
    for rule, match in find_tokens(text, long_words):
        body = match[1][:_LOOKED_AT]
        if rule.certain or (looks_random(body) and not is_placeholder(body)):
            yield match.span()


_DASHES = "----"
_BORDER = re.compile(r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_BODY = re.compile(r"(?:(?:\r?\n|\\n)[ \t>]*(?:[A-Za-z0-9+/=]+|[A-Z][\w-]+: [^\n]*)?[ \t]*(?=\r?\n|\\n|\Z|\"))*")


def _keys(text: str) -> Iterator[Span]:
    """Private keys as blocks; one without an end goes on as long as its lines are base64."""
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
    """The text in small letters, every character in its place."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return folded if folded.isascii() else folded.replace("ſ", "s").replace("ı", "i")
