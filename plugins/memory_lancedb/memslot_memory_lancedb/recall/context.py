"""Auto-recall before a prompt: few, relevant memories, fenced, within a time limit."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from memslot import RecalledItem, SingleFlight, StillRunningError, one_line, redact

from memslot_memory_lancedb.memory_record import SearchHit
from memslot_memory_lancedb.recall.search import MemorySearcher, clean_query
from memslot_memory_lancedb.scores import FLOOR

MIN_CHARS = 5
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_SAID = (
    "ok okay okey k yes yeah yep yup no nope nah sure fine right great good nice cool perfect awesome excellent "
    "amazing lovely thanks thank thx ty you much so very a lot cheers please pls hi hello hey hiya bye goodbye morning "
    "evening night go ahead continue next stop done got it i see that's this is sounds lgtm well alright again and the "
    "sí si vale bien bueno gracias muchas mucha hola adiós chao perfecto genial claro sigue continúa de nada "
    "sim não bom obrigado obrigada muito valeu olá oi tchau perfeito ótimo certo "
    "ja nein gut danke schön sehr vielen dank hallo tschüss perfekt super klar weiter bitte alles "
    "oui non bien merci beaucoup salut bonjour au revoir parfait d'accord super génial continue "
    "ano ne dobře díky děkuji moc ahoj čau super jasně pokračuj prosím"
)
_SAID_UNSPACED = (
    "好 好的 好吧 谢谢 谢谢你 多谢 是 是的 不 不是 对 对的 嗯 可以 行 没问题 知道了 明白 明白了 你好 再见 继续 "
    "はい いいえ うん ありがとう ありがとうございます どうも 了解 了解です わかりました おはよう こんにちは "
    "こんばんは さようなら オーケー お願いします 続けて 네 예 아니요 응 그래 고마워 고맙습니다 감사합니다 알겠습니다 "
    "알겠어 안녕 안녕하세요 좋아 좋아요 계속"
)
_WORDS, _PHRASES = frozenset(_SAID.split()), frozenset(_SAID_UNSPACED.split())


def is_trivial(prompt: str) -> bool:
    """Whether a prompt is too trivial to recall anything for, such as "ok" or "thanks"."""
    folded = unicodedata.normalize("NFKC", prompt).casefold().strip()
    words = _WORD.findall(folded)
    if not words:
        return True
    is_unspaced = _UNSPACED.search(folded) is not None
    if is_unspaced and "".join(words) in _PHRASES:
        return True
    # A Chinese character says about as much as a word: two may be a question.
    if not is_unspaced and len(folded) < MIN_CHARS:
        return True
    return all(word in _WORDS for word in words)


_FOR_THE_EMBEDDER = 0.6
"""The embedder's share of the time limit; the rest is for a keyword search without it."""
logger = logging.getLogger("memslot.plugin.memory-lancedb")


@dataclass(frozen=True)
class RecallLimits:
    """Limits of size and time."""

    count: int = 3
    max_chars: int = 1000
    seconds: float = 3.0


class AutoRecall:
    """Recalls memories for a prompt. Never raises, and never exceeds its time limit."""

    def __init__(
        self,
        searcher: MemorySearcher,
        limits: RecallLimits = RecallLimits(),
        prepare: Callable[[], bool] = lambda: True,
        tell: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self._searcher = searcher
        self.limits = limits
        self._prepare = prepare
        self._tell = tell
        self._patience: SingleFlight[list[SearchHit]] = SingleFlight("auto-recall")
        self.problem: str | None = None
        """Why the last recall failed; None after a success."""

    def items_for(self, prompt: str) -> list[RecalledItem]:
        """Memories for a prompt, best first; none without a match, for trivial prompts and on failure."""
        try:
            # Outside the time limit: loading LanceDB takes a second, once, and doesn't hang.
            if is_trivial(prompt) or not self._prepare():
                return []
            found = self._patience.call(self.limits.seconds, lambda: self._relevant(prompt))
        except TimeoutError:
            said = f"recall timed out: embedder and store did not answer within {self.limits.seconds:g} s"
            return self._abandon(said)
        except StillRunningError:
            return self._abandon("recall skipped: an earlier recall is still waiting for the embedder or the store")
        except Exception as error:
            return self._abandon(f"recall failed: {error}")
        self.problem = None
        if self._searcher.fault is not None:  # the status reports it for the embedder
            self._warn(f"recalled by keywords only: {self._searcher.fault}")
        best = {redact(each.memory.text): each.relevance for each in reversed(found)}
        return [RecalledItem(text, score) for text, score in sorted(best.items(), key=lambda pair: -pair[1])]

    def _relevant(self, prompt: str) -> list[SearchHit]:
        """Relevant memories for any sentence of the prompt; no weak matches."""
        from memslot.retrieval import WEAK_SCORE, prompt_queries

        queries = prompt_queries(clean_query(prompt))
        recalled = self._searcher.find_any(queries, self.limits.count, self.limits.seconds * _FOR_THE_EMBEDDER)
        return [
            each
            for each in recalled.found
            if each.relevance >= WEAK_SCORE and (each.score >= FLOOR or not each.compared)
        ]

    def _abandon(self, problem: str) -> list[RecalledItem]:
        self.problem = one_line(problem)
        self._warn(self.problem)
        return []

    def _warn(self, problem: str) -> None:
        logger.warning("%s", problem)
        self._tell(problem)
