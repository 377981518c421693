"""The kit accepts providers that are right and rejects those that are not, for the right reason."""

import pytest

CASES = "embedding_cases.py"
GOOD = ["TestGood", "TestGoodWithoutKey", "TestGoodThatRefusesSurrogates", "TestHangingBriefly"]
BAD = {
    "TestWrongDims": "test_vectors_have_dims_finite_numbers",
    "TestNaN": "test_vectors_have_dims_finite_numbers",
    "TestInfinity": "test_query_and_document_vectors_have_the_same_dims",
    "TestZeros": "test_vectors_have_dims_finite_numbers",
    "TestFailing": "test_unicode",
    "TestLacksAMethod": "test_it_has_everything_a_provider_has",
    "TestDimsAreText": "test_it_has_everything_a_provider_has",
    "TestNoModel": "test_it_has_everything_a_provider_has",
    "TestConstant": "test_different_texts_get_different_vectors",
    "TestRandom": "test_the_same_text_gets_the_same_vector_again",
    "TestSaltedPerObject": "test_the_same_text_gets_the_same_vector_again",
    "TestSortsItsBatch": "test_a_thousand_texts_keep_their_order",
    "TestMixesUpAfterAPage": "test_a_thousand_texts_keep_their_order",
    "TestDropsEmptyTexts": "test_an_empty_text_gets_a_vector",
    "TestNoTextsRaise": "test_no_texts_give_no_vectors",
    "TestLongTextsRaise": "test_a_very_long_text_works",
    "TestOnlyTheFirstPlane": "test_unicode",
    "TestSurrogateCrash": "test_a_lone_surrogate_works_or_is_a_clear_error",
    "TestOtherDimsForQueries": "test_query_and_document_vectors_have_the_same_dims",
    "TestNotForThreads": "test_it_works_from_many_threads_at_once",
    "TestKeyInError": "test_the_key_is_in_no_error",
    "TestKeyInCause": "test_the_key_is_in_no_error",
    "TestKeyInRepr": "test_the_key_is_not_in_repr",
    "TestFailsNot": "test_the_key_is_in_no_error",
}
ONLY_THIS = {
    "TestNoModel",
    "TestConstant",
    "TestMixesUpAfterAPage",
    "TestDropsEmptyTexts",
    "TestNoTextsRaise",
    "TestLongTextsRaise",
    "TestOnlyTheFirstPlane",
    "TestSurrogateCrash",
    "TestNotForThreads",
    "TestKeyInError",
    "TestKeyInCause",
    "TestKeyInRepr",
    "TestFailsNot",
}
"""Wrong in a way that nothing else can notice: all other tests must pass."""


def test_all_cases_are_listed(outcomes) -> None:
    assert set(outcomes) == {*GOOD, *BAD}


@pytest.mark.parametrize("name", GOOD)
def test_good_ones_pass(outcomes, name: str) -> None:
    assert outcomes[name].failed == frozenset()
    assert len(outcomes[name].passed) >= 13


@pytest.mark.parametrize("name", BAD)
def test_bad_ones_fail_where_they_should(outcomes, name: str) -> None:
    assert BAD[name] in outcomes[name].failed
    if name in ONLY_THIS:
        assert outcomes[name].failed == {BAD[name]}


def test_key_tests_are_there_only_for_providers_with_a_failure_mode(outcomes) -> None:
    keyed = {"test_the_key_is_in_no_error", "test_the_key_is_not_in_repr"}
    assert keyed <= outcomes["TestGood"].passed
    assert not keyed & outcomes["TestGoodWithoutKey"].passed
