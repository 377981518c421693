"""How many tokens a text has, about: cheap, without a tokenizer, and not too low in any script."""

from __future__ import annotations

import re

CHARS_PER_TOKEN = 4
"""Of Latin text. A character of Chinese, Japanese or Korean is a token of its own."""
_WIDE = re.compile("[\u2e80-\ufffd]+")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]+")


def estimate_tokens(text: str) -> int:
    """About how many tokens a model sees; at least 1 for a text that is not empty."""
    if text.isascii():
        return -(-len(text) // CHARS_PER_TOKEN)
    wide = sum(map(len, _WIDE.findall(text)))
    astral = sum(map(len, _ASTRAL.findall(text)))
    # Bytes and not characters: Cyrillic, Arabic or Thai words take more tokens than Latin ones, and more bytes.
    narrow_bytes = len(text.encode("utf-8", "surrogatepass")) - 3 * wide - 4 * astral
    return wide + 2 * astral + -(-max(0, narrow_bytes) // CHARS_PER_TOKEN)
