"""Rolling upgrade between two versions of the operator and back, with one edit of a WebApp per second."""

import pytest

from fault_engine.run import Case
from faults.replicas import ELECTED, SETTLED_SECONDS, Pair, Replica, await_true
from faults.takeover import REFERENCE, judged
from faults.workloads.webapp_disasters import ANOTHER_VERSION

DEADLINE = "progressDeadlineSeconds"
OWN_VALUE, OTHER_VALUE = 600, 1234
"""The values that both versions render. The field is outside the pod template."""
WEBAPPS = ("web", "canary")


def deadlines(pair: Pair, name: str) -> list[int]:
    """Return the values that a WebApp's Deployment had, in order, without repetitions."""
    found: list[int] = []
    for change in pair.stand.witness.changes():
        if (change.resource, change.name) == ("deployments", name):
            value = change.object["spec"][DEADLINE]
            if found[-1:] != [value]:
                found.append(value)
    return found


def pod_templates(pair: Pair) -> set[str]:
    """Return the names of all ReplicaSets so far."""
    return {change.name for change in pair.stand.witness.changes() if change.resource == "replicasets"}


def roll(pair: Pair, version: str, *breaks: str) -> None:
    """Replace each replica by one of another version, as a Deployment with maxUnavailable 0 does."""
    old: list[Replica] = [each for each in pair.replicas if not each.retired]
    for number, each in enumerate(old, start=1):
        pair.add(f"replica {number} of the {version}", *breaks).process.start()
        pair.retire(each)
        pair.go_on(2.0)


def have(pair: Pair, value: int, version: str) -> None:
    """Wait until the Deployments of all WebApps have the value of a version."""
    await_true(
        lambda: all(deadlines(pair, name)[-1] == value for name in WEBAPPS),
        f"after the {version} all WebApps have its value",
        SETTLED_SECONDS,
    )


@pytest.mark.fault(
    "F18",
    "a rolling upgrade of both replicas to another version, and back",
    oracles=("O1", "O2", "O3", "O6"),
    broken="takes-over-without-enqueueing",
    by="test",
)
def test_rolling_upgrade(case: Case) -> None:
    reference = case.reference(REFERENCE).evidence
    assert reference is not None
    with case.stand(options=ELECTED) as stand:
        pair = Pair(case, stand)
        with pair.editor:
            await_true(lambda: len(pair.applied()) >= 3, "the first edits are applied", SETTLED_SECONDS)
            pair.begin_fault()
            for version, value, breaks in (("upgrade", OTHER_VALUE, (ANOTHER_VERSION,)), ("downgrade", OWN_VALUE, ())):
                roll(pair, version, *breaks)
                have(pair, value, version)
            pair.go_on(2.0)
        found = judged(pair, reference)
        case.measured.violations += found
        assert not found, "\n".join(found)
        templates = pod_templates(pair)
        for name in WEBAPPS:
            assert deadlines(pair, name) == [OWN_VALUE, OTHER_VALUE, OWN_VALUE], "the versions fight"
        print(f"{len(pair.editor.sent)} edits, {len(pair.replicas)} replicas, ReplicaSets {sorted(templates)}")
        counts = {name: sum(each.startswith(f"{name}-") for each in templates) for name in WEBAPPS}
        assert counts == {"web": 1, "canary": 2}, "other pod templates than the users' own: one edit of the canary"
        assert len(pair.replicas) == 6
        assert pair.restarts == 0
