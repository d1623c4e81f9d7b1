"""The kept mutants: each applies to today's source and names existing tests. One that does not apply is an error."""

from pathlib import Path

import pytest

from mutation.mutants import Mutant, kept
from mutation.source import Change, NotApplicable, check

TESTS = Path(__file__).parents[1]
MUTANTS = kept()


def test_at_least_eighty_are_kept() -> None:
    assert len(MUTANTS) >= 80


def unfit(mutant: Mutant) -> str:
    """Return why a mutant does not fit the source or the tests, or ""."""
    try:
        check(mutant.change)
    except NotApplicable as error:
        return str(error)
    missing = [test for test in mutant.tests if not (TESTS / test.partition("::")[0]).exists()]
    return f"no such tests: {missing}" if missing else "" if mutant.tests else "it names no tests"


def test_each_mutant_fits_the_source() -> None:
    assert {mutant.name: why for mutant in MUTANTS if (why := unfit(mutant))} == {}


def test_a_mutant_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(NotApplicable, match="occurs 0 times, not once"):
        check(Change("main.py", "what is not there", ""))


def test_the_packages_beside_the_operator_can_be_changed() -> None:
    check(Change("example/scheduled_task.py", "concurrencyPolicy", "policy"))
    with pytest.raises(NotApplicable, match="there is no such file"):
        check(Change("kubectl_coxswain/main.py", "", ""))
