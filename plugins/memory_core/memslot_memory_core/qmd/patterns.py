"""QMD's glob patterns: `**`, `*`, `?`, `[…]`, `{a,b}`, `@(a|b)`, separated by commas."""

from __future__ import annotations

import functools
import re

_MAX_ALTERNATIVES = 256
_NEVER_INDEXED = {"node_modules", ".git", ".cache", "vendor", "dist", "build"}


def matches(pattern: str, path: str) -> bool:
    """Whether QMD would index the file at this relative path; hidden files are excluded."""
    parts = path.split("/")
    if any(not part or part.startswith(".") for part in parts) or _NEVER_INDEXED.intersection(parts[:-1]):
        return False
    return any(regex.fullmatch(path) for regex in _compiled(pattern))


def literal(name: str) -> str:
    """A pattern for exactly this file name."""
    escaped = re.sub(r"([\\*?\[\]{}()!+@|])", r"\\\1", name)
    return re.sub(r"[,\s]", r"[\g<0>]", escaped)  # QMD splits at commas and trims before it looks at backslashes


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[re.Pattern[str], ...]:
    regexes = []
    for part in _split(pattern):
        for plain in _alternatives(part):
            try:
                regexes.append(re.compile(_regex(plain.removeprefix("./")), re.DOTALL))
            except re.error:
                continue  # an invalid pattern matches nothing
    return tuple(regexes)


def _split(text: str) -> list[str]:
    """Split at commas outside braces and brackets."""
    parts, depth, start, index = [], 0, 0, 0
    while index < len(text):
        character = text[index]
        if character == "\\":
            index += 1
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth = max(0, depth - 1)
        elif character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
        index += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _alternatives(pattern: str) -> list[str]:
    """Expand `a{b,c}` to `ab` and `ac`, nested too; nothing if there are too many."""
    pending: list[str] = [pattern]
    done: list[str] = []
    while pending:
        if len(pending) + len(done) > _MAX_ALTERNATIVES:
            return []
        text = pending.pop()
        span = _braces(text)
        if span is None:
            done.append(text)
            continue
        start, end = span
        pending += [text[:start] + choice + text[end + 1 :] for choice in _choices(text[start + 1 : end])]
    return done


def _braces(text: str) -> tuple[int, int] | None:
    """The first pair of braces with a comma inside."""
    opened: list[int] = []
    index = 0
    while index < len(text):
        if text[index] == "\\":
            index += 1
        elif text[index] == "{":
            opened.append(index)
        elif text[index] == "}" and opened:
            start = opened.pop()
            if "," in text[start:index]:
                return start, index
        index += 1
    return None


def _choices(text: str) -> list[str]:
    return re.split(r"(?<!\\),", text)


def _group_end(pattern: str, start: int) -> int | None:
    """The end of the group that starts here, as in `@(md|txt)`; nested groups are not supported."""
    if not pattern.startswith("(", start):
        return None
    end = pattern.find(")", start)
    return end if end > 0 and "(" not in pattern[start + 1 : end] else None


def _regex(pattern: str) -> str:
    out, index = "", 0
    while index < len(pattern):
        character = pattern[index]
        if pattern.startswith("**/", index) and (index == 0 or pattern[index - 1] == "/"):
            out += "(?:[^/]+/)*"
            index += 3
            continue
        if pattern.startswith("**", index):
            is_whole = (index == 0 or pattern[index - 1] == "/") and index + 2 == len(pattern)
            out += ".*" if is_whole else "[^/]*"
            index += 2
            continue
        if character in "@?+*" and (closed := _group_end(pattern, index + 1)) is not None:
            choices = "|".join(_regex(choice) for choice in pattern[index + 2 : closed].split("|"))
            out += f"(?:{choices}){'' if character == '@' else character}"
            index = closed
        elif character == "*":
            out += "[^/]*"
        elif character == "?":
            out += "[^/]"
        elif character == "[" and (end := pattern.find("]", index + 2)) > 0:
            inner = pattern[index + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out += f"(?!/)[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
            index = end
        elif character == "\\" and index + 1 < len(pattern):
            index += 1
            out += re.escape(pattern[index])
        else:
            out += re.escape(character)
        index += 1
    return out
