"""The kept mutants: each fits today's source, names tests that exist, and one that does not fit is an error."""

from pathlib import Path

import pytest

from mutation.mutants import Mutant, kept
from mutation.source import Change, NotApplicable, check

TESTS = Path(__file__).parents[1]
MUTANTS = kept()


def test_at_least_eighty_are_kept() -> None:
    assert len(MUTANTS) >= 80


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mutant_fits_the_source(mutant: Mutant) -> None:
    check(mutant.change)
    assert mutant.tests
    assert [test for test in mutant.tests if not (TESTS / test.partition("::")[0]).exists()] == []


def test_a_mutant_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(NotApplicable, match="occurs 0 times, not once"):
        check(Change("main.py", "what is not there", ""))
