"""The encoder's weights, unpacked once per user and memory-mapped from then on.

Unpacking takes several times as long as everything else a first vector needs. The unpacked file contains the backend's
arrays, so that its code runs on views of the file; processes share its pages. If the file can't be written, the weights
are unpacked into memory.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memslot import Places, atomic_file, make_private_dir

_FORMAT = "memslot-universal-1"
_ALIGNMENT = 64
_HEADER_BYTES = 8192
_TAIL_BYTES = 65_536
_logger = logging.getLogger("memslot.plugin.embed-universal")


def load_weights(backend_class: Any, packed: Path, code: Path) -> Any:
    """A backend without a tokenizer, on the unpacked file if possible."""
    name = f"use-multilingual-v3-{fingerprint(packed, code)}.weights"
    file = Places.shared_cache_dir() / name
    state = _read(file)
    if state is None:
        unpacked = backend_class(packed, None, threads=1)
        if not _write(file, vars(unpacked)):
            return unpacked
        del unpacked
        state = _read(file)
        if state is None:  # removed concurrently
            return backend_class(packed, None, threads=1)
    backend = backend_class.__new__(backend_class)
    vars(backend).update(state, sp=None, threads=1, _threadpool=None)
    return backend


def fingerprint(packed: Path, code: Path) -> str:
    """Cache key of the unpacked file: the weights, and the code that arranges them."""
    digest = hashlib.sha256(code.read_bytes())
    with packed.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        # An archive ends with its directory, which has a checksum of each array.
        digest.update(b"%d " % size + file.read())
    return digest.hexdigest()[:16]


def _read(file: Path) -> dict[str, Any] | None:
    """The backend's attributes, with arrays as views of the file; None if it is missing or incomplete."""
    import numpy

    try:
        with file.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        header = json.loads(mapped[:_HEADER_BYTES])
        if (header["format"], header["name"], header["size"]) != (_FORMAT, file.name, len(mapped)):
            return None

        def view(place: Any) -> Any:
            if isinstance(place, list):
                return [view(each) for each in place]
            shape = place["shape"]
            count = int(numpy.prod(shape, dtype=numpy.int64))
            array = numpy.frombuffer(mapped, dtype=place["dtype"], count=count, offset=place["offset"])
            return array.reshape(shape)

        return {**header["numbers"], **{name: view(place) for name, place in header["arrays"].items()}}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(file: Path, attributes: Mapping[str, Any]) -> bool:
    """Write the file atomically; returns whether that worked."""
    import numpy

    arrays: list[Any] = []
    size = _HEADER_BYTES

    def place(array: Any) -> dict[str, Any]:
        nonlocal size
        arrays.append((size, array))
        found = {"dtype": array.dtype.str, "shape": array.shape, "offset": size}
        size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return found

    places: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, numpy.ndarray):
            places[name] = place(value)
        elif isinstance(value, list):
            places[name] = [place(each) for each in value]
    numbers = {name: value for name, value in attributes.items() if isinstance(value, int | float)}
    header = {"format": _FORMAT, "name": file.name, "size": size, "numbers": numbers, "arrays": places}
    try:
        make_private_dir(file.parent)
        with atomic_file(file, mode=0o600) as out:
            out.write(json.dumps(header).encode().ljust(_HEADER_BYTES))
            for offset, array in arrays:
                out.seek(offset)
                out.write(numpy.ascontiguousarray(array).data)
            out.truncate(size)
    except OSError as error:
        _logger.info(
            "the weights are unpacked into memory on each start, because %s cannot be written: %s", file, error
        )
        return False
    return True
