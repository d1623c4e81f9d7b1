"""kstatus reads the operator's status correctly: Current if all is well, Failed if Stalled, otherwise InProgress."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.status.conflict_report import Conflict
from coxswain.kernel.status.health import Health, Level
from unit.kstatus import CURRENT, FAILED, IN_PROGRESS, TERMINATING, read
from unit.webapp_states import HEALTHS, deleted, held_field, reported, saying, unreported


def expected(*healths: Health) -> str:
    """Return the expected kstatus of a WebApp whose children have these healths."""
    if any(state.stalled for state in healths):
        return FAILED
    return CURRENT if all(state.level is Level.HEALTHY for state in healths) else IN_PROGRESS


@pytest.mark.parametrize("paused", [False, True])
def test_each_state(paused: bool) -> None:
    verdicts = {name: read(reported(HEALTHS["healthy"], state, paused=paused)) for name, state in HEALTHS.items()}
    assert verdicts == {name: expected(state) for name, state in HEALTHS.items()}


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
def test_unknown_conditions_change_nothing(field: Conflict) -> None:
    """The relevant conflicts are in the health of a child: Halt causes Stalled, and a write war prevents Ready."""
    verdicts = {name: read(reported(state, fields=[field])) for name, state in HEALTHS.items()}
    assert verdicts == {name: expected(state) for name, state in HEALTHS.items()}
    assert (expected(HEALTHS["halted"]), expected(HEALTHS["contested"])) == (FAILED, IN_PROGRESS)


def test_before_the_first_status_it_has_nothing_to_read() -> None:
    """kstatus takes an empty status for a kind without status. An observedGeneration distinguishes the two."""
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
    """A restore of the object from a backup causes this."""
    assert read(reported(HEALTHS["healthy"], generation=1, observed=2)) == IN_PROGRESS
