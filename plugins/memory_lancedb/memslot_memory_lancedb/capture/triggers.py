"""Triggers in nine languages: preferences, decisions, names, facts, rules, requests to remember.

Patterns run on folded text (see `normalization.fold`): lower case, without accents, straight apostrophes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from memslot_memory_lancedb.capture.languages import Language, guess_language

Kind = Literal["decision", "preference", "entity", "fact", "rule", "remember", "custom"]

_PATTERNS: dict[Language, dict[Kind, str]] = {
    "en": {
        "remember": (
            r"\b(?:remember|don't forget|do not forget|keep in mind|bear in mind|make a note|take note|note that"
            r"|for the record)\b|\bimportant\b"
        ),
        "decision": (
            r"\b(?:we|i)(?:'ve| have)?(?: just| finally)? (?:decided|agreed|chose|opted|settled on|picked)\b|\b(?:we"
            "|i)(?:'ll| will|'re going to| are going to|'m going to) (?:use|go with|switch|adopt|migrate|move|take"
            r"|drop|stick)\b|\blet's (?:use|go with|stick)\b|\bthe decision is\b"
        ),
        "preference": (
            r"\bi (?:(?:really|also|usually|generally|just|much|still|always|never|absolutely|do|would"
            r"|strongly) ){0,2}(?:prefer|like|love|hate|enjoy|dislike|want(?! you)|need|adore|detest)\b|\bi(?:'d"
            r"| would) rather\b|\bi can(?:'t|not) stand\b|\bi'm (?:a fan of|fond of|into)\b|\bi don't (?:like|want"
            r"|eat|drink)\b|\bmy (?:[\w']+ ){0,2}favou?rite\b|\bmy preference\b|\bmy favou?rite\b"
        ),
        "entity": (
            r"\bmy name is\b|\bmy name's\b|\bcall me\b|\bi am called\b|\bis (?:called|named)\b|\bmy nickname\b"
            r"|\bgo by the name\b"
        ),
        "fact": (
            r"\bi(?:'m| am) (?:a|an|allergic|from|based|married|vegan|vegetarian|the|\d+)\b|\bi (?:live|work"
            r"|was born|grew up|moved|own|speak|study)\b|\bi have (?:a|an|two|three|four|\d+)\b|\b(?:works?"
            r"|worked) (?:at|for|as)\b|\blives in\b|\b(?:my|our) (?:[\w'-]+ ){1,4}?(?:is|are|was|were|has|have|works"
            r"|lives|expires|starts|begins|ends)\b"
        ),
        "rule": r"\b(?:always|never|from now on|every time|whenever)\b",
    },
    "es": {
        "remember": r"\b(?:recuerd[ae]|acuerdate|no olvides|ten en cuenta|anota|apunta|toma nota)\b|\bimportante\b",
        "decision": (
            r"\b(?:decidimos|decidi|hemos decidido|he decidido|acordamos|elegimos|optamos)\b|\b(?:vamos a"
            r"|voy a) (?:usar|utilizar|cambiar|pasar|migrar)\b|\b(?:usaremos|utilizaremos|adoptaremos)\b"
        ),
        "preference": (
            r"\b(?:prefiero|preferimos|me gustan?|me encantan?|odio|detesto|no soporto|me gustaria|quiero(?! que))\b"
            r"|\bmi (?:\w+ )?(?:favorit[oa]|preferid[oa])\b|\bmi \w+(?: \w+)? (?:favorit[oa]|preferid[oa])\b"
        ),
        "entity": r"\bme llamo\b|\bmi nombre es\b|\bllamame\b|\bse llaman?\b",
        "fact": (
            r"\b(?:vivo en|trabajo (?:en|como|para)|naci en|soy (?:de|un|una|alergic|veget|vegan|ingenier|profesor"
            r"|medic)\w*|tengo (?:un|una|dos|tres|\d+|alergia))\b|\b(?:mi|mis|nuestr[oa]s?) (?:[\w-]+ ){1,4}?(?:es"
            r"|son|esta|estan|tiene|trabaja|vive|caduca|empieza)\b"
        ),
        "rule": r"\b(?:siempre|nunca|jamas|a partir de ahora|cada vez que)\b",
    },
    "de": {
        "remember": (
            r"\b(?:merk(?:e)? dir|denk daran|denke daran|vergiss nicht|erinnere dich|notiere|notier dir"
            r"|behalte im kopf)\b|\bwichtig\b"
        ),
        "decision": (
            r"\b(?:wir haben|ich habe) (?:uns |mich )?(?:\w+ ){0,3}(?:beschlossen|entschieden|vereinbart|gewahlt)\b"
            r"|\b(?:beschlossen|vereinbart|entschieden)\b|\bwir (?:nehmen|verwenden|nutzen|setzen|wechseln|steigen) "
            r"|\bwir werden (?:\w+ ){0,3}(?:nutzen|verwenden|einsetzen|nehmen|wechseln)\b"
        ),
        "preference": (
            r"\b(?:ich|wir) (?:\w+ )?(?:bevorzugen?|mag|mogen|lieben?|hassen?|will|wollen|mochten?)\b|\bmag ich\b"
            r"|\bich (?:\w+ ){1,3}?(?:lieber|gern|gerne)\b|\blieblings\w+|\bam liebsten\b"
            r"|\bkann (?:\w+ ){0,3}nicht (?:leiden|ausstehen)\b"
        ),
        "entity": r"\bich heisse\b|\bmein name ist\b|\bnenn(?:e)? mich\b|\bheisst\b|\bmein name wird\b",
        "fact": (
            r"\bich (?:wohne|lebe|arbeite|komme aus|stamme|bin (?:ein|eine|allergisch|aus|vegan|vegetarier"
            r"|verheiratet|\w+(?:er|in)\b)|habe (?:ein|eine|einen|zwei|drei|\d+))\b|\barbeitet (?:bei|als|fur)\b"
            r"|\b(?:mein|meine|unser|unsere) (?:[\w-]+ ){1,4}?(?:ist|sind|war|hat|arbeitet|wohnt|heisst|lauft"
            r"|beginnt)\b"
        ),
        "rule": r"\b(?:immer|nie|niemals|ab jetzt|ab sofort|jedes mal)\b",
    },
    "fr": {
        "remember": (
            r"\b(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|n'oublie pas|n'oubliez pas|retiens|retenez"
            r"|note que|notez que)\b|\bimportante?s?\b"
        ),
        "decision": (
            r"\b(?:nous avons|on a|j'ai) (?:\w+ )?(?:decide|choisi|opte|convenu)\b|\b(?:nous allons|on va"
            r"|je vais) (?:utiliser|passer|prendre|adopter|migrer)\b|\b(?:nous utiliserons|on utilisera"
            r"|nous prendrons)\b"
        ),
        "preference": (
            r"\b(?:je|nous) (?:\w+ )?(?:prefere|preferons|aime|adore|deteste|hais|veux(?! que)|voudrais|souhaite)\b"
            r"|\bj'(?:\w+ )?(?:aime|adore|aimerais)\b|\bj'ai horreur\b|\bje n'aime pas\b|\b(?:mon|ma"
            r"|mes) (?:\w+ ){1,2}(?:prefere|preferee|prefere?e?s|favorit)\w*"
        ),
        "entity": r"\bje m'appelle\b|\bmon nom est\b|\bappelle-moi\b|\bappelez-moi\b|\bs'appelle(?:nt)?\b",
        "fact": (
            r"\bj'habite\b|\bje (?:vis|travaille|viens de|suis (?:un|une|allergique|ne|nee|vegan|vegetarien\w*"
            r"|marie\w*|\w+(?:eur|ien|ienne|euse)))\b|\bj'ai (?:un|une|deux|trois|\d+)\b|\btravaille (?:chez|comme"
            r"|pour)\b|\b(?:mon|ma|mes|notre|nos) (?:[\w-]+ ){1,4}?(?:est|sont|a|ont|travaille|habite|expire"
            r"|commence)\b"
        ),
        "rule": r"\b(?:toujours|jamais|desormais|a partir de maintenant|chaque fois que)\b",
    },
    "pt": {
        "remember": (
            r"\b(?:lembre-se|lembra-te|lembre|nao se esqueca|nao esqueca|nao te esquecas|anote|tome nota"
            r"|tenha em mente)\b|\bimportante\b"
        ),
        "decision": (
            r"\b(?:decidimos|decidi|resolvemos|combinamos|escolhemos|optamos)\b|\b(?:vamos|vou) (?:usar|utilizar"
            r"|adotar|migrar|mudar|passar)\b|\b(?:usaremos|utilizaremos)\b"
        ),
        "preference": (
            r"\b(?:prefiro|preferimos|gosto (?:de|do|da|muito|dos|das)|gostamos|adoro|amo|odeio|detesto"
            r"|quero(?! que)|nao suporto|gostaria)\b|\b(?:meu|minha) (?:\w+ ){1,2}?(?:favorit[oa]|preferid[oa])\b"
            r"|\bnao gosto\b"
        ),
        "entity": r"\b(?:meu|o meu) nome e\b|\bme chamo\b|\bchamo-me\b|\bme chame\b|\bse chama\b|\bchama-se\b",
        "fact": (
            r"\b(?:moro|vivo|trabalho|nasci) (?:em|no|na|como|para|de|numa?|com)\b|\bsou (?:de|um|uma|alergic|vegan"
            r"|veget|engenheir|professor|medic)\w*|\btenho (?:um|uma|dois|duas|tres|\d+|alergia)\b|\b(?:meu|minha"
            r"|meus|minhas|nosso|nossa) (?:[\w-]+ ){1,4}?(?:e|sao|esta|tem|trabalha|mora|vence|comeca)\b"
        ),
        "rule": r"\b(?:sempre|nunca|jamais|a partir de agora|toda vez que)\b",
    },
    "cs": {
        "remember": (
            r"\b(?:pamatuj|zapamatuj|nezapomen|mej na pameti|poznamenej|zapis si)\b|\bdulezite\b|\bdulezity\b"
            r"|\bdulezita\b"
        ),
        "decision": (
            r"\b(?:rozhodli jsme|rozhodl jsem|rozhodla jsem|dohodli jsme|vybrali jsme|zvolili jsme)\b"
            r"|\bbudeme (?:pouzivat|vyuzivat)\b|\bpouzijeme\b|\bprejdeme na\b"
        ),
        "preference": (
            r"\b(?:preferuji|preferuju|mam (?:moc |velmi )?rad[a]?|nemam rad[a]?|miluji|miluju|nesnasim|nenavidim"
            r"|chci|chceme|radsi|radeji|nejradsi|nejradeji|libi se mi|chutna mi)\b|\boblibe\w+"
        ),
        "entity": r"\bjmenuji se\b|\bjmenuju se\b|\bmoje jmeno je\b|\brikej mi\b|\bjmenuje se\b",
        "fact": (
            r"\b(?:bydlim|ziji|ziju|pracuji|pracuju|narodil jsem|narodila jsem|jsem (?:z|alergick|vegan|vegetarian"
            r"|ucitel|programator|lekar|zenat|vdan)\w*|pracuje (?:v|jako|pro|na))\b|\bmam (?:dva|dve|tri|jednoho"
            r"|jednu|alergii|\d+)\b|\b(?:muj|moje|ma|nas|nase) (?:[\w-]+ ){1,4}?(?:je|jsou|ma|pracuje|bydli|plati"
            r"|zacina)\b"
        ),
        "rule": r"\b(?:vzdy|vzdycky|nikdy|od ted|pokazde)\b",
    },
    "zh": {
        "remember": "记住|记得|记一下|请记|别忘了|不要忘记|重要",
        "decision": (
            "我们(?:已经|最终)?(?:决定|商定|选择|选定)|我(?:已经)?决定|我们(?:将|会|要)(?:使用|采用|用|改用)|定下来"
        ),
        "preference": (
            "我(?:们)?(?:比较|更|最|很|非常|特别|真的|不|不太|一直)?(?:喜欢|偏好|偏爱|爱|讨厌|想要|希望|宁愿"
            "|受不了)|我最(?:喜欢|爱)|更喜欢"
        ),
        "entity": "我(?:的名字)?叫|我的名字是|叫我|名叫|名字叫|的名字是",
        "fact": (
            r"我(?:现在|目前)?(?:住在|住|在[^，。]{1,12}(?:工作|上班|上学)|来自|是一?[名个位]?|有[一两二三四\d]"
            "|对[^，。]{1,8}过敏|出生)|我(?:的|家|们)[^，。！？]{1,12}(?:是|在|有|到期)"
        ),
        "rule": "总是|从来不|从不|永远|一直都|每次|以后|从现在起|从现在开始",
    },
    "ja": {
        "remember": "覚えて(?:おい|い)?て?|忘れないで|メモし|記憶して|重要|大切な",
        "decision": (
            "(?:に|と|ことに)(?:決め|決定し|決まり)(?:まし)?た|採用する(?:こと)?|を使うことに|にすることに(?:し|決)"
            "|使うことにし"
        ),
        "preference": (
            "(?:が|は|も|のほうが|の方が)(?:一番|とても|本当に|大)?(?:好き|嫌い|苦手|欲しい|ほしい|いい(?:です)?)"
            "|を好み|たくない|が気に入って|お気に入り"
        ),
        "entity": "(?:名前|名)は|と申します|と呼んで|といいます|と言います|という名前",
        "fact": (
            "に住んで|で働いて|に勤め|の出身|出身です|アレルギー|(?:私|僕|俺|わたし)(?:の|は)[^。！？]{1,30}(?:です"
            "|だ|ます)|(?:うち|我が家)(?:の|は|には)|生まれ"
        ),
        "rule": "いつも|必ず|絶対に|決して|毎回|これから(?:は)?|今後",
    },
    "ko": {
        "remember": "기억해|기억하|잊지 ?마|메모해|적어 ?[둬두줘]|중요",
        "decision": "(?:기로|하기로) ?(?:했|결정)|결정했|정했|사용할 ?(?:거|예정|것)|쓸 ?(?:거|예정)|채택",
        "preference": (
            "좋아(?:해|합|하|요)|싫어(?:해|합|하)|싫(?:어|다|습)|선호|더 ?좋|사랑해|원해|원합|하고 ?싶|좋습니다|가장 좋"
        ),
        "entity": "(?:이름은|이름이)|라고 ?(?:불러|해요|합니다|부르)|제 이름|내 이름",
        "fact": (
            "(?:에|에서) ?(?:살|일(?:해|하)|근무|다니|태어)|알레르기|(?:저는|나는|전|난) [^.!?]{1,30}(?:이에요|예요"
            "|입니다|이야|이다)|(?:제|내|우리) [^.!?]{1,20}(?:은|는|이|가) [^.!?]{1,25}(?:에요|예요|입니다|이야|야"
            "|있어|해요)"
        ),
        "rule": "항상|언제나|절대|매번|앞으로|이제부터|늘 ",
    },
}
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}")
_PHONE = re.compile(r"(?<![\w./-])(?:\+\d{1,3}[ ./-]?)?(?:\(\d{1,5}\)[ ./-]?)?\d{2,5}(?:[ ./-]?\d{2,5}){1,4}(?![\w-])")
_DATE = re.compile(r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4}")
_LATIN: tuple[Language, ...] = ("en", "es", "de", "fr", "pt", "cs")
_ORDER: tuple[Kind, ...] = ("decision", "preference", "entity", "fact", "rule", "remember")


@dataclass(frozen=True)
class Trigger:
    """A phrase that makes a text worth keeping; the smallest `rank` determines the category."""

    kind: Kind
    text: str
    rank: int
    language: Language | None


def find_triggers(folded: str) -> list[Trigger]:
    """All triggers in a folded text, in its most likely language first, others only without any."""
    guess = guess_language(folded)
    for languages in _candidates(guess):
        found = [trigger for language in languages for trigger in _in_language(folded, language)]
        if found:
            break
    else:
        found = []
    return found + [Trigger("entity", contact, 0, guess) for contact in _contacts(folded)]


def find_custom(folded: str, words: Sequence[str]) -> Trigger | None:
    """The first custom trigger in a folded text; `words` are folded, too."""
    for word in words:
        if word and (start := folded.find(word)) >= 0:
            return Trigger("custom", word, start, guess_language(folded))
    return None


def _candidates(guess: Language | None) -> Iterator[tuple[Language, ...]]:
    if guess is not None:
        yield (guess,)
    if guess == "zh":
        # A Japanese line may be all Han; a line of another script may contain a foreign word.
        yield ("ja",)
    yield tuple(language for language in _LATIN if language != guess)


@cache
def _compiled(language: Language) -> dict[Kind, re.Pattern[str]]:
    """The patterns of one language, compiled on demand."""
    return {kind: re.compile(pattern) for kind, pattern in _PATTERNS[language].items()}


def _in_language(folded: str, language: Language) -> Iterator[Trigger]:
    patterns = _compiled(language)
    for kind in _ORDER:
        if match := patterns[kind].search(folded):
            # A fact is ranked by its verb: in "my favourite film is", the preference before it wins.
            rank = match.end() if kind == "fact" else match.start()
            yield Trigger(kind, match[0].strip(), rank, language)


def _contacts(folded: str) -> Iterator[str]:
    if "@" in folded and (mail := _MAIL.search(folded)):
        yield mail[0]
    for number in _PHONE.finditer(folded):
        digits = sum(character.isdigit() for character in number[0])
        if 9 <= digits <= 15 and not _DATE.fullmatch(number[0]):
            yield number[0]
            return
