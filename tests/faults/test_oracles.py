"""The oracles themselves: each alone judges a life without faults, and finds what an operator does wrong in its way."""

import pytest

from faults.lives import life
from faults.run import Case

BREAKS = {
    "O1": "sees-no-drift",
    "O2": "deletes-what-the-collector-deletes",
    "O3": "chatters",
    "O4": "deaf-after-a-deletion",
    "O5": "claims-to-be-ready",
    "O6": "begins-with-nothing",
    "O7": "lists-without-end",
    "O8": "reads-secrets",
}


@pytest.mark.parametrize(
    "oracle",
    [
        pytest.param(
            oracle,
            id=oracle,
            marks=pytest.mark.fault(
                "none", f"a life without a fault, judged by {oracle}", oracles=(oracle,), broken=broken
            ),
        )
        for oracle, broken in BREAKS.items()
    ],
)
def test_a_life_without_a_fault(case: Case, oracle: str) -> None:
    try:
        case(life())
    except AssertionError as error:
        if not any(f"{oracle}:" in violation for violation in case.measured.violations):
            raise RuntimeError(f"{oracle} is not what found it") from error
        raise
