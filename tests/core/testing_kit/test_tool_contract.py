"""The kit accepts tools that are right and rejects those that are not, for the right reason."""

import pytest

CASES = "tool_cases.py"
GOOD = [
    "TestGood",
    "TestGoodWithSchema",
    "TestGoodAsync",
    "TestGoodThatTakesNothing",
    "TestGoodLong",
    "TestGoodErrorThatSaysFailed",
]
BAD = {
    "TestBadSchema": "test_its_schema_is_valid",
    "TestNotJson": "test_it_can_be_exported_to_every_api",
    "TestHarmlessAndDestructive": "test_it_cannot_be_harmless_and_destructive",
    "TestRaises": "test_good_arguments_work",
    "TestSaysNothing": "test_good_arguments_work",
    "TestTooSlow": "test_good_arguments_work",
    "TestDataIsNoJson": "test_the_result_is_plain_and_within_its_limit",
    "TestIgnoresUnknownArguments": "test_an_unknown_argument_is_a_readable_error",
    "TestTakesAnything": "test_missing_arguments_are_a_readable_error",
    "TestTypesOnlyInTheHead": "test_wrong_types_are_a_readable_error",
    "TestAsciiOnly": "test_unicode_arguments",
    "TestOneAtATime": "test_it_works_many_times_at_once",
    "TestWorksOnce": "test_it_works_many_times_at_once",
}
ONLY_THIS = {
    "TestHarmlessAndDestructive",
    "TestDataIsNoJson",
    "TestIgnoresUnknownArguments",
    "TestTypesOnlyInTheHead",
    "TestAsciiOnly",
    "TestOneAtATime",
    "TestWorksOnce",
}
"""Wrong in a way that nothing else can notice: all other tests must pass."""


def test_all_cases_are_listed(outcomes) -> None:
    assert set(outcomes) == {*GOOD, *BAD}


@pytest.mark.parametrize("name", GOOD)
def test_good_ones_pass(outcomes, name: str) -> None:
    assert outcomes[name].failed == frozenset()
    assert len(outcomes[name].passed) >= 12


@pytest.mark.parametrize("name", BAD)
def test_bad_ones_fail_where_they_should(outcomes, name: str) -> None:
    assert BAD[name] in outcomes[name].failed
    if name in ONLY_THIS:
        assert outcomes[name].failed == {BAD[name]}
