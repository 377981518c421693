"""The weights and the tokenizer that come inside the package `wordllama`, read without importing it.

Importing it would pull in an HTTP client and set up logging for the whole process. Its own `embed` is
followed to the number (a test compares the two), except that a word seen before is not cut into tokens again.
"""

from __future__ import annotations

import importlib.util
import re
import threading
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot import ProviderError

from memslot_embed_providers.static.words import origin_of, read_words, write_words

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
_TOKENS = 32_000
_LONGEST_KEPT, _MOST_KEPT = 40, 50_000
_TOKENS_AT_ONCE = 4096
"""Rows gathered before they are summed: 4 MB, which stays in the processor's cache."""

_lock = threading.Lock()
_loaded: StaticModel | None = None


def load_model(words: Path | None = None) -> StaticModel:
    """The one model of this process; the first call reads it. `words` is a file with words that are known already."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _read(words)
    return _loaded


def _read(words: Path | None) -> StaticModel:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ProviderError('static needs the package "wordllama"; bring it back with: pip install wordllama')
    folder = Path(spec.origin).parent
    try:
        import numpy
        from safetensors import safe_open

        origin = origin_of(folder / _TOKENIZER)
        known = {} if words is None else read_words(words, origin, _TOKENS)
        tokenizer: Any = _Lazy(folder / _TOKENIZER)
        if not known:
            tokenizer = tokenizer.load()
        with safe_open(folder / _WEIGHTS, framework="np") as weights:
            rows = weights.get_tensor("embedding.weight").astype(numpy.float32)
    except Exception as error:
        raise ProviderError(
            f'static cannot read its weights from "{folder}" ({error}); '
            "bring them back with: pip install --force-reinstall wordllama"
        ) from None
    return StaticModel(rows, tokenizer, known, origin)


class _Lazy:
    """A tokenizer that is read when a word comes that nobody has cut before."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._loaded: Tokenizer | None = None

    def load(self) -> Tokenizer:
        with self._lock:
            if self._loaded is None:
                from tokenizers import Tokenizer

                self._loaded = Tokenizer.from_file(str(self._file))
            return self._loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self.load(), name)


def unit(rows: Matrix) -> Matrix:
    """Rows of length 1; a row of zeros stays one."""
    import numpy

    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    scaled: Matrix = rows / lengths
    return scaled


def _readable(text: str) -> str:
    """The text without half a surrogate pair, which the tokenizer would refuse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _segments(text: str) -> list[str] | None:
    """The words of a text with the spaces before them; None for one that can only be cut as a whole."""
    if not text or text.isspace():
        return []
    if "<" in text and any(mark in text for mark in _SPECIAL):
        return None
    # To the tokenizer a space and the mark "▁" are one and the same.
    return _SEGMENT.findall(" " + text.replace("▁", " "))


class StaticModel:
    """A vector for each token; a text is the sum of its tokens' vectors."""

    def __init__(
        self, rows: Matrix, tokenizer: Tokenizer, known: dict[str, list[int]] | None = None, origin: str = ""
    ) -> None:
        self._rows = rows
        self._tokenizer = tokenizer
        self._origin = origin
        # A dict's single reads and writes are safe between threads; two that write one word write the same.
        self._known = known or self._nothing_known()
        self._kept = len(known or ())

    def keep_words(self, file: Path) -> None:
        """Add the words that are known to those in a file, if there are new ones."""
        known = dict(self._known)
        if len(known) > self._kept:
            write_words(file, self._origin, {**read_words(file, self._origin, _TOKENS), **known})
            self._kept = len(known)

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
        texts = [_readable(text) for text in texts]
        segmented = [_segments(text) for text in texts]
        new = self._cut(set().union(*(each for each in segmented if each is not None)).difference(known))
        for text, segments in zip(texts, segmented, strict=True):
            if segments is None:
                ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
                yield ids
                continue
            pieces = list(map(known.get, segments))
            if None in pieces:
                pieces = [new[each] if piece is None else piece for each, piece in zip(segments, pieces, strict=True)]
            yield [token for piece in pieces if piece is not None for token in piece]

    def _cut(self, segments: Set[str]) -> dict[str, list[int]]:
        """Words that were not seen before, cut into tokens, and the short ones remembered."""
        if not segments:
            return {}
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
