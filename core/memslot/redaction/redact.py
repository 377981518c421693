"""Keeps secrets out of memory: applied when text is written and again when it is recalled."""

from __future__ import annotations

from collections.abc import Sequence

# The patterns take 8 ms to compile, so they are imported with the first text.

REDACTED = "[redacted]"


def find_secrets(text: str) -> list[tuple[int, int]]:
    """Where keys, tokens, private keys and passwords are: the offsets of each, in order."""
    from memslot.redaction.spans import find

    return find(text)


def redact(text: str) -> str:
    """Replace keys, tokens, private keys and passwords; everything else stays as it is."""
    from memslot.redaction.spans import find, replaced

    return replaced(text, find(text), REDACTED)


def redact_lines(lines: Sequence[str]) -> list[str]:
    """The same for the lines of a text, as many as before: what is cut out of it later holds no half of a secret."""
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
