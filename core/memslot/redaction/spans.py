"""Where the secrets of a text are."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from functools import cache
from typing import cast

from memslot.redaction import names
from memslot.redaction.phrases import find_phrased
from memslot.redaction.rules import find_shapes, find_tokens
from memslot.redaction.values import Kind, is_placeholder, is_secret, looks_random

Span = tuple[int, int]
_SHORTEST_TOKEN = 14
_LONGEST_NAME = 48
_NAME_CHARACTERS = string.ascii_lowercase + string.digits + "_.-"
_LOOKED_AT = 64
"""Of a long value its beginning decides, so that a text full of names is not read over and over."""


def find(text: str) -> list[Span]:
    """Where every secret begins and ends, in order; none overlap."""
    # Every token is longer than most words: what is too short for one is not looked at again.
    long_words = " ".join([word for word in text.split() if len(word) >= _SHORTEST_TOKEN])
    folded = fold(text)
    found = sorted(
        (
            *(_tokens(text, long_words) if long_words else ()),
            *find_shapes(text, long_words),
            *_keys(text),
            *find_phrased(text, folded),
            *_named(text, folded),
        )
    )
    merged: list[Span] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif end > start:
            merged.append((start, end))
    return merged


def _tokens(text: str, long_words: str) -> Iterator[Span]:
    for rule, match in find_tokens(text, long_words):
        body = match[1][:_LOOKED_AT]
        if rule.certain or (looks_random(body) and not is_placeholder(body)):
            yield match.span()


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


@cache
def _value(quote: str) -> re.Pattern[str]:
    """The rest of a value. A comma or semicolon is part of it unless another setting or a space follows."""
    if quote:
        end = {"“": "”", "„": "“”", "«": "»", "「": "」"}.get(quote, quote[-1])
        return re.compile(rf"(?:[^\n{end}\\]|\\(?![{end}]).)*" if quote.startswith("\\") else rf"(?:[^\n{end}\\]|\\.)*")
    more = r"[ \t]*[\w.\"' -]{1,40}[=:]"
    return re.compile(
        rf"""(?:[^\s"'`<>,;&|()，。、；）」\[\]{{}}]|[,;&|](?!\s|\Z|{more})|["'`](?=[^\s,;)}}\]:.])|[<>(\[{{]|[)\]}}](?=[^\s,;.:)\]}}'"`]))+"""
    )


def fold(text: str) -> str:
    """The text in small letters, every character in its place."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return folded if folded.isascii() else folded.replace("ſ", "s").replace("ı", "i")


def _named(text: str, folded: str) -> Iterator[Span]:
    pattern = names.pattern(folded)
    if pattern is None:
        return
    gap, at = names.gap(), 0
    while (word := pattern.search(folded, at)) is not None:
        at = word.end()
        right = folded[at : at + _LONGEST_NAME]
        end = at + len(right) - len(right.lstrip(_NAME_CHARACTERS))
        between = gap.match(folded, end)
        if between is None:
            continue
        left = folded[max(0, word.start() - _LONGEST_NAME) : word.start()]
        start = word.start() - len(left) + len(left.rstrip(_NAME_CHARACTERS))
        kind: Kind | None = names.kind_of(
            text[start:end], word.start() - start, word[0], cast("Kind", word.lastgroup), left
        )
        span = _judge(text, start, between, kind, word[0]) if kind is not None else None
        if span is not None:
            yield span
            at = max(at, span[1])


def _judge(text: str, name_start: int, gap: re.Match[str], kind: Kind, word: str) -> Span | None:
    start, quote = gap.end(), gap["quote"] or ""
    value = _value(quote).match(text, start, start + _LOOKED_AT)
    if value is None or not value[0]:
        return None
    line_start = text.rfind("\n", max(0, name_start - 200), name_start) + 1
    before = text[line_start:name_start]
    is_flag = before.endswith("--") or text.startswith("--", name_start)
    begins_line = kind == "password" and re.fullmatch(r"\s*(?:set )?", before)
    if gap["space"] and not (is_flag or begins_line or quote or word == "secret"):
        return None
    if gap["markup"] and not before.endswith("<"):
        return None
    shown = value[0]
    end = start + len(shown)
    if not quote:
        shown = shown.rstrip(".:;,?")
        shown = re.sub(r"(?:\*{1,3}|`|_{2})$", "", shown)
        end = start + len(shown)
    if word in ("mnemonic", "passphrase") or word.startswith("seed"):
        phrase = re.compile(r"[a-z]{3,}(?: [a-z]{3,}){3,}").match(text, start)
        if phrase and not re.search(r"\b(?:the|and|or|words?|must|with|for|see|more)\b", phrase[0]):
            return phrase.span()
    in_query = before[-1:] in ("?", "&") and bool(gap["equals"])
    rest = text[end : end + 3].split("\n")[0]
    alone = (
        not rest.strip(" \t*`_\"'.,;)|") and re.fullmatch(r"[\W\w]{0,0}[\s>*\-+#|]*(?:\w+[ ]){0,2}", before) is not None
    )
    assigned = bool(quote or gap["equals"] or gap["markup"] or gap["attribute"] or (gap["space"] and is_flag))
    if gap["verb"] or gap["space"] or gap["more"] or gap["cell"]:
        alone, assigned = False, bool(quote)
    if kind == "key" and in_query:
        kind = "token"
    name = text[name_start : gap.start()]
    is_variable = assigned and name.isupper() and name.isascii()
    if is_variable and word == "secret":
        kind = "password"
    if not shown or not is_secret(shown, kind, assigned=assigned, alone=alone, is_variable=is_variable):
        return None
    if end == start + _LOOKED_AT:
        rest_of_value = _value(quote).match(text, end)
        end = rest_of_value.end() if rest_of_value else end
    return start, end
