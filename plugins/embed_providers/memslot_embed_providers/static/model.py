"""The weights and the tokenizer that come inside the package `wordllama`, read without importing it.

Importing it would pull in an HTTP client and set up logging for the whole process. Its own `embed` is
followed to the number (a test compares the two), except that a word seen before is not cut into tokens again.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from memslot import ProviderError

from memslot_embed_providers.static.cutting import readable, segments

if TYPE_CHECKING:
    import numpy
    from tokenizers import Tokenizer

    Matrix = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]
    Row = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]

_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")

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


def model_files() -> tuple[Path, Path]:
    """The weights and the tokenizer. Raises ProviderError where the package is gone."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ProviderError('static needs the package "wordllama"; bring it back with: pip install wordllama')
    folder = Path(spec.origin).parent
    return folder / _WEIGHTS, folder / _TOKENIZER


def _read() -> StaticModel:
    weights_file, tokenizer_file = model_files()
    try:
        import numpy
        from safetensors import safe_open
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(tokenizer_file))
        with safe_open(weights_file, framework="np") as weights:
            rows = weights.get_tensor("embedding.weight").astype(numpy.float32)
    except Exception as error:
        raise ProviderError(
            f'static cannot read its weights from "{weights_file.parent.parent}" ({error}); '
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
        for row, ids in zip(result, self._cut_all(texts), strict=True):
            for start in range(0, len(ids), _TOKENS_AT_ONCE):
                row += self._rows.take(ids[start : start + _TOKENS_AT_ONCE], axis=0).sum(axis=0)
        return result

    def token_rows(self, text: str) -> Matrix:
        import numpy

        rows: Matrix = self._rows.take(numpy.array(self.token_ids(text), dtype=numpy.intp), axis=0)
        return rows

    def token_ids(self, text: str) -> list[int]:
        """The tokens of a text, none for one that is only white space."""
        return next(self._cut_all([text]))

    def _cut_all(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """The tokens of each text; the tokenizer is asked once for all words that were not seen before."""
        known = self._known
        texts = [readable(text) for text in texts]
        segmented = [segments(text) for text in texts]
        new = self._cut(set().union(*(each for each in segmented if each is not None)).difference(known))
        for text, words in zip(texts, segmented, strict=True):
            if words is None:
                ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
                yield ids
                continue
            pieces = list(map(known.get, words))
            if None in pieces:
                pieces = [new[each] if piece is None else piece for each, piece in zip(words, pieces, strict=True)]
            yield [token for piece in pieces if piece is not None for token in piece]

    def _cut(self, new: Set[str]) -> dict[str, list[int]]:
        """Words that were not seen before, cut into tokens, and the short ones remembered."""
        if not new:
            return {}
        words = list(new)
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
