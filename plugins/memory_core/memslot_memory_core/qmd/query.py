"""Makes a person's words safe for QMD, whose queries have a grammar of their own."""

from __future__ import annotations

import re

from memslot_memory_core.qmd.settings import SearchMode

MAX_QUERY_CHARS = 2000
# A character that no program argument can hold, or that would begin a new line of a structured query.
_UNFIT = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff\s]+")
_EXCLUSION = re.compile(r"(?:^|(?<=\s))-+")
_DIRECTIVE = re.compile(r"^(lex|vec|hyde|expand|intent):", re.IGNORECASE)


def plain_query(query: str, mode: SearchMode) -> str:
    """The query as words only: `-n` does not exclude n, and `lex:` at its beginning is no directive."""
    text = _UNFIT.sub(" ", query[: 2 * MAX_QUERY_CHARS])
    text = _EXCLUSION.sub("", text).strip()[:MAX_QUERY_CHARS]
    if mode == "query":
        text = _DIRECTIVE.sub(r"\1 ", text)
    return " ".join(text.split())
