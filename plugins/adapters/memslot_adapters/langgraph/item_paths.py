"""Which note holds an item of the store."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence

from memslot import MemslotError

FOLDER = "store"
"""Name of the folder of notes that holds the items."""
MAX_DEPTH = 16
_LONGEST = 100
_READABLE = 60
# Lower case only: some file systems do not tell Ana from ana. No dot: a label is then never the name of an item.
_PLAIN = re.compile(rb"[a-z0-9_-]")
# Names that Windows keeps for devices, and folders in which nobody looks for notes.
_TAKEN = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d|node_modules|venv|__pycache__)")


def note_name(namespace: Sequence[str], key: str, suffix: str) -> str:
    """The name of an item's note; no two items share one, whatever they are called."""
    return f"{folder_name(namespace)}/{encode(key)}{suffix}"


def folder_name(namespace: Sequence[str]) -> str:
    """The folder of notes with the items of a namespace and of those below it."""
    if len(namespace) > MAX_DEPTH:
        raise MemslotError(f"a namespace has at most {MAX_DEPTH} labels, this one has {len(namespace)}")
    return "/".join([FOLDER, *(encode(label) for label in namespace)])


@functools.lru_cache(maxsize=4096)
def encode(name: str) -> str:
    """A name as part of a path: what is not plain as %xx, and what is long by its beginning and a hash of it all."""
    data = name.encode("utf-8", "surrogatepass")
    coded = "".join(chr(byte) if _PLAIN.match(bytes([byte])) else f"%{byte:02x}" for byte in data)
    if _TAKEN.fullmatch(coded):
        coded = f"%{data[0]:02x}{coded[1:]}"
    if not coded:
        return "~"
    if len(coded) <= _LONGEST:
        return coded
    return f"{coded[:_READABLE]}~{hashlib.sha256(data).hexdigest()[:32]}"
