"""Sanitizing of untrusted text for output."""

from __future__ import annotations

from typing import Any


def one_line(text: str, limit: int = 500) -> str:
    """Collapse a message into one printable line."""
    folded = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def clean_lines(text: str) -> str:
    """Replace unprintable characters, keeping line breaks."""
    return "\n".join("".join(c if c.isprintable() else " " for c in line) for line in text.splitlines())


def encodable(text: str) -> str:
    """Replace lone surrogates, which can't be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def json_text(data: Any, encoding: str | None) -> str:
    """Format a JSON document for a stream; characters it can't encode, control and invisible ones are escaped."""
    import json

    from memslot.invisible import escape_invisible

    is_unicode = (encoding or "utf-8").lower().startswith("utf")
    return escape_invisible(json.dumps(data, ensure_ascii=not is_unicode, indent=2, default=str))
