"""The form of a text: its length, pasted content, statements and questions."""

from __future__ import annotations

import re

SHORTEST = 10
MOST_EMOJI = 3
# A CJK character says about as much as two or three Latin letters.
CJK_WEIGHT = 2.5

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,40}(?:\s[^<>]{0,300}|/)?>|&lt;/?[A-Za-z]{1,40}")
# Looks like a tag but is an address or a type: `<ann@example.org>`, `List<String>`.
_NO_TAG = re.compile(r"<[^<>\s]{1,100}@[^<>\s]{1,100}>|\w<[A-Z]\w{0,40}>|\w<[a-z]\d{1,3}>")
_FENCE = re.compile(r"(?:^|\n)\s{0,3}(?:```|~~~)")
_LIST = re.compile(
    r"(?:^|\n)[ \t]{0,8}(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]{1,4}\S[^\n]*\n[ \t]{0,8}(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]{1,4}\S"
)
_LIST_ITEM = re.compile(r"^[ \t]{0,8}(?:[-*+•‣▪])[ \t]{1,4}\S")
_HEADING = re.compile(r"(?:^|\n)[ \t]{0,3}#{1,6}[ \t]{1,4}\S")
_TABLE = re.compile(r"(?:^|\n)[ \t]{0,3}\|[^\n|]{0,200}\||\|[ \t]{0,3}:?-{3,}")
_INDENTED_CODE = re.compile(r"(?:^|\n)(?: {4}|\t)\S[^\n]*[;{}()=][^\n]*\n(?: {4}|\t)")
# One emoji as displayed: flags, families and skin tones consist of several characters.
_ONE = (
    "(?:[\U0001f1e6-\U0001f1ff]{2}|[\U0001f300-\U0001f3fa\U0001f400-\U0001faff\u2600-\u27bf\u2b50\u2b55\u231a\u231b\u23e9-\u23f3]"
    "[\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]{0,8})"
)
_EMOJI = re.compile(f"{_ONE}(?:\u200d{_ONE}){{0,6}}")


def weight(text: str) -> float:
    """The length of a text in Latin letters."""
    return len(text) if text.isascii() else len(text) + (CJK_WEIGHT - 1) * len(_CJK.findall(text))


def pasted_form(text: str) -> str | None:
    """The form of pasted content, if it is any: a key of `REASONS`."""
    if "<" in text or "&lt;" in text:
        without = _NO_TAG.sub("", text)
        if _TAG.search(without):
            return "markup"
    if _FENCE.search(text) or _INDENTED_CODE.search(text):
        return "code"
    if _TABLE.search(text):
        return "table"
    if _LIST.search(text) or _LIST_ITEM.search(text):
        return "list"
    if _HEADING.search(text):
        return "heading"
    if count_emoji(text) > MOST_EMOJI:
        return "emoji"
    return None


def count_emoji(text: str) -> int:
    """Number of displayed emoji."""
    return 0 if text.isascii() else len(_EMOJI.findall(text))


REASONS = {
    "markup": "It holds markup.",
    "code": "It is a block of code.",
    "table": "It is a table.",
    "list": "It is a list.",
    "heading": "It is a document with headings.",
    "emoji": f"It has more than {MOST_EMOJI} emoji.",
}


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
# A request phrased as a question still counts as a statement.
_REQUEST = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?(?:remember|note|keep in mind|save|write down"
    r"|make a note)\b(?! (?:what|who|where|when|how|my|which)\b)|\b(?:puedes|podrias) (?:recordar|anotar"
    r"|apuntar) que\b|\b(?:kannst|konntest) du dir (?:bitte )?merken\b|\b(?:peux-tu|pourrais-tu"
    r"|peux tu) (?:te souvenir|retenir|noter) (?:que|qu)\b|\b(?:pode|podes|poderia) (?:se )?(?:lembrar"
    r"|anotar)(?: de)? que\b|\bmuzes si (?:prosim )?(?:pamatovat|zapamatovat|poznamenat)\b|(?:能|可以"
    "|请)(?:帮我)?记(?:住|一下)|覚えておいて(?:くれ|もらえ|いただけ)|기억해 ?(?:줄|주)"
)


def statements(folded: str) -> list[str]:
    """The sentences of a folded text that are not questions."""
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
