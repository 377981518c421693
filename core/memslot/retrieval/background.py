"""The background: everyday sentences in sixteen languages, unrelated to any memory.

Comparing a query with them shows how similar it is to unrelated texts. That calibrates scores across embedders, and
works even for a memory of one note. Changing a sentence in `background.json` changes `BACKGROUND_VERSION`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Row = NDArray[np.float32]
    Numbers = NDArray[np.uint8]

_FORMAT = b"2"  # of `Background.to_bytes`
_COUNT_BYTES = 8


@cache
def _read() -> tuple[tuple[tuple[int, str], ...], tuple[tuple[int, str], ...], str]:
    """Return statements and questions, each with its language number, and the version."""
    import json
    from pathlib import Path

    file = Path(__file__).with_name("background.json").read_bytes()
    data = json.loads(file)
    statements, questions = (
        tuple((number, text) for number, texts in enumerate(data[key].values()) for text in texts)
        for key in ("statements", "questions")
    )
    return statements, questions, hashlib.sha256(_FORMAT + file).hexdigest()[:16]


def background_texts() -> tuple[str, ...]:
    """Return the texts to embed for a `Background`: statements, then questions."""
    statements, questions, _ = _read()
    return tuple(text for _, text in (*statements, *questions))


def background_version() -> str:
    """Version of the background texts."""
    return _read()[2]


@dataclass(frozen=True, eq=False)
class Background:
    """The background's normalized vectors for one embedder, with each text's language number."""

    statements: Matrix
    questions: Matrix
    statement_languages: Numbers
    question_languages: Numbers

    @classmethod
    def from_vectors(cls, vectors: Any) -> Background:
        """Build from the vectors of `background_texts`, in order; zero vectors are dropped."""
        import numpy

        rows = numpy.asarray(vectors, dtype=numpy.float32)
        statements, questions, _ = _read()
        if len(rows) != len(statements) + len(questions):
            raise ValueError(f"{len(rows)} vectors are not those of the background")
        lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
        has_direction = numpy.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)
        rows = numpy.where(has_direction[:, numpy.newaxis], rows / numpy.where(lengths > 0, lengths, 1.0), 0.0)
        languages = numpy.array([language for language, _ in (*statements, *questions)], dtype=numpy.uint8)
        here = numpy.arange(len(rows)) < len(statements)
        first, second = has_direction & here, has_direction & ~here
        return cls(rows[first], rows[second], languages[first], languages[second])

    @classmethod
    def from_bytes(cls, blob: bytes, dims: int) -> Background | None:
        """Deserialize; None if the bytes belong to another background or embedder."""
        import numpy

        version, _, data = blob.partition(b"\n")
        if version != background_version().encode() or len(data) < _COUNT_BYTES:
            return None
        first, second = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4))
        count = first + second
        if not first or not second or len(data) != _COUNT_BYTES + count + 2 * dims * count:
            return None
        languages = numpy.frombuffer(data, dtype=numpy.uint8, count=count, offset=_COUNT_BYTES)
        numbers = numpy.frombuffer(data, dtype="<f2", offset=_COUNT_BYTES + count)
        rows = numbers.reshape(count, dims).astype(numpy.float32)
        return cls(rows[:first], rows[first:], languages[:first], languages[first:])

    def to_bytes(self) -> bytes:
        """Serialize as float16, for storage next to an index."""
        import numpy

        counts = b"".join(len(rows).to_bytes(4, "little") for rows in (self.statements, self.questions))
        languages = numpy.concatenate((self.statement_languages, self.question_languages)).tobytes()
        rows = numpy.concatenate((self.statements, self.questions)).astype("<f2")
        return background_version().encode() + b"\n" + counts + languages + rows.tobytes()
