"""Text that somebody else wrote, made fit for a line of ours."""

from __future__ import annotations

import re
from typing import Any

_UNSAFE = "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
"""DEL and C1 controls, bidirectional controls, line separators, halves of surrogate pairs, invisible tags."""


def one_line(text: str, limit: int = 500) -> str:
    """Fold a message into one printable line."""
    folded = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def clean_lines(text: str) -> str:
    """The same for several lines."""
    return "\n".join("".join(c if c.isprintable() else " " for c in line) for line in text.splitlines())


def json_text(data: Any, encoding: str | None) -> str:
    """One JSON document for a stream; what it cannot show, or could steer a terminal with, is escaped."""
    import json

    is_unicode = (encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(data, ensure_ascii=not is_unicode, indent=2, default=str)
    return re.sub(_UNSAFE, _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
