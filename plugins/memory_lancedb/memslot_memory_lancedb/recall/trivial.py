"""Prompts that ask for nothing: no memory belongs before "ok" or "thanks"."""

from __future__ import annotations

import re
import unicodedata

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
    """Whether a prompt says too little to recall anything for."""
    folded = unicodedata.normalize("NFKC", prompt).casefold().strip()
    words = _WORD.findall(folded)
    if not words:
        return True
    is_unspaced = _UNSPACED.search(folded) is not None
    if is_unspaced and "".join(words) in _PHRASES:
        return True
    # A character of Chinese says about as much as a word: two may be a question.
    if not is_unspaced and len(folded) < MIN_CHARS:
        return True
    return all(word in _WORDS for word in words)
