"""The kit accepts memories that are right and rejects those that are not, for the right reason."""

import pytest

CASES = "memory_cases.py"
GOOD = [
    "TestGood",
    "TestGoodThatRefuses",
    "TestGoodWithoutFiles",
    "TestGoodWithNoteFiles",
    "TestGoodThatEmbeds",
    "TestGoodThatRefusesWithoutVectors",
]
BAD = {
    "TestDeafToNoteFiles": "test_a_note_file_is_found_by_its_path",
    "TestNoteFilesOutside": "test_note_files_have_their_place",
    "TestNoMemory": "test_it_has_everything_a_memory_has",
    "TestFindsNothing": "test_it_finds_what_was_remembered",
    "TestMakesThingsUp": "test_an_empty_memory_finds_nothing",
    "TestWorstFirst": "test_best_hits_come_first",
    "TestScoresAbove1": "test_it_finds_what_was_remembered",
    "TestIgnoresMaxResults": "test_max_results_is_honoured",
    "TestWholeWordsOnly": "test_every_script_is_found",
    "TestEmptyQueryCrashes": "test_an_empty_query_is_no_accident",
    "TestEmptyQueryFindsAll": "test_an_empty_query_is_no_accident",
    "TestSqlInjection": "test_a_hostile_query_does_no_harm",
    "TestSqliteDamageEscapes": "test_a_spoiled_store_is_repaired_or_reported",
    "TestOneFileForAll": "test_agents_do_not_see_each_other",
    "TestForgetsAtRestart": "test_a_restart_forgets_nothing",
    "TestClosesOnce": "test_closing_twice_is_fine",
    "TestAlwaysIll": "test_status_is_healthy_when_all_is_well",
    "TestStatusRaises": "test_an_empty_memory_finds_nothing",
    "TestLosesConcurrentWrites": "test_it_works_from_many_threads_at_once",
    "TestDamageIsSilent": "test_a_spoiled_store_is_repaired_or_reported",
    "TestForgotToNameFiles": "test_a_spoiled_store_is_repaired_or_reported",
    "TestHidesTheProvidersFault": "test_it_is_searched_with_a_faulty_provider",
    "TestProvidersFaultEscapes": "test_it_is_searched_with_a_faulty_provider",
    "TestFindsNothingWithoutVectors": "test_it_is_searched_with_a_faulty_provider",
    "TestToldInManyWords": "test_it_is_searched_with_a_faulty_provider",
    "TestBelievesVectors": "test_it_is_searched_with_a_faulty_provider",
    "TestWaitsForever": "test_it_is_searched_with_a_faulty_provider",
    "TestNeedsProviderToOpen": "test_it_is_searched_with_a_faulty_provider",
    "TestIllWithAGoodProvider": "test_it_works_with_a_provider",
}
ONLY_THIS = {
    "TestIgnoresMaxResults",
    "TestWholeWordsOnly",
    "TestEmptyQueryFindsAll",
    "TestOneFileForAll",
    "TestClosesOnce",
    "TestAlwaysIll",
    "TestLosesConcurrentWrites",
    "TestDamageIsSilent",
    "TestForgotToNameFiles",
}
"""Wrong in a way that nothing else can notice: all other tests must pass."""


def test_all_cases_are_listed(outcomes) -> None:
    assert set(outcomes) == {*GOOD, *BAD}


@pytest.mark.parametrize("name", GOOD)
def test_good_ones_pass(outcomes, name: str) -> None:
    assert outcomes[name].failed == frozenset()
    assert len(outcomes[name].passed) >= 15


@pytest.mark.parametrize("name", BAD)
def test_bad_ones_fail_where_they_should(outcomes, name: str) -> None:
    assert BAD[name] in outcomes[name].failed
    if name in ONLY_THIS:
        assert outcomes[name].failed == {BAD[name]}
