"""Keeps secrets out of memory: applied when text is written and again when it is recalled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

REDACTED = "[redacted]"


@cache
def _whole() -> re.Pattern[str]:
    """What is a secret by its looks. Compiled at the first text that may hold one: that takes longer than a search."""
    # A token begins where no other could have begun, so that a long run of such characters is looked at once;
    # and it holds a digit, since words joined by dashes look like one too.
    start, digit = r"(?<![A-Za-z0-9_-])", r"(?=[A-Za-z_-]*\d)"
    return re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
        rf"|{start}(?:sk|pa|pypi|glpat|xox[abeprs])-{digit}[A-Za-z0-9_-]{{16,}}"
        rf"|{start}(?:hf|npm|gh[pousr]|github_pat)_{digit}[A-Za-z0-9_]{{16,}}"
        r"|\bAIza[A-Za-z0-9_-]{30,}"
        r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
        rf"|{start}eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{8,}}",
        re.DOTALL,
    )


@cache
def _after() -> re.Pattern[str]:
    """What is a secret by what stands before it."""
    return re.compile(
        r"(\bbearer\s+)(?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/-]{12,}=*"
        r"|(://[^\s:/@]*:)[^\s/\"']+(?=@)"
        r"|((?:api[_-]?key|access[_-]?token|auth[_-]?token|secret|password|passwd|pwd)[\"']?\s*[:=]\s*[\"']?)"
        r"[^\s\"',;]{6,}",
        re.IGNORECASE,
    )


_NAMES = ("key", "token", "secret", "passw", "pwd")
_HINTS = (
    ("-", ("-----begin", "sk-", "pa-", "pypi-", "glpat-", "xox")),
    ("_", ("hf_", "npm_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
    (":", ("://", *_NAMES)),
    ("=", _NAMES),
    ("", ("aiza", "akia", "asia", "eyj", "bearer")),
)
"""Every pattern above needs one of these, beside the mark before them; most texts hold none, and looking for them takes
a thirtieth of the time."""


def redact(text: str) -> str:
    """Replace keys, tokens, private keys and passwords in URLs; everything else stays as it is."""
    if not _may_hold_secrets(text):
        return text
    text = _whole().sub(REDACTED, text)
    return _after().sub(lambda match: next(g for g in match.groups() if g is not None) + REDACTED, text)


def redact_lines(lines: Sequence[str]) -> list[str]:
    """The same for the lines of a text, as many as before: what is cut out of it later holds no half of a secret."""
    text = "\n".join(lines)
    if not _may_hold_secrets(text):
        return list(lines)
    if "-----BEGIN" in text:  # a private key, which has many lines
        text = _whole().sub(lambda match: REDACTED + "\n" * match[0].count("\n"), text)
        lines = text.split("\n")
    return [redact(line) for line in lines]


def _may_hold_secrets(text: str) -> bool:
    folded = text.casefold()  # not lower(): to a pattern that ignores case "ſ" is an s, too
    return any(mark in folded and any(hint in folded for hint in hints) for mark, hints in _HINTS)
