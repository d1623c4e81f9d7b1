"""Row 6 of the mechanisms: edge-triggered, level-driven and resynced operators meet the same events."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cluster import ControlPlane
from fault_engine.workload import Workload
from faults.triggers import CONTESTANTS, EDGE, EPISODES, LEVEL, RESYNCED, Contestant, Outcome, play, table

pytestmark = pytest.mark.ci

PAGE = Path(__file__).parents[2] / "docs" / "mechanisms.md"
STAYS_WRONG: Mapping[Contestant, set[str]] = {
    EDGE: {"deleted", "edited", "lost-change", "lost-deletion"},
    LEVEL: {"lost-change", "lost-deletion"},
    RESYNCED: set(),
}
"""The episodes after which each operator does not reach the desired state."""


@pytest.fixture(scope="module")
def outcomes(cluster: ControlPlane, workload: Workload) -> Mapping[Contestant, Mapping[str, Outcome]]:
    """Play the script with each operator. The plain Kopf operator needs more rights than those of coxswain."""
    account = cluster.service_account_kubeconfig(*workload.account)
    played = {each: play(cluster, cluster.kubeconfig if each is EDGE else account, each) for each in CONTESTANTS}
    print(table(list(played.values())))
    for contestant, found in played.items():
        print(contestant.name, {name: f"{outcome.seconds:.1f} s" for name, outcome in found.items()})
    return played


@pytest.mark.timeout(600)
@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda each: each.name)
def test_the_end_state_after_lost_doubled_and_reordered_events(
    outcomes: Mapping[Contestant, Mapping[str, Outcome]], contestant: Contestant
) -> None:
    found = outcomes[contestant]
    assert set(found) == {episode.name for episode in EPISODES}
    assert {name for name, outcome in found.items() if outcome.wrong} == STAYS_WRONG[contestant]


@pytest.mark.timeout(600)
def test_the_table_in_the_docs_is_that_of_this_run(outcomes: Mapping[Contestant, Mapping[str, Outcome]]) -> None:
    assert table(list(outcomes.values())) in PAGE.read_text(encoding="utf-8")
