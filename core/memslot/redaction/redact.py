"""Redaction, applied when text is written and again when it is recalled."""

from __future__ import annotations

from collections.abc import Sequence

# Imports are local: the patterns take 8 ms to compile.

REDACTED = "[redacted]"


def find_secrets(text: str) -> list[tuple[int, int]]:
    """Return the offsets of keys, tokens, private keys and passwords, in order."""
    from memslot.redaction.spans import find

    return find(text)


def redact(text: str) -> str:
    """Replace keys, tokens, private keys and passwords with a marker."""
    from memslot.redaction.spans import find, replaced

    return replaced(text, find(text), REDACTED)


def redact_lines(lines: Sequence[str]) -> list[str]:
    """Redact a text given as lines, keeping the line count. Secrets may span lines."""
    from memslot.redaction.spans import find

    text = "\n".join(lines)
    spans = find(text)
    if not spans:
        return list(lines)
    cleaned: list[str] = []
    at, start = 0, 0
    for line in lines:
        end = start + len(line)
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        kept, here, next_span = [], start, at
        while next_span < len(spans) and spans[next_span][0] < end:
            first, last = spans[next_span]
            kept.append(text[here : max(first, here)])
            if first >= start:
                kept.append(REDACTED)
            here = min(last, end)
            next_span += 1
        kept.append(text[here:end])
        cleaned.append("".join(kept))
        start = end + 1
    return cleaned
