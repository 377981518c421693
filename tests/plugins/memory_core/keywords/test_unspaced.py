"""Chinese, Japanese and Korean questions: their words count, and what is grammar or lies between words does not."""

from __future__ import annotations

import time

import pytest
from memslot.retrieval.scripts import pair_of
from memslot_memory_core.index import keywords
from memslot_memory_core.index.bm25 import WeighedQuery
from memslot_memory_core.index.tokenizer import query_terms, stems

from .conftest import Notes

NOTES = [
    "左前轮胎磨损偏大，要尽快处理",
    "融资谈判卡在回购条款上",
    "馒头寄养在宠物店",
    "西村さんから贈り物をもらう",
    "図書館で地図を調べた",
    "직원 회의를 일찍 끝냈다",
    "번역이 나빠서 영어판을 내렸다",
    "여름 휴가 계획",
    "プリンターのインク",
]


def weigh(question: str, texts: list[str] = NOTES) -> WeighedQuery:
    notes = Notes(texts)
    return keywords.weigh(notes.db, "fts_1", query_terms(question))


def words_of(question: str, texts: list[str] = NOTES) -> set[str]:
    """What is taken for a word of the question."""
    weighed = weigh(question, texts)
    return {stem for stem in weighed.idf if weighed.shares.get(stem, 1.0) >= 0.4}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("哪个轮胎快不行了", {"轮胎"}),
        ("轮胎处理", {"轮胎", "处理"}),
        ("融资谈判卡在什么问题上", {"融资", "谈判"}),
        ("谁寄养馒头", {"寄养", "馒头"}),
        ("图书馆地图", {"地图"}),
        ("火山爆发", {"火山", "爆发"}),
        ("地図を調べる", {"地図", pair_of("調", "べ")}),
        ("図書館の地図はどこ", {"地図"}),
        ("직원 회의는 언제 끝나", {"직원", "회의"}),
    ],
)
def test_the_words_of_a_run_are_found_in_it(question: str, words: set[str]) -> None:
    assert words <= words_of(question)


@pytest.mark.parametrize(
    ("question", "between"),
    [
        ("轮胎处理", "胎处"),
        ("融资谈判", "资谈"),
        ("火山爆发", "山爆"),
        ("我们什么时候去东京", "去东"),
        ("지도보기", "도보"),
    ],
)
def test_letters_between_two_words_cost_next_to_nothing(question: str, between: str) -> None:
    weighed = weigh(question)
    assert weighed.shares.get(between, 0.0) < 0.1
    assert between not in words_of(question)


def test_an_index_that_holds_a_pair_takes_it_for_the_word() -> None:
    assert {"长江", "大桥"} <= words_of("长江大桥", ["长江", "大桥"])
    assert "江大" in words_of("江大桥", ["江大的学生"])
    assert "大桥" in words_of("江大桥", ["大桥"])


@pytest.mark.parametrize(
    ("plain", "asked"),
    [
        ("轮胎", "轮胎怎么了"),
        ("轮胎", "哪个轮胎"),
        ("轮胎", "几个轮胎呢"),
        ("融资谈判", "融资谈判是什么时候"),
        ("地図", "地図はどこにありますか"),
        ("地図", "地図は何枚？"),
        ("地図", "地図についてはどうなっている"),
        ("地図", "その地図はどのくらい"),
        ("地図", "地図はどのようにできる？"),
        ("地図", "どうしてしまうような地図"),
        ("직원", "직원은 언제야"),
        ("직원", "직원에게 뭐 했어?"),
        ("직원", "직원이 몇 명이야"),
        ("번역", "번역은 누가 했지"),
    ],
)
def test_question_words_and_grammar_cost_nothing(plain: str, asked: str) -> None:
    assert weigh(asked).sum_idf == pytest.approx(weigh(plain).sum_idf)


@pytest.mark.parametrize("question", ["예산은?", "Redis는 API를", "「점」은"])
def test_a_particle_is_no_word_after_a_mark_or_another_script(question: str) -> None:
    assert not {"은", "는", "를"} & set(query_terms(question).stems)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("西村さんが贈ったもの", "西村さんから贈り物をもらう"),
        ("地図を調べるのは", "図書館で地図を調べた"),
        ("調べ物", "図書館で地図を調べた"),
        ("贈られたもの", "西村さんから贈り物をもらう"),
        ("贈って", "西村さんから贈り物をもらう"),
        ("영어판을 내린 까닭", "번역이 나빠서 영어판을 내렸다"),
        ("끝낸 사람", "직원 회의를 일찍 끝냈다"),
        ("휴가는 언제", "여름 휴가 계획"),
    ],
)
def test_other_forms_of_a_word_are_found(question: str, text: str) -> None:
    assert Notes(NOTES).find(question)[0] == NOTES.index(text) + 1


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("聞いた", "聞く"),
        ("使った", "使わない"),
        ("読んだ", "読む"),
        ("話した", "話す"),
        ("古い", "古く"),
        ("決まる", "決める"),
        ("上がった", "上げる"),
        ("広がり", "広げた"),
        ("寒がる", "寒い"),
    ],
)
def test_the_forms_of_a_japanese_verb_or_adjective_are_one_word(first: str, other: str) -> None:
    assert stems(first)[1] == stems(other)[1]
    assert weigh(first, [*NOTES, other]).asked


