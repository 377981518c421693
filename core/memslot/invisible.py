"""Removal of characters that humans can't see but models read."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_EMOJI = r"\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_JOINING = r"\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"
_VIRAMA = r"\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_KEPT = (
    rf"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"  # a family, a profession
    rf"|(?<=[{_EMOJI}])[\ufe0e\ufe0f](?![\ufe0e\ufe0f])|(?<=[0-9#*])\ufe0f(?=\u20e3)"  # ❤ as text or as emoji, 1️⃣
    rf"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])|(?<=[{_VIRAMA}])[\u200c\u200d]"  # می‌خواهم, क्‍ष
)
_INVISIBLE = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BREAKS, _HALVES = r"\u2028\u2029\x85\x0b\x0c\x1c-\x1f", r"\ud800-\udfff"


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(rf"(?P<kept>{_KEPT})|(?P<line>[{_BREAKS}])|(?P<half>[{_HALVES}])|[{_INVISIBLE}]")


@cache
def _suspect() -> re.Pattern[str]:
    """Any character that the pattern above can begin with: one look at each, a twentieth of the time."""
    return re.compile(f"[{_INVISIBLE}{_BREAKS}{_HALVES}]")


def visible(text: str) -> str:
    """Remove control, format, tag and other invisible characters; joiners stay where a script needs them."""
    if (text.isprintable() and text.isascii()) or not _suspect().search(text):
        return text
    return _pattern().sub(_replaced, text)


def visible_data(data: Any) -> Any:
    """Apply `visible` to every string in JSON data."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, dict):
        return {visible(key) if isinstance(key, str) else key: visible_data(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [visible_data(each) for each in data]
    return data


def escape_invisible(text: str) -> str:
    r"""Escape every such character in a JSON text as \uXXXX."""
    return _pattern().sub(_escaped, text)


def _replaced(match: re.Match[str]) -> str:
    if match["kept"]:
        return match[0]
    return " " if match["line"] else "\ufffd" if match["half"] else ""


def _escaped(match: re.Match[str]) -> str:
    if match["kept"]:
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
