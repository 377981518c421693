"""Text that somebody else wrote, made fit for a line of ours."""

from __future__ import annotations


def one_line(text: str, limit: int = 500) -> str:
    """Fold a message into one printable line."""
    folded = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"