@pytest.mark.parametrize(("one", "another"), [("読む", "読す"), ("本は", "本を"), ("本が", "本も"), ("ギた", "ギい")])
def test_particles_and_other_endings_stay_themselves(one: str, another: str) -> None:
    assert stems(one)[1] != stems(another)[1]


def test_a_subject_is_no_verb() -> None:
    assert "棚が" in stems("棚が広い")
    assert query_terms("棚が広い").stems == query_terms("棚は広い").stems


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("傘を貸した", ("傘", pair_of("貸", "し"))),
        ("貸しました", (pair_of("貸", "し"),)),
        ("電話して", ("電話",)),
        ("メモした", ("メモ",)),
    ],
)
def test_to_do_is_left_out_after_a_noun_and_is_the_end_of_a_verb_after_one_kanji(
    question: str, terms: tuple[str, ...]
) -> None:
    assert query_terms(question).stems == terms


def test_a_noun_behind_a_verb_is_asked_for() -> None:
    texts = [*NOTES, "傘を貸した"]
    assert {"傘", pair_of("貸", "し")} <= words_of("貸した傘", texts)


def test_a_kanji_is_asked_for_when_no_note_has_it_with_that_ending() -> None:
    assert "図" in words_of("図じゅう")
    assert "図" not in words_of("図さ")  # a word of its own
    assert "贈" in weigh("贈りたい").hints  # as 贈り物


def test_a_pair_that_more_notes_hold_is_the_likelier_word() -> None:
    texts = ["料理", "料理", "料理", "理本"]
    shares = weigh("料理本", texts).shares
    assert shares["料理"] > shares["理本"] > 0


def test_times_counted_from_the_day_of_writing_say_little() -> None:
    assert weigh("先週の地図").sum_idf == pytest.approx(weigh("地図").sum_idf)
    assert weigh("先日、昔の地図").sum_idf == pytest.approx(weigh("地図").sum_idf)


def test_another_form_stands_for_the_one_that_no_note_holds() -> None:
    assert weigh("끝낸").asked == ("끝냈",)
    assert weigh("끝낸", [*NOTES, "끝낸 일"]).asked == ("끝낸",)
    assert weigh("끝낸").sum_idf == pytest.approx(weigh("끝냈다").sum_idf, rel=0.05)


def test_part_of_a_katakana_word_is_another_word() -> None:
    assert weigh("ギターのインク").asked == ("インク"[:2], "ンク")
    assert weigh("ギター", [*NOTES, "ギター"]).asked != ()


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("リーマン予想", ["ギャラリー", "カメラマン"]),  # both halves occur, the joint between them does not
        ("最終チェック", ["リュック"]),
        ("ハーバー法", ["サーバー"]),  # no word begins with a long vowel's mark
    ],
)
def test_a_katakana_word_beside_others_is_not_found_by_its_pieces(question: str, texts: list[str]) -> None:
    assert weigh(question, texts).asked == ()


def test_a_katakana_word_inside_a_longer_one_is_found() -> None:
    assert weigh("メールアドレス", ["メール"]).asked == ("メー", "ール")
    assert weigh("最終チェック", ["チェック"]).asked == ("ェッ", "チェ", "ック")


def test_words_that_say_little_count_only_where_nothing_else_is_asked() -> None:
    texts = [*NOTES, "原因和结果"]
    assert "原因" in weigh("原因", texts).asked
    assert "原因" not in weigh("轮胎的原因", texts).asked
    assert "原因" in weigh("轮胎的原因", texts).hints
    assert weigh("轮胎的原因", texts).sum_idf == weigh("轮胎", texts).sum_idf


@pytest.mark.parametrize(
    ("asked", "plain"), [("轮胎的种类", "轮胎"), ("直樹の仕事は何", "直樹"), ("직원의 직업은", "직원")]
)
def test_what_a_question_wants_to_know_of_its_topic_is_not_the_topic(asked: str, plain: str) -> None:
    assert weigh(asked).sum_idf == pytest.approx(weigh(plain).sum_idf)


def test_letters_that_mean_little_in_chinese_are_parts_of_words_in_japanese() -> None:
    weighed = weigh("去年の出来高", [])
    assert weighed.shares["来高"] + weighed.shares["出来"] > 0.9
    assert "出来" not in weigh("出来高", []).shares


@pytest.mark.parametrize("letters", ["火山", "ひらがな", "ようにあるん", "図かな", "カナ", "한글", "的轮胎"])
def test_a_run_as_long_as_a_query_may_be_is_read(letters: str) -> None:
    question = letters * (10_000 // len(letters))
    started = time.process_time()
    weighed = weigh(question, [letters])
    assert time.process_time() - started < 20  # a tenth of a second, unless time grows with the square of the length
    assert 0 < weighed.sum_idf < float("inf")
    assert all(0.0 <= share <= 1.0 + 1e-9 for share in weighed.shares.values())


def test_a_question_of_usual_length_is_read_fast() -> None:
    question = "一月份我们全家去看鸟的那次，孩子的什么东西被风刮走了，后来是怎么拿回来的？"
    query_terms(question)
    started = time.process_time()
    for _ in range(50):
        query_terms(question)
    assert (time.process_time() - started) / 50 < 0.02  # about a millisecond
