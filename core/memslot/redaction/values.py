"""Tells secret values from words, paths, placeholders and code."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Literal

Kind = Literal["password", "token", "key"]
"""What the name implies: a password may be a word, a token looks random, `key` alone is weak evidence."""

_PLACEHOLDER_WORDS_TEXT = """
    your yours my the example sample placeholder changeme change insert replace dummy fake todo tbd redacted hidden
    here goes enter put null none nil undefined empty unset true false yes no string str text int integer number
    bool boolean bytes any object optional required mandatory secret password passwd token key value default invalid
    incorrect missing unknown blank inherit include encrypted hashed masked unchanged expired disabled enabled
    forgotten prompt interactive stdin env environment vault keychain obligatoria obligatorio obligatoire
    erforderlich obrigatoria siehe see ask please generated random auto automatic basic bearer digest oauth oauth2
    rotated stored saved protected unavailable
"""
_PLACEHOLDER_WORDS = frozenset(_PLACEHOLDER_WORDS_TEXT.split())
_NOT_A_VALUE = re.compile(
    r"""
      [$%@#:]?\{.* | \$\(.* | \$[A-Za-z_]\w*.* | %\w+%.* | <.* | \[.* | @\w+@ | [&*]\w+ | \\.*
    | [xX*•·.…_\-#?=]+ | (?i:none|null|nil|true|false)\W*
    | [A-Za-z_][\w.]*[\(\[].*                                   # a call or subscript
    | [A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]+)+[;,)]*             # process.env.NAME
    | [A-Z][A-Z]*(?:_[A-Z]+)+                                   # NAME_OF_A_VARIABLE
    | [A-Za-z][A-Za-z0-9+.-]*://.* | (?:arn|urn|ssh-\w+|sha\d+|md5|op|file|env|vault|doi):.* | ssh-(?:rsa|ed25519|dss)
    | \d{1,4}([-/.:])\d{1,2}\1\d{1,4}(?:[T_].*)?                # a date, a time, a version
    | v?\d+(?:\.\d+)+\S* | [+-]?\d{1,5}(?:[.,]\d+)*\s?(?:%|[a-zA-Z]{1,2})? | \d+[-–+]\d*
    | (?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.-]+(?:[/\\][\w.-]*)*     # a path
    | [\w.-]+\.(?:json|ya?ml|toml|txt|md|pem|key|crt|pub|py|js|ts|env|ini|cfg|conf|sh|p12|pfx|csv|db|html?)
    | \S*\[redacted\]\S* | \*+ | [^\w]*
    """,
    re.VERBOSE,
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_PIECES = re.compile(r"[A-Za-z0-9]+")
_WORDY = re.compile(
    r"(?:[^A-Za-z0-9]+|(?:[A-Z]?[a-z]{1,19}|[A-Z]{1,15}|\d{1,8}"  # notes, NOTES, 20240115
    r"|[A-Za-z][a-z]{0,15}(?:\d{1,3}|(?:19|20)\d\d)|\d{1,4}[a-z]{1,3}"  # sha256, q3, summer2024, 4096k
    r"|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,}|[A-Z]{2,5}(?![a-z]))+"  # camelCaseWords
    r")(?![A-Za-z0-9]))*"
)


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder, a reference or not a value at all."""
    if _NOT_A_VALUE.fullmatch(value) or len(set(value)) <= 2:
        return True
    pieces = _PIECES.findall(value.lower()) if is_wordy(value) else ()
    return any(piece in _PLACEHOLDER_WORDS or (len(set(piece)) == 1 and len(piece) > 2) for piece in pieces)


def is_wordy(value: str) -> bool:
    """Whether a value consists of words and small numbers, like file names and identifiers."""
    return _WORDY.fullmatch(value) is not None


def entropy(value: str) -> float:
    """Return the Shannon entropy, in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if value else 0.0


def looks_random(value: str) -> bool:
    """Whether a value looks generated: not words, and of sufficient entropy."""
    return not is_wordy(value) and entropy(value) >= min(2.5, 0.75 * math.log2(max(2, len(value))))


def is_strong(value: str, kind: Kind) -> bool:
    """Whether a value looks like a secret even without a name: letters and digits that don't form words."""
    has_both = any(map(str.isalpha, value)) and any(map(str.isdigit, value))
    return has_both and len(value) >= (8 if kind == "password" else 20) and not is_wordy(value)


def is_secret(value: str, kind: Kind, *, assigned: bool, alone: bool, is_variable: bool = False) -> bool:
    """Whether a named value is a secret.

    `assigned`: quoted or after `=`; `alone`: nothing else on its line; `is_variable`: assigned to a NAME.
    """
    size = len(value)
    if size < 4 or (kind != "password" and is_wordy(value) and not value.isdigit()) or is_placeholder(value):
        return False
    if kind == "password":
        return _is_password(value, assigned=assigned, alone=alone, is_variable=is_variable)
    if kind == "token":
        if _UUID.fullmatch(value):
            return True
        if value.isdigit():
            return size >= 16
        return size >= (6 if assigned else 8) and looks_random(value)
    return size >= 16 and not _UUID.fullmatch(value) and looks_random(value) and entropy(value) >= 3


def _is_password(value: str, *, assigned: bool, alone: bool, is_variable: bool) -> bool:
    size = len(value)
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    symbols = any(not c.isalnum() for c in value[:-1].strip("_-/()"))
    if not value[0].isascii() and any("\u3000" < c < "\ua000" or "\uac00" <= c < "\ud7b0" for c in value):
        return False  # a sentence in a script without spaces
    if digits and (letters or symbols):
        return size >= (4 if assigned else 6)
    if digits:
        return size >= (6 if assigned or alone else 8)
    if value.isascii() and value.count("-") + value.count("_") + value.count(".") >= 3:
        return True  # a passphrase
    if symbols and not re.fullmatch(r"[^\W\d_]+(?:[-/'’.,][^\W\d_]+)*[.,!?]*", value):
        return size >= (4 if assigned else 6)
    if not value.isascii():
        return False
    is_identifier = not is_variable and re.search(r"(?i)pass|secret|token|ed$", value)
    return size >= 6 and (assigned or alone) and not is_identifier
