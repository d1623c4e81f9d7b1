"""The peers of the benchmarks write a status like coxswain's, so that they do no less work in the measurement."""

from typing import Any

import pytest

from bench.peers.status import status as plain_status
from bench.webapps import CONDITIONS, bare_status, is_ready
from coxswain.webapp.status import RULES

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
WEBAPP: dict[str, Any] = {"metadata": {"name": "web", "namespace": "shop", "generation": 2}}


def deployment(observed: int = 3, **counts: int) -> dict[str, Any]:
    """Return a Deployment of one pod at generation 3, rolled out by default."""
    full = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, **counts}
    conditions = [{"type": "Available", "status": "True"}]
    return {
        "metadata": {"generation": 3},
        "spec": {"replicas": 1},
        "status": {"observedGeneration": observed, **full, "conditions": conditions},
    }


def told(found: dict[str, Any], previous: dict[str, Any] | None = None, *, up_to_date: bool = True) -> dict[str, Any]:
    return plain_status(2, found, previous or {}, NOW if previous is None else LATER, up_to_date=up_to_date)


@pytest.mark.parametrize("status", [told(deployment()), bare_status(WEBAPP, ready=True, now=NOW)])
def test_a_status_has_the_conditions_and_counts_of_coxswains(status: dict[str, Any]) -> None:
    assert tuple(CONDITIONS) == tuple(RULES.types[:-2])
    assert [found["type"] for found in status["conditions"]] == list(RULES.types[:-2])
    assert set(status) == {"observedGeneration", "conditions", "replicas", "readyReplicas", "updatedReplicas"}
    assert is_ready({**WEBAPP, "status": status})


@pytest.mark.parametrize(
    "found",
    [deployment(observed=2), deployment(replicas=2), deployment(updatedReplicas=0), deployment(availableReplicas=0)],
)
def test_a_rollout_that_is_not_complete_is_not_ready(found: dict[str, Any]) -> None:
    assert not is_ready({**WEBAPP, "status": told(found)})


def test_a_deployment_of_an_older_generation_is_not_ready() -> None:
    assert not is_ready({**WEBAPP, "status": told(deployment(), up_to_date=False)})


def test_a_transition_has_the_time_of_the_change() -> None:
    before = told(deployment(availableReplicas=0))
    after = {found["type"]: found["lastTransitionTime"] for found in told(deployment(), before)["conditions"]}
    assert after == dict.fromkeys(RULES.types[:-2], NOW) | {"Ready": LATER, "Progressing": LATER}
