"""Decodes text in base64, base32, hex, bits, percent and backslash escapes, to check it for injection."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}")
_BASE32 = re.compile(r"(?<![A-Z2-7])[A-Z2-7]{16,}={0,6}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}[ :]?){8,}(?![0-9A-Za-z])")
_ESCAPES = re.compile(r"(?:(?:\\x|\\u00|%)[0-9A-Fa-f]{2} ?){4,}")
_BITS = re.compile(r"(?<![01])(?:[01]{8}\s?){4,}")
_IDENTIFIER = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_NOT_HEX = re.compile(r"[^0-9A-Fa-f]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MAX_CHARS = 20_000


def decoded_sentences(text: str) -> Iterator[str]:
    """Every readable sentence that is encoded in the text."""
    for read, pattern in ((_base64, _BASE64), (_base32, _BASE32), (_hex, _HEX), (_escapes, _ESCAPES), (_bits, _BITS)):
        for code in pattern.finditer(text):
            raw = read(code[0][:_MAX_CHARS])
            if raw and (sentence := _sentence(raw)):
                yield sentence


def rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def _base64(code: str) -> bytes:
    if _IDENTIFIER.fullmatch(code):
        # Some commit hashes and order numbers happen to decode to letters.
        return b""
    code = code.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(code[: len(code) - (len(code) % 4 == 1)] + "=" * (-len(code) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _base32(code: str) -> bytes:
    code = code.rstrip("=")
    try:
        return base64.b32decode(code + "=" * (-len(code) % 8))
    except (binascii.Error, ValueError):
        return b""


def _hex(code: str) -> bytes:
    digits = _NOT_HEX.sub("", code)
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _escapes(code: str) -> bytes:
    return bytes(int(pair, 16) for pair in re.findall(r"(?:\\x|\\u00|%)([0-9A-Fa-f]{2})", code))


def _bits(code: str) -> bytes:
    digits = "".join(code.split())
    return bytes(int(digits[place : place + 8], 2) for place in range(0, len(digits) // 8 * 8, 8))


def _sentence(raw: bytes) -> str | None:
    """The bytes as text, if they are words rather than merely printable."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not all(character.isprintable() or character in "\n\t" for character in text):
        return None
    if text.isascii():
        words = _WORD.findall(text)
        # An identifier or file name is one word; random ASCII has few letters in a row.
        return text if (" " in text.strip() and sum(map(len, words)) >= 0.7 * len(text)) or len(words) >= 4 else None
    letters = [character for character in text if character.isalpha()]
    return text if len(letters) >= 0.6 * len(text) and len(set(letters)) >= 5 else None
