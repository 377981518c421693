"""Stop words and low-information words of Chinese, Japanese and Korean."""

from __future__ import annotations

import re
from functools import cache

# Chinese and Japanese have no spaces: a run is cut at its stop words.
_CHINESE = """
什么 什麼 甚麼 啥 什么时候 什麼時候 什么地方 什麼地方 怎么 怎麼 怎样 怎樣 怎么样 怎麼樣 为什么 為什麼 为何 為何 如何
咋 哪里 哪裡 哪裏 哪儿 哪兒 哪些 哪 谁 誰 多少 多久 多大 多长 多長 多高 多远 多遠 多重 多宽 多寬 多深 多快 多长时间
多長時間 是否 是不是 有没有 有沒有 能不能 会不会 會不會 要不要 可不可以 我们 我們 你们 你們 他们 他們 她们 她們 它们
它們 咱们 自己 这个 這個 那个 那個 这些 這些 那些 这里 這裡 那里 那裡 这儿 那儿 这样 這樣 那样 那樣 这么 這麼 那么
那麼 因为 因為 所以 但是 可是 不过 不過 如果 还是 還是 或者 以及 关于 關於 对于 對於 请问 請問 告诉我 告訴我 一下 一个
一個 的 了 吗 嗎 呢 吧 啊 呀 嘛 么 麼 我 你 您 他 她 它 是 这 這 那 之前 之后 之後
"""
_ASKED_CHINESE = (
    "(?:[几幾]|哪一?)"
    "[个個天点點号號岁歲次年月位名条條颗顆部种種本首只隻边邊座款家份台辆輛间間件张張层層栋棟针針楼樓秒分周]"
)
"""Interrogatives with a counter word: how many, which one."""
_JAPANESE = """
です でした でしょう ました ましたか ます ますか ません ませんでした ください について に関して という といった どこ
だれ いつ なに なん どう どの どれ どんな どちら どっち なぜ どうして どうやって いくつ いくら どのくらい どれくらい
どれだけ どれほど これ それ あれ この その あの ここ そこ あそこ わたし あなた から まで より ので のに だった だ
である であった ている ていた ています ていました された される られた こと もの ため とき では には とは への での との
ですか かな だっけ っけ 何 誰 私 僕 俺 彼 彼女
"""
_DOING = "しました|します|した|して|する"
"""The light verb する after a noun (電話した). After a single kanji it is the end of a verb (話した)."""
_ASKED_JAPANESE = "何[人時日年月回度個番枚歳件冊本点円品部名通号分秒杯匹台軒階](?![一-鿿])"
_HIRAGANA_WORDS = """
くらい ぐらい だけ ほど しか ばかり など さま たち なかった ない なら ある あった いる いた なる なった なって いい
よい よく もう まだ また すぐ とても すごく ちょっと みんな ところ ほう ほか あと まえ うち そう こう よう ように
ような みたい らしい つもり はず わけ まま たび すべて できる できた やる やった いう いった いって くる くれ くれる
くれた きた いく しまう しまった おく おいた みる みた あげる あげた もらう もらった もらって おける おいて かかる
かかった かかって とった とる つく ついた ついて すれば すると されて なければ なので けど けれど だから でも しかし
または および もし やっぱり やはり ずっと いつも たくさん あり おり なり
"""
HIRAGANA_WORDS: frozenset[str] = frozenset(_HIRAGANA_WORDS.split())
"""Function words in hiragana. Only whole spans of them are dropped: the same letters may begin another word."""
PARTICLES = "はをがにのでともへやかねよ"
_HIRAGANA, _KANA = "ぁ-ゖ", "ぁ-ヿ"
WEAK: frozenset[str] = frozenset("はをがにのでともへやかねよたてしいるれさますだなっ은는이가을를에의도로와과만")
"""Letters that carry no meaning as a pair, though one inside a word may."""
WEAK_IN_CHINESE: frozenset[str] = WEAK | frozenset(
    "的了吗嗎呢吧啊呀嘛么麼我你您他她它是这這那在有和与與及或就都也很还還把被让讓给給从從到对對向之于於而其着著过過不没沒能想"
    "说說去来來几幾个個会會要得再最太更又才上下里裡内內外中后後前时時做用由每该該吃看当當成出起"
)
"""The same for Chinese. In Japanese most of these are parts of words."""
_LIGHT_CHINESE = """
现在 後來 后来 问题 問題 东西 東西 事情 时候 時候 时间 時間 地方 可以 可能 需要 应该 應該 打算 知道 觉得 覺得 大概
一共 总共 總共 最后 最後 最近 以前 以后 以後 目前 特别 特別 一点 一些 有点 已经 已經 正在 开始 開始 结果 結果 情况
情況 方面 部分 原因 理由 办法 辦法 方法 方式 名字 名称 名稱 今年 去年 明年 今天 昨天 明天 当时 當時 那次 这次 上次
下次 第一 一次 主要 具体 重要 最好 最大 最多 最高 内容 到底 究竟 比较 非常 真的 其实 好像 本来 终于 原来 而且 于是
然后 同时 没有 不是 不能 不会 不要 大家 家里 每天 每次 每个 所有 全部 一样 一起 之间 除了 发生 出现 进行 完成 成为
认为 表示 提到 人员 意思 条件 種類 种类 特点 特點 原理 效果 影响 影響 作用 关系 關係 顺序 順序 规则 規則 目的 对象
對象 程度 状态 狀態 长度 長度 高度 深度 工作
"""
_LIGHT_JAPANESE = """
名前 場所 時間 理由 原因 結果 方法 内容 状況 場合 最近 最後 最初 必要 可能 人 家 年 月 日 件 点 物 事 所 方 予定 一番
全部 全体 結局 以上 以下 以外 自分 人物 様子 本当 最終 部分 問題 今度 一緒 仕事 期間 条件 意味 種類 特徴 仕組 効果 影響
役割 関係 順番 順序 方式 規則 目的 対象 程度 状態 事情 長さ 高さ 深さ 重さ 広さ 去年 昨年 今年 来年 前年 翌年 先月 今月
来月 先週 今週 来週 昨日 今日 明日 当日 前日 翌日 今朝 今晩 今夜 昨夜 先日 後日 今 昔 近々 近頃 以前 過去 現在 将来 当時
普段 前回 今回 次回
"""
_LIGHT_KOREAN = """
이름 이유 원인 결과 방법 내용 사람 시간 장소 때문 처음 지금 최근 작년 올해 내년 오늘 어제 내일 이번 지난 다음 제일
가장 모두 전부 정도 경우 상황 문제 결국 기간 조건 의미 종류 특징 원리 효과 영향 역할 관계 순서 규칙 목적 대상 상태 사정
길이 높이 깊이 크기 방식 까닭 직업
"""
LIGHT_WORDS = frozenset(f"{_LIGHT_CHINESE}{_LIGHT_JAPANESE}{_LIGHT_KOREAN}".split())
"""Content words of low information: common in any notes, or naming the attribute a question asks for (length, meaning,
job). IDF cannot show that in a small index. Includes relative times (last week), which a later question
words differently."""

