"""Statements and questions apart: "do you remember my name?" tells nothing, "can you remember that I am Bob?" does."""

from __future__ import annotations

import re

_END = re.compile(r"[.!…]+(?=\s|$)|[?؟;]+(?=\s|$)|[?？。！]+|\n+")
# Folded, and with or without a question mark.
_ASKS = re.compile(
    r"^[\s\W]*(?:(?:hey|hi|so|ok|okay|and|but|well|also|hallo|hola|salut|oi|ahoj|y|und|et|e|a)[\s,]+)?(?:(?:do|did"
    "|does|can|could|would|will|have|has|are|is|was|were|should|shall|may|am) (?:you|i|we|he|she|they|it|my|the"
    r"|there|this|that|your|our)\b|(?:what|who|where|why|how|which|whose)(?:'s| is| are| do| did| does| was| were"
    r"| should| can| would| much| many| about)\b|remind me (?:what|who|where|when|how)\b|tell me (?:what|who|where"
    r"|when|how|about)\b|¿|(?:te acuerdas|recuerdas|sabes|puedes|podrias|tienes|cual es|como estas|que tal)\b"
    r"|(?:weisst|erinnerst|kannst|hast|magst|kennst|konntest|willst|bist) du\b|(?:was|wie|wo|warum|wer|wann) (?:ist"
    r"|sind|war|hat|heisst|mache|kann|geht|soll|magst)\b|est-ce que\b|(?:te souviens|peux|sais|pourrais|as|aimes"
    r"|connais|veux)-tu\b|tu te souviens\b|(?:quel|quelle|quels|quelles|comment|pourquoi)\b|(?:voce"
    r"|tu) (?:se )?(?:lembras?|sabes?|gostas?|podes?|quer|conhece)\b|(?:lembra|sabe|pode|consegue) (?:de|do|da|qual"
    r"|me|o|como)\b|(?:qual|como|onde) (?:e|esta|fica|vai|voce)\b|(?:pamatujes|vis|muzes|mas|znas|chces|umis) "
    "|(?:jak|kde|proc|kdo|kdy) (?:je|jsi|se|mam|to|bydl))"
)
_CJK_ASKS = re.compile(
    "(?:吗|呢|么)$|^你(?:还)?(?:记得|知道)|是不是|(?:什么|怎么样|为什么|哪里|哪儿|谁|几点|怎么)(?:[^，]{0,6})$"
    "|(?:です|ます|でした|ました|ません|でしょう)か$|(?:かな|だっけ|だろうか|の)$(?<=[?？])|だっけ$"
    "|覚えて(?:い)?ますか|(?:何|誰|どこ|いつ|なぜ)(?:です|だ|が|を)?(?:か)?$|(?:까|까요|나요|니|가요|을래|ㄹ래|지요"
    "|죠)$|(?:기억나|기억하니|기억해요|알아)$(?<=[?])|(?:뭐|누구|어디|언제|왜)(?:야|예요|지|니)?$"
)
# A request in the form of a question is a statement all the same.
_REQUEST = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?(?:remember|note|keep in mind|save|write down"
    r"|make a note)\b(?! (?:what|who|where|when|how|my|which)\b)|\b(?:puedes|podrias) (?:recordar|anotar"
    r"|apuntar) que\b|\b(?:kannst|konntest) du dir (?:bitte )?merken\b|\b(?:peux-tu|pourrais-tu"
    r"|peux tu) (?:te souvenir|retenir|noter) (?:que|qu)\b|\b(?:pode|podes|poderia) (?:se )?(?:lembrar"
    r"|anotar)(?: de)? que\b|\bmuzes si (?:prosim )?(?:pamatovat|zapamatovat|poznamenat)\b|(?:能|可以"
    "|请)(?:帮我)?记(?:住|一下)|覚えておいて(?:くれ|もらえ|いただけ)|기억해 ?(?:줄|주)"
)


def statements(folded: str) -> list[str]:
    """The sentences of a folded text that tell something."""
    kept: list[str] = []
    last = 0
    for end in [*_END.finditer(folded), None]:
        sentence = folded[last : end.start() if end else len(folded)]
        mark = end[0] if end else ""
        last = end.end() if end else last
        if sentence.strip() and (not _is_question(sentence, mark) or _REQUEST.search(sentence)):
            kept.append(sentence)
    return kept


def _is_question(sentence: str, mark: str) -> bool:
    if any(sign in mark for sign in "?？؟"):
        return True
    return bool(_ASKS.match(sentence) or (not sentence.isascii() and _CJK_ASKS.search(sentence.strip())))
