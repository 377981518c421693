"""Texts that have broken programs before."""

from __future__ import annotations

SCRIPTS = {
    "latin": "Ærøskøbing, naïve café, Straße, İstanbul",
    "combining": "Cafe\u0301 Z\u0351\u036b\u0343\u036a\u0302a\u0363\u0366l\u0368g\u0358o\u031a",
    "greek and cyrillic": "Ταχύτητα και скорость",
    "right to left": "זיכרון ארוך טווח، ذاكرة طويلة المدى",
    "right to left marks": "\u202eabc\u202c \u200fdef\u200e",
    "devanagari": "दीर्घकालिक स्मृति",
    "thai": "ความจำระยะยาว",
    "chinese": "我们决定把会议改到星期四下午",
    "japanese": "会議は木曜日の午後に変更しました",
    "korean": "회의를 목요일 오후로 옮겼습니다",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇺🇳",
    "plane 1": "𝔐𝔢𝔪𝔬𝔯𝔶 𐍈 🀄",
    "plane 2": "𠀀𠮷𪚥",
    "plane 3": "\U00030000\U0003106c",
    "planes 14 to 16": "tag \U000e0041 private \U000f0000 \U0010fffd",
    "private use and noncharacters": "\ue000 \ufdd0 \uffff",
    "invisible": "zero\u200bwidth\u200djoin\u00adsoft\ufeffbom",
    "control": "bell\x07 escape\x1b[31m null\x00 end",
    "line ends": "one\r\ntwo\rthree\u2028four\u2029five\x85six",
}
"""A text for each script, plane and trap, by what it is."""

LONE_SURROGATE = "half an emoji: \ud83d"
"""Not encodable as UTF-8; reaches programs through JSON escapes and file names."""

HOSTILE_QUERIES = {
    "quotes": "\"unclosed 'quotes` and \\ backslashes \\",
    "sql": "'; DROP TABLE chunks; DELETE FROM chunks; --",
    "sql wildcards": "% _ [a-z] * ?",
    "fts operators": 'AND OR NOT NEAR(a b, 3) ^start col:word "a" + "b" -c * (',
    "only operators": '" * ^ : ( ) { } + - AND NOT',
    "filter": "agentId = 'other' OR 1=1",
    "null": "before\x00after",
    "newlines": "\n\r\n\t" * 50,
    "lone surrogate": LONE_SURROGATE,
    "regex": "(a+)+$ [[ (?P<x>",
    "format": "%s %n {0} {query} ${HOME} $(id)",
    "path": "../../../../etc/passwd",
    "long": "remember the orchid " * 5_000,
    "one long word": "x" * 100_000,
}
"""Queries that have raised, hung or found what they should not, by what they try."""
