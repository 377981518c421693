"""Secrets identified by the words before them: headers, URLs, command lines, SQL statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memslot.redaction.values import is_placeholder, is_wordy

_EXAMINED_CHARS = 128
_IN_COMMAND = r"\s(?:[^\n|;]{0,200}?\s)?"
_PHRASES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("bearer",), r"bearer\s{1,4}()(?=[a-z._~+/-]*\d)[a-z0-9._~+/-]{12,}=*"),
    (
        ("authorization",),
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|token|apikey|negotiate)\s{1,4}()[a-z0-9+/._=-]{8,}",
    ),
    (("ssws ",), r"ssws\s{1,4}()00[a-z0-9_-]{30,}"),
    ((" login ", " auth "), r" (?:login|auth) ()(?=[a-z_-]{0,24}\d)[a-z0-9_-]{32,}(?!\S)"),
    (("://",), r"://()(?=[a-z_-]{0,24}\d)[a-z0-9_-]{20,200}(?=(?::[^\s/@]{0,200})?@)"),
    (("wifi:",), r"wifi:(?:[tsh]:[^;\n]{0,64};){0,3}p:()[^;\n]{4,}"),
    (
        ("creds", "credential", "login", "zugangsdaten", "identifiants", "credencia"),
        r"(?:creds|credentials?|logins?|zugangsdaten|identifiants|credenciales|credenciais)[*_]{0,3}[ ]?:[*_]{0,3}[ ]?"
        r"[^\s/:]{1,64}[ ]?[/:][ ]?()(?=\S{0,64}\d)(?=\S{0,64}[a-z])[^\s/]{6,}",
    ),
    (("://",), r"://[^\s:/@]{0,200}:()[^\s/\"'<>]{1,300}(?=@)"),
    ((" -u", " --user"), r" (?:-u|--user)[ =]?[\"']?[\w.@+-]{1,64}:()[^\s\"']{3,}"),
    (("mysql", "mariadb"), r"(?:mysql|mariadb)\w*\s[^\n|;]{0,200}?\s-p()[^\s\"'|;-][^\s\"'|;]{3,}"),
    (
        ("sshpass", "docker login", "podman login", "registry login"),
        rf"(?:sshpass|(?:docker|podman|registry) login){_IN_COMMAND}-p[ =]?[\"']?()[^\s\"'-][^\s\"']{{3,}}",
    ),
    (("redis-cli",), rf"redis-cli{_IN_COMMAND}-a[ =]?[\"']?()[^\s\"']{{4,}}"),
    (("login ",), r"login\s+\S{1,80}\s+(?:account\s+\S{1,80}\s+)?password\s+[\"']?()[^\s\"']{4,}"),
    (("identified",), r"identified\s+(?:with\s+\S{1,40}\s+)?by\s+[\"']()[^\"'\n]{3,}"),
    ((" password '", ' password "'), r"with\s+(?:encrypted\s+)?password\s+[\"']()[^\"'\n]{3,}"),
    (("net user",), r"net user\s+\S{1,64}\s+()[^\s/*][^\s]{3,}"),
    (
        ("password-stdin",),
        r"(?:echo|printf)\s+(?:-n\s+)?[\"']?()[^\s\"'$][^\s\"']{3,}(?=[\"']?\s*\|[^\n]{0,200}--password-stdin)",
    ),
    (("(password)",), r"(?<!\S)()[^\s()]{6,64}(?= \(password\))"),
)
"""Substrings that a folded text must contain, and the pattern; its empty group marks where the secret starts."""
_PGPASS_MARK = re.compile(r":(?:\d{2,5}|\*):[^:\s]{1,64}:[^:\s]{1,64}:\S")
_PGPASS = re.compile(r"^[\w.*-]{1,80}:(?:\d{2,5}|\*):[^:\s]{1,64}:[^:\s]{1,64}:()[^\s:]\S{3,}$", re.MULTILINE)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def find_phrased(text: str, folded: str) -> Iterator[tuple[int, int]]:
    patterns = [_compiled(pattern) for hints, pattern in _PHRASES if any(hint in folded for hint in hints)]
    if _PGPASS_MARK.search(folded):
        patterns.append(_PGPASS)
    for pattern in patterns:
        for match in pattern.finditer(folded):
            start, end = match.start(1), match.end()
            if not _is_stand_in(text[start : min(end, start + _EXAMINED_CHARS)]):
                yield start, end


def _is_stand_in(value: str) -> bool:
    if value.lower() in ("password", "pass", "passwd", "pw", "pwd", "secret"):
        return True
    return (
        len(value) > 2
        and is_placeholder(value)
        and not value.isdigit()
        and not (value.isalnum() and not is_wordy(value))
    )
