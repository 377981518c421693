"""Words that say nothing about a topic, by language: lower case, without diacritics, as the tokenizer leaves them."""

from __future__ import annotations

import re
from functools import cache

_ENGLISH = """
a about above after again all also am an and any anybody anyone anything are aren as at be because been before being
between both but by can cannot could couldn did didn do does doesn doing done during each either else ever every
everybody everyone everything few for from further get gets getting go goes going gone got had hadn has hasn have
haven having he her here hers herself him himself his how however i if in into is isn it its itself just let ll many
may maybe me might more most much must mustn my myself neither no nobody none nor not nothing now of off often on once
one only onto or other others our ours ourselves out over own per perhaps please quite rather re really said same say
says shall she should shouldn since so some somebody someone something such tell than that the their theirs them
themselves then there these they thing things this those though through thus to too toward towards under unless until
up upon us ve very via was wasn we were weren what whatever when whenever where wherever whether which while who
whoever whom whose why will with within without won would wouldn yes yet you your yours yourself yourselves
"""
_SPANISH = """
a al algo alguien alguna algunas alguno algunos ante antes aquel aquella aquello aqui asi aun aunque cada como con
contra cual cuales cuando cuanta cuantas cuanto cuantos de del desde donde dos durante e el ella ellas ello ellos en
entre era eran eres es esa esas ese eso esos esta estaba estaban estamos estan estar estas este esto estos estoy fue
fueron ha han has hasta hay he la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros nuestra nuestras
nuestro nuestros o os otra otras otro otros para pero poco por porque que quien quienes se sea ser si sido sin sobre
son soy su sus tal tambien tampoco tan tanto te tengo ti tiene tienen tu tus un una unas uno unos usted ustedes y ya
yo
"""
_PORTUGUESE = """
a ao aos aquela aquelas aquele aqueles aquilo as ate com como da das de dela delas dele deles depois do dos e ela elas
ele eles em entre era eram essa essas esse esses esta estao estas estava estavam este estes estou eu foi foram ha isso
isto ja la lhe lhes lo mais mas me mesmo meu meus minha minhas muito na nao nas nem no nos nossa nossas nosso nossos
num numa o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto que quem sao se seja sem ser sera
seu seus so sua suas tambem te tem tenho ter teu teus tinha tu tua tuas um uma umas uns voce voces
"""
_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei beim
bin bis bist da damit dann das dass dein deine deinem deinen deiner dem den denn der des dessen dich die dies diese
diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure fur
gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem
ins ist ja jede jedem jeden jeder jedes jene jetzt kann kannst kein keine keinem keinen keiner konnen konnte mache
machen man manche mein meine meinem meinen meiner mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne
sehr sein seine seinem seinen seiner seit selbst sich sie sind so solche soll sollte sondern uber um und uns unser
unsere unter viel vom von vor wahrend wann war waren warst warum was weil welche welchem welchen welcher welches wem
wen wenn wer werde werden wessen wie wieder will wir wird wirst wo wohin wollen wollte worden wurde wurden zu zum zur
zwischen
"""
_FRENCH = """
a afin ai ainsi apres as au aucun aucune aussi autre autres aux avaient avait avant avec avez avoir avons bien c car
ce ceci cela celle celles celui ces cet cette ceux chaque chez ci comme comment d dans de des deux donc dont du elle
elles en encore entre est et etaient etais etait ete etes etre eu eux fait faire fut il ils j je l la le les leur
leurs lors lui m ma mais me meme memes mes moi mon n ne ni nos notre nous on ont ou par parce pas peu peut plus pour
pourquoi pourrait qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son sont sous suis sur t ta
tes toi ton tous tout toute toutes tres tu un une vers voici voila vos votre vous y
"""
_ITALIAN = """
a abbiamo ad agli ai al alla alle allo anche ancora avere aveva avevano avete c che chi ci cio cioe come con contro
cosa cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dove due e ed era erano essere
fa fare fra gia gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio molto ne negli nei
nel nella nelle nello no noi non nostra nostre nostri nostro o ogni per perche piu poi quale quali quando quanto quasi
quella quelle quelli quello questa queste questi questo qui quindi se sei senza si sia siamo siete sono sta stata
state stati stato su sua sugli sui sul sulla sulle sullo suo suoi tra tu tua tue tuo tuoi tutti tutto un una uno vi
voi
"""
_RUSSIAN = """
а без бы был была были было быть в вам вас ваш ваша ваше ваши весь во вот все всего всех вы где да даже для до его ее
если есть еще ж же за здесь и из или им их к как какая какие какой каком когда кого который которая которое которые
кто куда ли либо меня мне много может мой моя мое мои мы на над надо нам нас наш наша наше наши не него нее нет ни них
но ну о об однако он она они оно от очень по под после потом почему при про с сам сама сами свой своя свое свои себе
себя сейчас со так также такой такая такое такие там тебе тебя тем то того тоже той только том тот ту ты у уже хотя
чего чей чем что чтобы чье чья эта эти это этой этом этот эту я
"""
_ARABIC = """
في من الي علي عن مع هذا هذه ذلك تلك هو هي هم هن انا انت نحن كان كانت كانوا يكون تكون ما ماذا متي اين كيف لماذا هل لم
لن لا ليس قد ثم او ام و ف ب ل ك ان الذي التي الذين كل بعض غير بين حتي عند عندما اذا لو لكن بل كما منذ حول بعد قبل هناك
هنا اي فيه فيها به بها له لها عليه عليها منه منها كم
"""
LATIN: dict[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
    "pt": frozenset(_PORTUGUESE.split()),
    "de": frozenset(_GERMAN.split()),
    "fr": frozenset(_FRENCH.split()),
    "it": frozenset(_ITALIAN.split()),
}
OTHER: frozenset[str] = frozenset(_RUSSIAN.split()) | frozenset(_ARABIC.split())

# Chinese and Japanese have no spaces, so their stop words are cut out of a run where they stand.
_CHINESE = """
什么 什麼 甚麼 什么时候 什麼時候 什么地方 什麼地方 几点 幾點 几号 怎么 怎麼 怎样 怎樣 怎么样 怎麼樣 为什么 為什麼 为何
為何 如何 哪里 哪裡 哪裏 哪儿 哪兒 哪个 哪個 哪些 哪位 哪 谁 誰 多少 多久 几个 幾個 是否 是不是 有没有 有沒有 能不能
我们 我們 你们 你們 他们 他們 她们 她們 它们 它們 咱们 自己 这个 這個 那个 那個 这些 這些 那些 这里 這裡 那里 那裡
这样 這樣 那样 那樣 这么 這麼 那么 那麼 因为 因為 所以 但是 可是 不过 不過 如果 还是 還是 或者 以及 关于 關於 对于
對於 请问 請問 告诉我 告訴我 一下 一个 一個 的 了 吗 嗎 呢 吧 啊 呀 嘛 么 麼 我 你 您 他 她 它 是 这 這 那 之前 之后
之後
"""
_JAPANESE = """
です でした でしょう ました ましたか ます ますか ません ませんでした ください について に関して という といった どこ
だれ いつ なに なん どう どの どれ どんな どちら なぜ どうして どうやって いくつ いくら これ それ あれ この その あの
ここ そこ あそこ わたし あなた から まで より ので のに だった だ である であった ている ていた ています ていました
して した する します しました された される られた こと もの ため とき では には とは への での との ですか かな
だっけ っけ 何 誰 私 僕 俺 彼 彼女
"""
_PARTICLES = "はをがにのでともへやかねよ"
_HIRAGANA = "ぁ-ゖ"
EDGE: frozenset[str] = frozenset("在有和与與就都也很还還把被让讓给給从從到对對去来來及或")
"""Letters that are seldom part of the word they stand beside at the end of a piece."""
WEAK: frozenset[str] = frozenset(
    "的了吗嗎呢吧啊呀嘛么麼我你您他她它是这這那在有和与與及或就都也很还還把被让讓给給从從到对對向之于於而其着著过過不没沒能想"
    "说說去来來几幾个個"
    "はをがにのでともへやかねよたてしいるれさますだなっ"
    "은는이가을를에의도로와과만"
)
"""Letters of which a pair says nothing, though one of them inside a word may."""

_KOREAN_WORDS = """
무엇 무엇을 무엇이 무엇인가 뭐 뭐가 뭐를 뭘 뭔가 뭐야 어디 어디서 어디에 어디에서 어디로 언제 누구 누가 누구를 누구와
누구의 왜 어떻게 어떤 어느 얼마 얼마나 몇 이 그 저 이것 그것 저것 이런 그런 저런 여기 거기 저기 나 나는 내 내가 너
너는 네가 우리 우리는 우리가 저는 제가 그는 그녀 그녀는 그들은 그리고 그러나 하지만 그래서 또는 및 있다 있는 있나
있나요 있어 있어요 있었나요 있습니까 없다 없는 하다 하는 했다 했나 했나요 했어 했습니까 하나요 합니까 되다 된 되는
됐나요 인가요 입니까 이다 대해 대한 위해 때 것 것은 것이 수 좀 더 안 못 다 잘
"""
_KOREAN_ENDINGS = """
에서는 에게서 으로는 이라는 이라고 에서 에게 한테 까지 부터 으로 처럼 보다 이랑 하고 라는 라고 이나 마다 조차 밖에
인가요 이었나요 였나요 했나요 했어요 했습니까 하나요 합니까 했던 하는 되나요 됐나요 입니까 인가 이야 예요 이에요 들은
들이 들을 들의 은 는 이 가 을 를 에 의 도 로 와 과 만 랑 나 야
"""
KOREAN_WORDS: frozenset[str] = frozenset(_KOREAN_WORDS.split())
KOREAN_ENDINGS: tuple[str, ...] = tuple(sorted(set(_KOREAN_ENDINGS.split()), key=lambda word: (-len(word), word)))


@cache
def cuts() -> re.Pattern[str]:
    """Where a Chinese or Japanese run is cut: at words that carry no topic."""
    words = sorted({*_CHINESE.split(), *_JAPANESE.split()}, key=lambda word: (-len(word), word))
    # A particle stands beside another script or at an end; between hiragana it is as often part of a word.
    particle = f"(?<![{_HIRAGANA}])[{_PARTICLES}]|[{_PARTICLES}](?![{_HIRAGANA}])"
    return re.compile(f"{'|'.join(words)}|を|{particle}")


def latin_stop_words(words: list[str]) -> frozenset[str]:
    """The stop words to apply to a query: those of the language it is in, English unless others are clearly more.

    One list of all languages would take the English words `war`, `hat`, `sin`, `son` or `die` out of a query.
    """
    best = "en"
    most = sum(word in LATIN["en"] for word in words)
    for language, listed in LATIN.items():
        count = sum(word in listed for word in words)
        if count > most and count >= 2:
            best, most = language, count
    return LATIN[best]
