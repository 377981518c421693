"""Words of every script are found, however they are written."""

from __future__ import annotations

from typing import Any

import pytest
from memslot_memory_core.index.tokenizer import stems

FILLER = ["nothing of interest here", "今日は晴れ", "天气很好", "날씨가 좋다", "погода хорошая", "الطقس جميل"]

FOUND = [
    ("the team was running late", "run"),
    ("a small café by the river", "cafe"),
    ("a small cafe by the river", "café"),
    ("cafe\u0301 decomposed", "café"),
    ("Straße nach Łódź", "strasse lodz"),
    ("smørrebrød", "smorrebrod"),
    ("我们决定用数据库", "数据库"),
    ("我们决定用数据库", "数据"),
    ("他买了一本书", "书"),
    ("我的书丢了", "书在哪里"),
    ("他学吉他", "吉他"),
    ("Python入门教程", "python"),
    ("Python入门教程", "入门"),
    ("新买的iPhone15手机", "iphone"),
    ("新买的iPhone15手机", "iPhone 15"),
    ("新买的iPhone15手机", "手机"),
    ("发布了v2.3.1版", "v2.3.1"),
    ("发布了v2.3.1版", "版"),
    ("吉野家と𠮷野家は違う", "𠮷野家"),
    ("𠮷の字", "𠮷"),
    ("東京タワーに行った", "東京タワーはどこですか"),
    ("図書館で本を読む", "本"),
    ("会議室の予約", "会議"),
    ("ﾊﾝｶｸｶﾀｶﾅ", "カタカナ"),
    ("パーティーの準備", "ﾊﾟｰﾃｨｰ"),
    ("か\u3099くせい", "がくせい"),
    ("ＡＢＣ商事１２３", "abc"),
    ("ＡＢＣ商事１２３", "123"),
    ("회의에서 결정했다", "회의"),
    ("회의는 월요일이다", "회의에서 무엇을 결정했나요"),
    ("책이 많다", "책을"),
    ("고양이를 키운다", "고양이"),
    ("한글", "한글"),
    ("Ключ лежит под ковром", "где ключ"),
    ("Ёлка стоит", "елка"),
    ("اشتريت كِتَابًا جديدا", "كتابا"),
    ("أحمد في المكتبة", "احمد"),
    ("رقم ١٢٣", "123"),
    ("Ο Οδυσσέας έφυγε", "οδυσσεας"),
    ("ΟΔΥΣΣΕΑΣ", "Οδυσσέας"),
    ("שָׁלוֹם עולם", "שלום"),
    ("ฉันกินข้าวที่บ้าน", "ข้าว"),
    ("ຂ້ອຍກິນເຂົ້າ", "ເຂົ້າ"),
    ("ខ្ញុំស្រឡាញ់ភាសាខ្មែរ", "ភាសា"),
    ("မြန်မာစာ", "မြန်မာ"),
    ("मुझे हिन्दी भाषा पसंद है", "हिन्दी"),
    ("call useEffect on mount", "effect"),
    ("call useEffect on mount", "useEffect"),
    ("the effect of it", "useEffect"),
    ("parse_config_file fails", "config"),
    ("see src/memory/search.py", "search.py"),
    ("write to anna.lee@example.org", "anna.lee@example.org"),
    ("zero\u200bwidth soft\u00adhyphen", "softhyphen"),
]


@pytest.mark.parametrize(("text", "question"), FOUND)
def test_a_word_is_found_however_it_is_written(notes: Any, text: str, question: str) -> None:
    assert notes([*FILLER, text]).find(question)[:1] == [len(FILLER) + 1]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("我们决定用数据库", "图书馆"),
        ("東京タワー", "大阪城"),
        ("회의에서", "점심"),
        ("ฉันกินข้าว", "รถไฟ"),
        ("हिन्दी", "हाथी"),
    ],
)
def test_another_word_of_the_same_script_is_not_found(notes: Any, text: str, question: str) -> None:
    assert notes([text]).find(question) == []


def test_letters_stand_in_for_a_chinese_word_that_occurs_nowhere(notes: Any) -> None:
    table = notes([*FILLER, "京都东部"])
    assert table.find("东京") == [len(FILLER) + 1]
    table.add(["东京"])
    assert table.find("东京") == [len(FILLER) + 2]


def test_all_parts_of_mixed_writing_are_kept() -> None:
    assert stems("用Python3写v2.3版") == ["用", "python3", "python", "3", "写", "v2", "3", "版"]


def test_codes_are_not_cut_into_parts() -> None:
    assert stems("3fa85f64 aGVsbG8gd29ybGQgYWdhaW4gYW5kIGFnYWlu") == [
        "3fa85f64",
        "agvsbg8gd29ybgqgywdhaw4gyw5kigfnywlu",
    ]


def test_a_word_that_goes_on_in_other_letters_stays_whole() -> None:
    assert stems("useEffété 0aAÙ") == ["useeffet", "0aau"]
    assert stems("“useEffect”, 「useEffect」") == ["useeffect", "us", "effect"] * 2
