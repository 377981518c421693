"""Detects which of the languages with triggers a text is in: by script, else by stop words."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["en", "es", "de", "fr", "pt", "cs", "zh", "ja", "ko"]

KANA = re.compile("[\u3040-\u30ff]")
HANGUL = re.compile("[\uac00-\ud7af]")
HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W\d_]+")

# Folded, like the texts they are compared with.
_SMALL: dict[Language, str] = {
    "en": """the and is are was i i'm my me you your we our of to in on at for with that this it not always never
        please from have has be do don't will would an as by or they she he his her about when""",
    "es": """el la los las y es son mi mis me te tu que de del en con por para una un yo no lo se nos siempre nunca
        muy esta este hoy pero como mas al soy vivo trabajo hemos""",
    "de": """der die das und ist sind ich mein meine mir mich du dir wir uns nicht ein eine einen in mit von zu auf
        fur im am dass immer nie bitte auch den dem es bin habe haben wird nur aber""",
    "fr": """le la les et est sont je j mon ma mes me moi tu te nous que qu de du des en un une pour avec dans sur ne
        pas toujours jamais c l d s au aux suis ai mais plus chez a""",
    "pt": """o a os as e sao meu minha meus minhas me eu voce nos que de do da em no na com por para um uma nao se
        sempre nunca muito mas ao sou moro trabalho vamos foi esta isso""",
    "cs": """a je jsou jsem muj moje mam me mi ja ty my nas ze v ve na s se si do od pro ale vzdy vzdycky nikdy
        prosim to ten ta jsme budeme u z ne uz bych rad rada""",
}
_SMALL_WORDS = {language: frozenset(words.split()) for language, words in _SMALL.items()}


def guess_language(folded: str) -> Language | None:
    """The most likely language of a folded text, or None."""
    if not folded.isascii():
        if KANA.search(folded):
            return "ja"
        if HANGUL.search(folded):
            return "ko"
        if HAN.search(folded):
            return "zh"
    words = set(_WORD.findall(folded[:2000]))
    counts = {language: len(words & small) for language, small in _SMALL_WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] else None
