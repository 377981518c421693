"""Instructions to a model in Chinese, Japanese and Korean, which have no spaces between words.

Like `instructions`, but the skeleton has one letter per known term and one dot per other character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memslot_memory_lancedb.capture.normalization import without_addresses

CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")

# fmt: off
_TERMS: dict[str, str] = {
    # S: first-person subjects
    "S": "我总是 我常常 让我 叫我 我要 我 私は 私たちは 息子は 나는 우리는",
    # V: set aside, before its object; v: after it
    "V": "关闭 禁用 停用 解除 忽略 无视 忘记 忘掉 忘了 抛弃 丢弃 绕过 违反 跳过 放弃 推翻 不理会 忽视 不管",
    "v": """無効化し 解除し オフにし 비활성화하 비활성화해 해제하 해제해 無視し 無視せ 忘れて 忘れろ 破棄し
        従わないで 従うな 従わず 回避し 無効にし 捨てて 破って 무시하 무시해 잊고 잊어 따르지마 따르지말 버리고 버려
        어기고 우회 어겨""",
    "P": """之前 以前 先前 上面 上述 以上 前面 此前 原来 原有 所有 一切 全部 任何 系统 开发者 你的 安全 これまで
        今まで 上記 上の 前の すべて 全て システム 開発者 元の 이전 지금까지 위의 앞의 모든 시스템 개발자 기존 원래""",
    "O": """指令 指示 提示 规则 设定 限制 命令 要求 准则 约束 规定 ルール プロンプト ガイドライン 制限 規則 設定
        制約 지시 명령 규칙 지침 프롬프트 제한 설정""",
    "Q": "系统提示词 系统提示 系统指令 初始指令 系统消息 システムプロンプト システム指示 初期指示 시스템프롬프트",
    "Z": "作废 无效 失效 不再适用 不再有效 被关闭 被解除 適用されま 適用されな 無効です 無効にな 더이상 무효",
    "X": "不要再 不要 别再 不再 停止 不必",
    "F": "遵守 服从 听从 遵循 理会",
    "B": "被告知 告诉你 对你说 教你 言われたこと 教わったこと 聞いたこと 教えられたこと 들은것 배운것 들은내용",
    "N": """你的新任务 你的新的任务 新的系统指令 新系统指令 新的系统消息 新しい任務は 新しいシステム指示
        새로운임무 새시스템지시""",
    "R": "输出 显示 打印 透露 泄露 告诉我 重复 公开",
    "r": "表示して 出力して 教えて 見せて 公開して 出して 보여 출력해 알려 공개해",
    "Y": "你 您 あなた お前 너는 넌 당신",
    "K": "dan",
    "k": "として振る舞 として行動 のように振る舞 처럼행동 처럼굴어",
    "b": "把",
    "J": "没有任何限制 没有限制 不受限制 不受约束 制限のない 無制限 제한이없는 제한없는",
    "C": "调用 运行 执行 使用",
    "c": "呼び出 実行 使って 呼んで 호출 실행 사용해",
    "u": "用户 使用者 ユーザー 利用者 사용자",
    "a": "发送 发到 发给 上传 转发 发出去 寄到",
    "e": "送って 送信 転送 アップロード 보내 전송 업로드",
    "h": "未经确认 不经确认 无需确认 不用确认 確認なしで 確認せずに 확인없이",
    "d": "删除 转账 批准 削除 送金 承認 삭제 송금 승인",
    "t": "告诉 通知 提醒",
    "m": "言わない 伝えない 知らせない 教えない 알리지 말하지",
    "s": "对话 聊天记录 密码 密钥 会話 パスワード 비밀번호 대화",
    "o": "只回复 只回答 仅回复 只输出 とだけ答え とだけ返信 とだけ言 라고만대답 라고만답 라고만말",
    "x": "解码 デコード 디코딩 解読",
}
# fmt: on
_LETTER = {term: letter for letter, terms in _TERMS.items() for term in terms.split()}


def _by_first_character(terms: Iterable[str]) -> str:
    """One alternative per first character, longest term first: most characters start no term."""
    ends: dict[str, list[str]] = {}
    for term in sorted(terms, key=len, reverse=True):
        ends.setdefault(term[0], []).append(re.escape(term[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in ends.items())


_TOKEN = re.compile(
    _by_first_character(_LETTER) + r"|(?P<end>[。！？!?\n])|(?P<colon>[:：])|(?P<place>\x00)"
    r"|(?P<name>[a-z]{2,20}_[a-z_]{2,30})"
)
_NAMED = {"end": "|", "colon": ":", "place": "@", "name": "I"}
_HANGUL_GAP = re.compile("(?<=[\uac00-\ud7af]) (?=[\uac00-\ud7af])")
_MAX_GAP = 40
_REPORT = re.compile(r"(S[^|:Y]{0,3})[VvFCc]")


def skeleton(folded: str) -> str:
    """One letter per known term, dots between."""
    # Korean may or may not put spaces between the parts of a term.
    text = _HANGUL_GAP.sub("", without_addresses(folded))
    parts: list[str] = []
    last = 0
    for token in _TOKEN.finditer(text):
        parts.append("." * min(token.start() - last, _MAX_GAP))
        parts.append(_NAMED[token.lastgroup] if token.lastgroup else _LETTER[token[0]])
        last = token.end()
    return _REPORT.sub(r"\1.", "".join(parts))


def _rule(*patterns: str) -> re.Pattern[str]:
    """`~n` is a gap of up to n letters inside one sentence."""
    return re.compile(re.sub(r"~(\d+)", r"[^|]{0,\1}", "|".join(patterns)))


RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "override",
        _rule(
            "V~6[PY]~6[OQ]",
            "V~4Q",
            "V~6B|B~8v",
            "XF~5[PQ]",
            "[PQ]~8O~8v|Q~8v",
            "[PY]~6O~8Z|Q~8Z",
            "N",
        ),
    ),
    ("leak", _rule("R~6Q", "Q~10r")),
    ("persona", _rule("Y~8[KJ]", "J~6k|k~6J")),
    ("tool-call", _rule("C~4I", "I~6c")),
    (
        "exfiltration",
        _rule("u~14a~5@", "u~30@~6e", "s~8a~5@", "Xtu", "u~4m", "h~8d", "b~4s~8a", "o"),
    ),
    ("encoded", _rule("[CF]~6x", "x~8[CFc]")),
)


def find_instruction_cjk(folded: str) -> str | None:
    """The rule that a folded CJK text violates by instructing a model, or None."""
    if folded.isascii() or not CJK.search(folded):
        return None
    bones = skeleton(folded)
    return next((name for name, pattern in RULES if pattern.search(bones)), None)
