"""The conditions and the status computed from health, and the urgency of a status write."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.quote import quoted
from coxswain.kernel.status.health import (
    HEALTHY,
    MISSING,
    Child,
    Health,
    Level,
    differs,
    held_back,
    name_taken,
    not_written,
    rejected,
    terminating,
)
from coxswain.kernel.status.urgency import Urgency
from coxswain.kernel.workload import ChildReport, Observations
from coxswain.webapp.kinds import SERVICE
from coxswain.webapp.spec import Status
from coxswain.webapp.status import RULES, status
from rendered import health, observations, urgency
from unit.objects import COMMANDS, observed_child, webapp

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
PORTS = [{"name": "http", "containerPort": 8080}]
REPLICAS = 2
SERVED = observed_child(SERVICE)


def deployment(wanted: int = 2, generation: int = 1, **counts: Any) -> dict[str, Any]:
    """Return a Deployment as observed. By default its rollout is complete."""
    conditions = counts.pop("conditions", [{"type": "Available", "status": "True"}])
    full = {"observedGeneration": 1, "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": wanted}
    return {
        "kind": "Deployment",
        "metadata": {"generation": generation},
        "spec": {"replicas": wanted},
        "status": {**full, "availableReplicas": wanted, **counts, "conditions": conditions},
    }


def made(*healths: Health, previous: Status | None = None, now: str = NOW, live: Any = None, **spec: Any) -> Status:
    """Return the status of a WebApp whose children have these healths."""
    children = [Child("Deployment", f"web-{number}", state) for number, state in enumerate(healths)]
    return status(webapp(ports=PORTS, **spec), observations(children, live or deployment()), previous or {}, now)


def addressed(live: Projection | None = SERVED, state: Health = HEALTHY, **spec: Any) -> tuple[str | None, list[str]]:
    """Return the URLs of a WebApp with this live Service."""
    report = ChildReport(Child("Service", "web", state), live)
    found = status(webapp(ports=PORTS, **spec), Observations([report]), {}, NOW)
    return found.get("url"), list(found.get("urls", []))


def shown(made: Status) -> dict[str, tuple[str, str]]:
    """Return status and reason of each condition."""
    return {found["type"]: (found["status"], found["reason"]) for found in made["conditions"]}


@pytest.mark.parametrize(
    ("live", "level", "reason"),
    [
        (deployment(), Level.HEALTHY, "Ready"),
        (deployment(wanted=0), Level.HEALTHY, "Ready"),
        (deployment(generation=2), Level.PROGRESSING, "RollingOut"),
        (deployment(updatedReplicas=1), Level.PROGRESSING, "RollingOut"),
        (deployment(replicas=3), Level.PROGRESSING, "RollingOut"),
        (deployment(availableReplicas=1), Level.PROGRESSING, "RollingOut"),
        (
            deployment(conditions=[{"type": "Progressing", "reason": "ProgressDeadlineExceeded", "message": "late"}]),
            Level.DEGRADED,
            "ProgressDeadlineExceeded",
        ),
        (
            deployment(conditions=[{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]),
            Level.DEGRADED,
            "FailedCreate",
        ),
        (
            {"kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 1}},
            Level.PROGRESSING,
            "RollingOut",
        ),
        ({"kind": "Service", "metadata": {}}, Level.HEALTHY, "Ready"),
    ],
)
def test_health(live: dict[str, Any], level: Level, reason: str) -> None:
    assert (health(live).level, health(live).reason) == (level, reason)


def test_all_is_well() -> None:
    assert shown(made(HEALTHY, HEALTHY)) == {
        "Ready": ("True", "Ready"),
        "Progressing": ("False", "Complete"),
        "Available": ("True", "MinimumReplicasAvailable"),
        "Stalled": ("False", "NotStalled"),
        "Conflicted": ("False", "NoConflict"),
        "Contested": ("False", "NotContested"),
    }


def test_the_worst_child_decides() -> None:
    conditions = shown(
        made(HEALTHY, MISSING, name_taken("ReplicaSet x", "kubectl"), rejected("no", COMMANDS, there=True))
    )
    assert conditions["Ready"] == ("False", "NameTaken")
    assert conditions["Stalled"] == ("True", "NameTaken")
    assert conditions["Progressing"] == ("False", "NameTaken")


@pytest.mark.parametrize(
    "state",
    [MISSING, terminating(observed_child(), COMMANDS), not_written("Forbidden", "no"), held_back("x", there=False)],
)
def test_what_may_pass_is_progress(state: Health) -> None:
    conditions = shown(made(HEALTHY, state))
    assert conditions["Ready"] == ("False", state.reason)
    assert conditions["Progressing"] == ("True", state.reason)
    assert conditions["Stalled"] == ("False", "NotStalled")


def test_paused_is_ready_only_if_all_is_as_the_spec_says() -> None:
    assert shown(made(HEALTHY, paused=True))["Ready"] == ("True", "Ready")
    assert shown(made(differs("spec.replicas", COMMANDS), paused=True))["Ready"] == ("False", "Differs")
    assert shown(made(HEALTHY, paused=True))["Progressing"] == ("False", "Paused")


def test_counts_and_selector() -> None:
    result = made(HEALTHY)
    assert (result["replicas"], result["readyReplicas"], result["updatedReplicas"]) == (2, 2, 2)
    assert result["selector"] == "coxswain.dev/webapp=web"


def test_a_service_that_does_not_exist_has_no_url() -> None:
    """The WebApp is paused, or the Service is refused, waits for its adoption, or belongs to somebody else."""
    for state in (MISSING, rejected("no", COMMANDS, there=False), name_taken("Service web", "kubectl")):
        assert addressed(None, state) == (None, [])
    assert addressed(state=rejected("no", COMMANDS, there=True)) == (
        "http://web.shop.svc:8080",
        ["http://web.shop.svc:8080"],
    )


@pytest.mark.parametrize(
    ("ports", "address"),
    [
        ([{"name": "http", "port": 80}], "http://web.shop.svc"),
        ([{"name": "https", "port": 443}], "https://web.shop.svc"),
        ([{"name": "tls", "port": 8443}], "https://web.shop.svc:8443"),
        ([{"name": "x", "port": 9000, "appProtocol": "https"}], "https://web.shop.svc:9000"),
        ([{"name": "dns", "port": 53, "protocol": "UDP"}], None),
    ],
)
def test_url(ports: list[dict[str, Any]], address: str | None) -> None:
    assert addressed(service={"ports": ports})[0] == address


def test_a_time_changes_only_with_its_condition() -> None:
    first = made(HEALTHY, MISSING)
    second = made(HEALTHY, HEALTHY, previous=first, now=LATER)
    times = {found["type"]: found["lastTransitionTime"] for found in second["conditions"]}
    assert times == {**dict.fromkeys(RULES.types[:-2], NOW), "Ready": LATER, "Progressing": LATER}


def test_the_same_again_is_the_same_bytes() -> None:
    first = made(HEALTHY, MISSING)
    assert made(HEALTHY, MISSING, previous=first, now=LATER) == first
    assert urgency(first, made(HEALTHY, MISSING, previous=first, now=LATER), REPLICAS) is Urgency.NONE


def test_conditions_of_other_writers_are_none_of_our_business() -> None:
    ours = made(HEALTHY)
    theirs: Any = {**ours, "conditions": [{"type": "Theirs", "status": "True"}, *reversed(ours["conditions"])]}
    assert urgency(theirs, ours, REPLICAS) is Urgency.NONE


def test_urgency() -> None:
    rolling = Health(Level.PROGRESSING, "RollingOut", "1 of 2")
    before = made(rolling, live=deployment(readyReplicas=1, replicas=1))
    assert (
        urgency(before, made(rolling, previous=before, live=deployment(readyReplicas=1, replicas=2)), REPLICAS)
        is Urgency.COUNTS
    )
    other = Health(Level.PROGRESSING, "RollingOut", "2 of 2")
    assert urgency(before, made(other, previous=before, live=deployment(replicas=1)), REPLICAS) is Urgency.PROGRESS
    assert urgency(before, made(HEALTHY, previous=before, now=LATER), REPLICAS) is Urgency.NOW
    assert urgency({}, before, REPLICAS) is Urgency.NOW
    more: Any = {**before, "readyReplicas": 3}
    assert urgency(before, more, REPLICAS) is Urgency.PROGRESS
    fewer: Any = {**before, "readyReplicas": 2}
    assert urgency(fewer, more, REPLICAS) is Urgency.COUNTS, "old and new pods, side by side"
    assert urgency(more, before, REPLICAS) is Urgency.PROGRESS, "fewer pods than desired"
    changed: Any = {**before, "observedGeneration": 2}
    assert urgency(before, changed, REPLICAS) is Urgency.NOW


def test_numbers_in_the_last_words_of_a_program_are_no_news() -> None:
    def crash(pods: int, words: str) -> Health:
        return Health(Level.DEGRADED, "CrashLoopBackOff", quoted(f"{pods} of 2 pods", words))

    before = made(crash(1, "12:00:01 panic"))
    assert urgency(before, made(crash(1, "12:05:01 panic"), previous=before), REPLICAS) is Urgency.NONE
    assert urgency(before, made(crash(1, "12:05:01 no database"), previous=before), REPLICAS) is Urgency.PROGRESS
    assert urgency(before, made(crash(2, "12:05:01 panic"), previous=before), REPLICAS) is Urgency.PROGRESS


@given(
    st.lists(
        st.sampled_from(
            [
                HEALTHY,
                MISSING,
                terminating(observed_child(), COMMANDS),
                name_taken(None, "x"),
                rejected("no", COMMANDS, there=True),
                not_written("X", "y"),
            ]
        )
    )
)
def test_rules_of_every_status(healths: list[Health]) -> None:
    result = made(*healths)
    conditions = shown(result)
    assert list(conditions) == list(RULES.types[:-2])
    assert (conditions["Ready"][0] == "True") == all(state is HEALTHY for state in healths)
    assert (conditions["Stalled"][0] == "True") == any(state.stalled for state in healths)
    assert not (conditions["Ready"][0] == "True" and conditions["Progressing"][0] == "True")
    assert not (conditions["Stalled"][0] == "True" and conditions["Progressing"][0] == "True")
    assert all(found["reason"].isalnum() and found["message"] for found in result["conditions"])
    assert urgency(result, made(*healths, previous=result, now=LATER), REPLICAS) is Urgency.NONE


WAITING = Health(Level.PROGRESSING, "WaitingForAddress", "waiting for an address", non_blocking=True)


def test_ready_does_not_wait_for_what_the_application_serves_without() -> None:
    found = made(HEALTHY, WAITING)
    assert shown(found)["Ready"] == ("True", "Ready")
    assert shown(found)["Progressing"] == ("True", "WaitingForAddress")
    assert shown(found)["Stalled"] == ("False", "NotStalled")
    ready = next(each for each in found["conditions"] if each["type"] == "Ready")
    assert ready["message"].endswith("the application serves. Deployment web-1: waiting for an address")
    assert [child["health"] for child in found["children"]] == ["Healthy", "Progressing"]


@pytest.mark.parametrize(
    "other",
    [
        MISSING,
        terminating(observed_child(), COMMANDS),
        rejected("no", COMMANDS, there=True),
        held_back("x", there=True),
    ],
)
def test_another_child_decides_beside_it(other: Health) -> None:
    for healths in ((WAITING, other), (other, WAITING)):
        assert shown(made(*healths))["Ready"] == ("False", other.reason)
        assert shown(made(*healths))["Progressing"][1] == other.reason


def test_a_long_list_of_children_ends_with_their_number() -> None:
    """The CRD limits the list. A longer one makes the API server refuse each status."""
    full = made(*[HEALTHY] * 64)["children"]
    assert [each.get("message") for each in full] == [None] * 64
    more = made(*[HEALTHY] * 63, *[not_written("Forbidden", "no")] * 38)["children"]
    assert more[:63] == full[:63]
    assert len(more) == 64
    assert (more[63]["name"], more[63]["health"]) == ("web-63", "Degraded")
    assert more[63]["message"].endswith(". 37 more children are not listed: status.children has at most 64 entries")
