"""Secrets identified by their name: `DB_PASS=…`, `**Password:** …`, `密码：…`."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, cast

from memslot.redaction import names
from memslot.redaction.values import Kind, is_secret, is_strong

_MAX_NAME = 48
_MAX_LINE = 200
_NAME_CHARACTERS = string.ascii_lowercase + string.digits + "_.-"
_EXAMINED_CHARS = 64
"""Only the beginning of a value is examined, which bounds the work for a text full of names."""
_COMMAND = re.compile(r"\s*(?:(?:set|setx|env|arg|export)\s)?", re.IGNORECASE)
_ONLY_WORDS = re.compile(r"[\s>*\-+#|]*(?:\w+[ ]){0,2}")
_MARKUP_END = re.compile(r"(?:\*{1,3}|`|_{2})$")
_PHRASE = re.compile(r"[a-z]{3,}(?: [a-z]{3,}){3,}")
_SENTENCE_WORD = re.compile(r"\b(?:the|and|or|words?|must|with|for|see|more)\b")
_AMBIGUOUS = ("pass", "pw", "clave")
"""Ambiguous words: what follows is a password only if it looks like one."""
_TAG = ("<", 'name="', "name='", 'key="', "key='")
_DIGIT = re.compile(r"[^\s\d]{0,63}\d")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class _Name(NamedTuple):
    """A name that suggests a secret, and the gap between it and its value."""

    name: str
    word: str
    kind: Kind
    before: str
    """The line up to the name."""
    gap: re.Match[str]

    @property
    def quote(self) -> str:
        return self.gap["quote"] or ""

    @property
    def is_flag(self) -> bool:
        return self.before.endswith("--") or self.name.startswith("--")

    @property
    def has_value(self) -> bool:
        """Whether a value may follow: a bare space or `>` is mostly followed by another word."""
        if self.gap["markup"]:
            return self.before.endswith(_TAG) or self.gap["markup"] != ">"
        return not (self.gap["extra"] and self._extra_is_other) and not self.before.rpartition(" ")[2].startswith(
            "arn:"
        )

    @property
    def _extra_is_other(self) -> bool:
        """`token type: …`, `key findings: …`."""
        return self.kind == "key" or names.is_other(self.gap["extra"].strip())

    @property
    def is_vague(self) -> bool:
        """Whether a plain word is more likely than a value: `password X`, `f("token", "X")`, `password staging: X`."""
        gap = self.gap
        if gap["space"]:
            is_quoted = bool(self.quote) and self.word != "pass"  # "pass 'x' to it"
            return not (self.is_flag or self.begins_line or is_quoted or self.word == "secret")
        return bool(gap["extra"] or gap["argument"])

    @property
    def begins_line(self) -> bool:
        is_setting = self.name.lower() != "pass" and (self.kind == "password" or self.name.isupper())
        return is_setting and _COMMAND.fullmatch(self.before) is not None

    @property
    def is_loose(self) -> bool:
        """Whether a sentence may continue after the gap."""
        gap = self.gap
        return bool(gap["verb"] or gap["space"] or gap["more"] or gap["cell"] or gap["argument"])

    @property
    def is_assigned(self) -> bool:
        if self.quote:
            return True
        gap = self.gap
        return not self.is_loose and bool(gap["equals"] or gap["markup"] or gap["attribute"])

    @property
    def is_variable(self) -> bool:
        return self.is_assigned and self.name.isupper() and self.name.isascii()

    @property
    def value_kind(self) -> Kind:
        if self.kind == "key" and self.gap["equals"] and self.before[-1:] in ("?", "&"):
            return "token"  # ?key=…
        if self.word == "secret" and self.is_variable:
            return "password"  # SECRET=…
        return self.kind


def find_named(text: str, folded: str, pattern: names.NamePattern) -> Iterator[tuple[int, int]]:
    gap, at = names.gap(), 0
    for first, last in pattern.windows(folded):
        at = max(at, first)
        while (word := pattern.regex.search(folded, at, last)) is not None:
            at = word.end()
            right = folded[at : at + _MAX_NAME]
            end = at + len(right) - len(right.lstrip(_NAME_CHARACTERS))
            between = gap.match(folded, end)
            name = _named(text, folded, word, end, between) if between is not None else None
            span = _secret_after(text, name) if name is not None else None
            if span is not None:
                yield span
                at = max(at, span[1])


def _named(text: str, folded: str, word: re.Match[str], end: int, gap: re.Match[str]) -> _Name | None:
    left = folded[max(0, word.start() - _MAX_NAME) : word.start()]
    start = word.start() - len(left) + len(left.rstrip(_NAME_CHARACTERS))
    kind = names.kind_of(text[start:end], word.start() - start, word[0], cast("Kind", word.lastgroup), left)
    if kind is None:
        return None
    earliest = max(0, start - _MAX_LINE)
    line_start = max(earliest, text.rfind("\n", earliest, start) + 1)
    return _Name(text[start:end], word[0], kind, text[line_start:start], gap)


def _secret_after(text: str, name: _Name) -> tuple[int, int] | None:
    start = name.gap.end()
    if not name.has_value or (name.is_vague and _DIGIT.match(text, start) is None):
        return None
    if (phrase := _seed_phrase(text, start, name.word)) is not None:
        return phrase
    value = _value(name.quote).match(text, start, start + _EXAMINED_CHARS)
    shown = value[0] if value is not None else ""
    if not name.quote:
        shown = _bare(shown)
    end = start + len(shown)
    alone = not name.is_loose and name.word not in _AMBIGUOUS and _is_alone(text, name.before, end)
    kind, assigned = name.value_kind, name.is_assigned
    if not shown or (shown[0].isspace() and name.quote != "«") or (name.is_vague and not is_strong(shown, kind)):
        return None
    if not is_secret(shown, kind, assigned=assigned, alone=alone, is_variable=name.is_variable):
        return None
    if len(shown) == _EXAMINED_CHARS and (rest := _value(name.quote).match(text, end)) is not None:
        end = rest.end()
    return start, end


def _seed_phrase(text: str, start: int, word: str) -> tuple[int, int] | None:
    if word not in ("mnemonic", "passphrase") and not word.startswith("seed"):
        return None
    phrase = _PHRASE.match(text, start)
    return phrase.span() if phrase and not _SENTENCE_WORD.search(phrase[0]) else None


def _bare(value: str) -> str:
    """Strip trailing punctuation, Markdown and CJK text from a value."""
    if not value.isascii() and value[0].isascii() and (cjk := _CJK.search(value)):
        value = value[: cjk.start()]
    return _MARKUP_END.sub("", value.rstrip(".:;,?"))


def _is_alone(text: str, before: str, end: int) -> bool:
    """Whether a line contains a name, its value and little else."""
    rest = text[end : end + 3].split("\n")[0]
    return not rest.strip(" \t*`_\"'.,;)|") and _ONLY_WORDS.fullmatch(before) is not None


@cache
def _value(quote: str) -> re.Pattern[str]:
    """Match a whole value. A comma or semicolon belongs to it unless another setting or a space follows."""
    if quote:
        end = {"“": "”", "„": "“”", "«": "»", "「": "」"}.get(quote, quote[-1])
        escape = rf"\\(?![{end}])." if quote.startswith("\\") else r"\\."
        return re.compile(rf"(?:[^\n{end}\\]++|{escape})*+")
    more = r"[ \t]*[\w.\"' -]{1,40}[=:]"
    return re.compile(
        rf"""(?:[^\s"'`<>,;&|()，。、；）」\[\]{{}}]++|[,;&|](?!\s|\Z|{more})|["'`](?=[^\s,;)}}\]:.])|[<>(\[{{]"""
        r"""|[)\]}](?=[^\s,;.:)\]}'"`]))++"""
    )
