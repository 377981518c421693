"""The kit accepts memories that share the slot well and rejects those that do not, for the right reason."""

import pytest

CASES = "stack_cases.py"
GOOD = ["TestGood", "TestGoodWithoutRecall"]
BAD = {
    "TestRecallsNothing": "test_what_both_recall_stands_in_one_block",
    "TestFencesItself": "test_what_both_recall_stands_in_one_block",
    "TestTakesAToolOfAnother": "test_its_tools_clash_with_nobody",
    "TestOneFileForAllAgents": "test_agents_stay_apart_in_a_stack",
    "TestChokesOnNews": "test_it_hears_what_a_neighbour_keeps_without_harm",
    "TestLeansOnItsNeighbour": "test_a_bad_neighbour_costs_it_nothing",
    "TestCannotClose": "test_it_is_closed_with_the_others",
}
ONLY_THIS = {
    "TestTakesAToolOfAnother",
    "TestOneFileForAllAgents",
    "TestChokesOnNews",
    "TestCannotClose",
}
"""Wrong in a way that nothing else can notice: all other tests must pass."""


def test_all_cases_are_listed(outcomes) -> None:
    assert set(outcomes) == {*GOOD, *BAD}


@pytest.mark.parametrize("name", GOOD)
def test_good_ones_pass(outcomes, name: str) -> None:
    assert outcomes[name].failed == frozenset()
    assert len(outcomes[name].passed) >= 8


@pytest.mark.parametrize("name", BAD)
def test_bad_ones_fail_where_they_should(outcomes, name: str) -> None:
    assert BAD[name] in outcomes[name].failed
    if name in ONLY_THIS:
        assert outcomes[name].failed == {BAD[name]}
