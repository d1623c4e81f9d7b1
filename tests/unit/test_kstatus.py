"""kstatus reads the operator's status right: Current where all is well, Failed where it stalls, else in progress."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.status.conflict_report import Conflict
from coxswain.kernel.status.health import Health, Level
from unit.kstatus import CURRENT, FAILED, IN_PROGRESS, TERMINATING, read
from unit.reported import HEALTHS, deleted, held_field, reported, saying, unreported


def expected(*healths: Health) -> str:
    """What kstatus should say of children with these healths."""
    if any(state.stalled for state in healths):
        return FAILED
    return CURRENT if all(state.level is Level.HEALTHY for state in healths) else IN_PROGRESS


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("name", HEALTHS)
def test_each_state(name: str, paused: bool) -> None:
    state = HEALTHS[name]
    assert read(reported(HEALTHS["healthy"], state, paused=paused)) == expected(state)


def test_all_verdicts_are_met() -> None:
    assert {expected(state) for state in HEALTHS.values()} == {CURRENT, FAILED, IN_PROGRESS}


@given(
    healths=st.lists(st.sampled_from(sorted(HEALTHS)), max_size=4),
    paused=st.booleans(),
    generation=st.integers(1, 3),
    behind=st.integers(0, 1),
    gone=st.booleans(),
)
def test_it_is_current_only_if_all_children_are_well_at_this_generation(
    healths: list[str], paused: bool, generation: int, behind: int, gone: bool
) -> None:
    states = [HEALTHS[name] for name in healths]
    webapp = reported(*states, generation=generation, observed=generation - behind, paused=paused)
    verdict = read(deleted(webapp) if gone else webapp)
    assert verdict == (TERMINATING if gone else IN_PROGRESS if behind else expected(*states))


@pytest.mark.parametrize("field", [held_field(Policy.YIELD), held_field(Policy.ENFORCE, contested=True)])
@pytest.mark.parametrize("name", HEALTHS)
def test_conditions_that_it_does_not_know_change_nothing(name: str, field: Conflict) -> None:
    """A conflict that matters is the health of a child: Halt stalls, and what is contested is not Ready."""
    assert read(reported(HEALTHS[name], fields=[field])) == expected(HEALTHS[name])
    assert (expected(HEALTHS["halted"]), expected(HEALTHS["contested"])) == (FAILED, IN_PROGRESS)


def test_before_the_first_status_it_has_nothing_to_read() -> None:
    """It takes what says nothing for a kind that never says anything; an observedGeneration tells them apart."""
    webapp = unreported()
    assert read(webapp) == CURRENT
    assert read({**webapp, "status": {"observedGeneration": 0}}) == IN_PROGRESS


WELL = reported(HEALTHS["healthy"])


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ([{"type": "Ready", "status": "Unknown"}], IN_PROGRESS),
        ([{"type": "Ready", "status": "False"}], IN_PROGRESS),
        ([{"type": "Stalled", "status": "Unknown"}], CURRENT),
        ([{"type": "Reconciling", "status": "True"}], IN_PROGRESS),
        ([{"type": "Reconciling", "status": "False"}], CURRENT),
        ([{"type": "Stalled", "status": "True"}, {"type": "Reconciling", "status": "True"}], FAILED),
        ([{"type": "Reconciling", "status": "True"}, {"type": "Stalled", "status": "True"}], IN_PROGRESS),
    ],
)
def test_rules_that_no_status_of_the_operator_meets(changes: list[dict[str, Any]], verdict: str) -> None:
    assert read(saying(WELL, *changes)) == verdict


def test_a_status_of_a_later_generation_is_none_of_this_one() -> None:
    """So it is after a restore of the object from a backup."""
    assert read(reported(HEALTHS["healthy"], generation=1, observed=2)) == IN_PROGRESS
