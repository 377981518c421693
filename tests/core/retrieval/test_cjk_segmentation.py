"""Spans of unspaced queries, and which of their bigrams are words."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from memslot.retrieval import query_terms
from memslot.retrieval.cjk_query_spans import query_spans
from memslot.retrieval.cjk_segmentation import segment, stems_to_count, word_shares


def test_a_run_counts_like_half_as_many_words_as_it_has_letters() -> None:
    (span,) = query_spans(["火山爆发冷却高塔"])
    pairs = word_shares(span, {})
    assert 3.5 < sum(share for stem, share in pairs.items() if len(stem) == 2) <= 4.0


def test_a_noun_has_no_forms_of_a_verb() -> None:
    (noun,) = query_terms("장난이").spans
    (verb,) = query_terms("끝낸").spans
    assert noun.forms == ()
    assert "끝내" in verb.forms


RUNS = st.text(
    st.sampled_from("轮胎处理不去的图書館調べたこむぎプリンター회의에서끝낸간다ข้าว"), min_size=1, max_size=24
)


@settings(max_examples=300, deadline=None)
@given(st.lists(RUNS, min_size=1, max_size=3), st.sets(RUNS))
def test_shares_lie_between_nothing_and_one_word(runs: list[str], known: set[str]) -> None:
    spans = query_spans(runs)
    found = dict.fromkeys(stems_to_count(spans), 0) | dict.fromkeys(known, 1)
    segmented = segment(spans, found)
    assert all(0.0 <= share <= 1.0 + 1e-9 for share in segmented.shares.values())
    assert set(segmented.shares) <= set(stems_to_count(spans))
    assert not set(segmented.hints) & set(segmented.shares)
    for span in spans:
        shares = word_shares(span, found)
        assert sum(shares[stem] for stem in span.stems if len(stem) == 2) <= (len(span.letters) + 1) / 2 + 1e-6


def test_document_frequencies_decide_between_overlapping_words() -> None:
    spans = query_spans(["江大桥"])

    assert segment(spans, {"江大": 3}).shares["江大"] > 0.5 > segment(spans, {"江大": 3}).shares["大桥"]
    assert segment(spans, {"大桥": 3}).shares["大桥"] > 0.5 > segment(spans, {"大桥": 3}).shares["江大"]


def test_an_inflection_that_occurs_replaces_one_that_does_not() -> None:
    spans = query_spans(["끝낸"])

    assert set(segment(spans, {"끝냈": 1}).shares) == {"끝냈"}
    assert set(segment(spans, {"끝냈": 1, "끝낸": 1}).shares) == {"끝낸"}


def test_bigrams_of_other_katakana_words_are_coincidences() -> None:
    assert segment(query_spans(["リーマン"]), {"リー": 2, "マン": 1}).coincidences == {"リー", "マン"}
