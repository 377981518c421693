"""The queries in a prompt: its questions and statements, without code, logs and quoted text.

A coding agent's prompt is a page long, and one sentence of it asks for something that was noted. The page as a whole
resembles no note; that sentence does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memslot.retrieval.parts import blocks_of

MAX_QUERIES = 8
_MAX_CHARS = 400
_SHORT_PROMPT = 240
_MIN_WORDS = 3
_MIN_CHARS_UNSPACED = 4
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？])")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]")
_QUOTED = re.compile(r"\s*>")
_LOG = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE)\b|Traceback\b|File \"|"
    r"at \S+\(|\$ |#\d+ |[+-]{3} |@@ |[A-Za-z]:\\|/(?:[\w.-]+/)+)"
)
_WORD = re.compile(r"[^\W\d_]{2,}")


def prompt_queries(prompt: str) -> list[str]:
    """Return the queries to recall memories for a prompt: at most eight, the last sentences first.

    Includes the first sentence, which often states the task. A prompt of one or two sentences is also queried as a
    whole.
    """
    kept = "\n".join("" if _QUOTED.match(line) or _LOG.match(line) else line for line in prompt.split("\n"))
    blocks = [block.replace("`", " ") for block in blocks_of(kept)]
    said = " ".join(" ".join(blocks).split())
    sentences = list(dict.fromkeys(_sentences(blocks)))
    if not sentences:
        whole = said or " ".join(prompt.split())
        return [whole[:_MAX_CHARS]] if whole else []
    last_first = sentences[::-1]
    if len(said) <= _SHORT_PROMPT and said not in sentences:
        last_first.insert(0, said)
    if len(last_first) > MAX_QUERIES:
        last_first = [*last_first[: MAX_QUERIES - 1], sentences[0]]
    return last_first


def _sentences(blocks: Iterable[str]) -> Iterator[str]:
    for block in blocks:
        for sentence in _SENTENCE_END.split(block):
            text = " ".join(sentence.split())[:_MAX_CHARS]
            if _is_said(text):
                yield text


def _is_said(text: str) -> bool:
    """Whether a text is natural language, not a bare name, path or code."""
    if _UNSPACED.search(text):
        return len(text) >= _MIN_CHARS_UNSPACED
    words = _WORD.findall(text)
    return len(words) >= _MIN_WORDS and sum(map(len, words)) >= len(text) / 2
