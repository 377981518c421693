"""Keeps secrets out of memory: applied when text is written and again when it is recalled."""

from __future__ import annotations

import re

REDACTED = "[redacted]"

_WHOLE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\b(?:pa|hf|npm|pypi|glpat|xox[abeprs]|gh[pousr]|github_pat)[-_][A-Za-z0-9_-]{16,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    re.DOTALL,
)
_AFTER = re.compile(
    r"(\bbearer\s+)[A-Za-z0-9._~+/-]{12,}=*"
    r"|(://[^\s:/@]*:)[^\s/\"']+(?=@)"
    r"|((?:api[_-]?key|access[_-]?token|auth[_-]?token|secret|password|passwd|pwd)[\"']?\s*[:=]\s*[\"']?)"
    r"[^\s\"',;]{6,}",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Replace keys, tokens, private keys and passwords in URLs; everything else stays as it is."""
    text = _WHOLE.sub(REDACTED, text)
    return _AFTER.sub(lambda match: next(g for g in match.groups() if g is not None) + REDACTED, text)