_KOREAN_WORDS = """
무엇 무엇을 무엇이 무엇인가 무엇으로 뭐 뭐가 뭐를 뭘 뭔가 뭐야 뭐지 뭐였어 뭐였지 뭔지 무슨 어디 어디서 어디에
어디에서 어디로 어디야 어디까지 언제 언제야 언제부터 언제까지 누구 누가 누구를 누구와 누구의 누구야 누구에게 누구한테
왜 어떻게 어떤 어느 어땠어 얼마 얼마나 얼마야 얼마였어 얼마에 몇 며칠 이 그 저 이것 그것 저것 이런 그런 저런 여기 거기
저기 나 나는 내 내가 너 너는 네가 우리 우리는 우리가 저는 제가 그는 그녀 그녀는 그들은 그리고 그러나 하지만 그래서
또는 및 있다 있는 있나 있나요 있어 있어요 있었나요 있었어 있습니까 없다 없는 없이 하다 하는 했다 했나 했나요 했어 했던
했지 했습니까 하나요 하면 하려면 합니까 해 해야 한 할 하고 되다 된 되는 되면 됐어 됐나요 인가요 입니까 이다 대해 대한
위해 위한 때 때는 때마다 것 건 걸 게 거 거야 것은 것이 것을 것에 수 좀 더 안 못 다 잘 등 중 중에 후 후에 전에 동안 씨
씨는 씨의 씨가 님 님이 개 번 명 시 년 월 일 원 살 곡 위 도 쪽 곳
"""
_KOREAN_PARTICLES = """
에서는 에게서 에게는 으로는 까지는 부터는 이라는 이라고 이라도 에서 에게 한테 까지 부터 으로 처럼 보다 이랑 하고 라는
라고 라도 이나 마다 조차 밖에 께서 에는 에도 로는 와는 과는 이란 인가요 이었나요 였나요 이었어 이었지 였어 였지 였던
이던 인데 인지 입니까 인가 이야 예요 이에요 들은 들이 들을 들의 은 는 을 이 가 를 에 의 도 로 와 과 만 랑 나 야 했나요
했어요 했습니까 하나요 합니까 했던 하는 했어 했지 했는데 했나 했다 했을 하기로 하기 하려고 하려면 하게 하지 하자고
하자는 하자 하면 해서 해야 하던 하다 한다 한다고 하신 하셨어 해 한 할 되나요 됐나요 되는 됐어 됐지 됐던 되어 되기 되면
된다 된 될
"""
_KOREAN_VERB_ENDINGS = """
었어 았어 었어요 았어요 었던 았던 었지 았지 었다 았다 었을 았을 었는데 았는데 었나요 았나요 는데 어서 아서 지만 으면
려고 으려고 기로 자고 자는 겠다는 겠다 다는 다고 다가 어요 아요 습니까 나요 는지 셨어 던 고 지 어 아 러 게
"""
KOREAN_WORDS: frozenset[str] = frozenset(_KOREAN_WORDS.split())
KOREAN_PARTICLES: frozenset[str] = frozenset(_KOREAN_PARTICLES.split())
KOREAN_ENDINGS: tuple[str, ...] = tuple(
    sorted({*KOREAN_PARTICLES, *_KOREAN_VERB_ENDINGS.split()}, key=lambda word: (-len(word), word))
)


@cache
def cuts() -> re.Pattern[str]:
    """Matches the stop words at which a Chinese or Japanese run is cut."""
    words = sorted({*_CHINESE.split(), *_JAPANESE.split()}, key=lambda word: (-len(word), word))
    # A particle is next to another script, at an end, or before a stop word; between hiragana it may be part of a
    # word.
    asking = "|".join([*(word for word in words if re.match(f"[{_HIRAGANA}]{{2}}", word)), _DOING])
    doing = f"(?<![{_KANA}][^{_KANA}])(?<!^[^{_KANA}])(?:{_DOING})"
    particle = f"(?<![{_HIRAGANA}])[{PARTICLES}]|[{PARTICLES}](?![{_HIRAGANA}])|[{PARTICLES}](?={asking})"
    return re.compile(f"{_ASKED_CHINESE}|{_ASKED_JAPANESE}|{'|'.join(words)}|{doing}|を|{particle}")
