"""The weights and the tokenizer that come inside the package `wordllama`, read without importing it.

Importing it would pull in an HTTP client and set up logging for the whole process. Its own `embed` is
followed to the number (a test compares the two), except that a word seen before is not cut into tokens again.
"""

from __future__ import annotations

import importlib.util
import re
import threading
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from memslot import ProviderError

if TYPE_CHECKING:
    import numpy
    from tokenizers import Tokenizer

    Matrix = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]
    Row = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]

_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")

_SEGMENT = re.compile(" +[^ ]*")
"""A word with the spaces before it. No token of the vocabulary goes on after a space, so words can be cut alone."""
_SPECIAL = ("<s>", "</s>", "<unk>")
"""Written out in a text, these are single tokens and change how their neighbours are cut."""
_LONGEST_KEPT, _MOST_KEPT = 40, 50_000
_TOKENS_AT_ONCE = 4096
"""Rows gathered before they are summed: 4 MB, which stays in the processor's cache."""

_lock = threading.Lock()
_loaded: StaticModel | None = None


def load_model() -> StaticModel:
    """The one model of this process; the first call reads it."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _read()
    return _loaded


def _read() -> StaticModel:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ProviderError('static needs the package "wordllama"; bring it back with: pip install wordllama')
    folder = Path(spec.origin).parent
    try:
        import numpy
        from safetensors import safe_open
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        with safe_open(folder / _WEIGHTS, framework="np") as weights:
            rows = weights.get_tensor("embedding.weight").astype(numpy.float32)
    except Exception as error:
        raise ProviderError(
            f'static cannot read its weights from "{folder}" ({error}); '
            "bring them back with: pip install --force-reinstall wordllama"
        ) from None
    return StaticModel(rows, tokenizer)


def unit(rows: Matrix) -> Matrix:
    """Rows of length 1; a row of zeros stays one."""
    import numpy

    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    scaled: Matrix = rows / lengths
    return scaled


class StaticModel:
    """A vector for each token; a text is the sum of its tokens' vectors."""

    def __init__(self, rows: Matrix, tokenizer: Tokenizer) -> None:
        self._rows = rows
        self._tokenizer = tokenizer
        # A dict's single reads and writes are safe between threads; two that write one word write the same.
        self._known = self._nothing_known()

    def sums(self, texts: Sequence[str]) -> Matrix:
        """One row for each text: a sum points the same way as the mean that the library takes."""
        import numpy

        result: Matrix = numpy.zeros((len(texts), self._rows.shape[1]), dtype=numpy.float32)
        for row, text in zip(result, texts, strict=True):
            ids = self.token_ids(text)
            for start in range(0, len(ids), _TOKENS_AT_ONCE):
                row += self._rows.take(ids[start : start + _TOKENS_AT_ONCE], axis=0).sum(axis=0)
        return result

    def token_rows(self, text: str) -> Matrix:
        import numpy

        rows: Matrix = self._rows.take(numpy.array(self.token_ids(text), dtype=numpy.intp), axis=0)
        return rows

    def token_ids(self, text: str) -> list[int]:
        """The tokens of a text, none for one that is only white space."""
        if not text or text.isspace():
            return []
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair, which the tokenizer would refuse
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "<" in text and any(mark in text for mark in _SPECIAL):
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
            return ids
        # To the tokenizer a space and the mark "▁" are one and the same.
        segments = _SEGMENT.findall(" " + text.replace("▁", " "))
        pieces = list(map(self._known.get, segments))
        if None in pieces:
            new = self._cut({segment for segment, piece in zip(segments, pieces, strict=True) if piece is None})
            pieces = [new[segment] if piece is None else piece for segment, piece in zip(segments, pieces, strict=True)]
        return [token for piece in pieces if piece is not None for token in piece]

    def _cut(self, segments: Set[str]) -> dict[str, list[int]]:
        """Words that were not seen before, cut into tokens, and the short ones remembered."""
        words = list(segments)
        # The tokenizer puts one space before each word by itself.
        encoded = self._tokenizer.encode([word[1:] for word in words], is_pretokenized=True, add_special_tokens=False)
        cut: dict[str, list[int]] = {word: [] for word in words}
        for token, number in zip(encoded.ids, encoded.word_ids, strict=True):
            if number is not None:
                cut[words[number]].append(token)
        if len(self._known) > _MOST_KEPT:
            self._known = self._nothing_known()
        self._known.update((word, ids) for word, ids in cut.items() if len(word) <= _LONGEST_KEPT)
        return cut

    def _nothing_known(self) -> dict[str, list[int]]:
        # The tokenizer finds no token in an empty word, but a space at the end of a text is one.
        space = self._tokenizer.token_to_id("▁")
        return {" ": [space] if space is not None else []}
