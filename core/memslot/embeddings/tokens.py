"""Token estimates: cheap, without a tokenizer, and never too low in any script."""

from __future__ import annotations

import re

CHARS_PER_TOKEN = 4
"""For Latin text. A CJK character counts as one token."""
_WIDE = re.compile("[\u2e80-\ufffd]+")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]+")


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens; at least 1 unless the text is empty."""
    if text.isascii():
        return -(-len(text) // CHARS_PER_TOKEN)
    wide = sum(map(len, _WIDE.findall(text)))
    astral = sum(map(len, _ASTRAL.findall(text)))
    # Bytes, not characters: Cyrillic, Arabic and Thai take more tokens per character, and more bytes.
    narrow_bytes = len(text.encode("utf-8", "surrogatepass")) - 3 * wide - 4 * astral
    return wide + 2 * astral + -(-max(0, narrow_bytes) // CHARS_PER_TOKEN)
