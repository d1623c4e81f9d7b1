"""The Lease and the decision about the next request, without requests."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest

from coxswain.kernel.election.lease import (
    Action,
    Create,
    Observation,
    Wait,
    Write,
    Yield,
    decide,
    held,
    observe,
    parse,
    released,
    unheld,
)
from coxswain.settings import ElectionSettings

SETTINGS = ElectionSettings()
NOW = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)


def raw(holder: str | None = "a_1", *, version: str = "7", duration: int | None = 15, **spec: Any) -> dict[str, Any]:
    named = {} if holder is None else {"holderIdentity": holder}
    lasting = {} if duration is None else {"leaseDurationSeconds": duration}
    metadata = {"name": "coxswain", "namespace": "ns", "uid": "u", "resourceVersion": version}
    return {"metadata": metadata, "spec": {**named, **lasting, **spec}}


def decided(thing: dict[str, Any] | None, *, since: float, now: float, leading: bool = False) -> Action:
    observed = Observation(parse(thing) if thing else None, since)
    return decide(observed, "me_1", leading=leading, now=now, settings=SETTINGS)


@pytest.mark.parametrize(
    ("lease", "waits"),
    [
        pytest.param(raw("other_1"), 15, id="held"),
        pytest.param(raw("other_1", duration=40), 40, id="held for longer than usual"),
        pytest.param(raw("other_1", duration=1), 15, id="held for less: its holder may write for 10 s"),
        pytest.param(raw("other_1", duration=None), 15, id="held without a duration"),
        pytest.param(raw(""), 15, id="cleared by hand: its holder may still write"),
        pytest.param(raw(None, duration=None), 15, id="empty"),
        pytest.param(unheld(name="ns/n", duration=15), 15, id="created: another may have been deleted"),
        pytest.param(raw("", duration=1), 0, id="released"),
        pytest.param(raw("me_1"), 0, id="ours, after an answer was lost"),
    ],
)
def test_a_candidate_waits_until_the_last_holder_can_write_no_more(lease: dict[str, Any], waits: int) -> None:
    begin = 1000.0
    lease["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    if waits:
        assert decided(lease, since=begin, now=begin + waits - 0.001) == Wait(begin + waits)
    assert decided(lease, since=begin, now=begin + waits) == Write()


def test_a_candidate_creates_a_missing_lease_without_a_holder() -> None:
    """It may have been deleted while its holder leads, so its creation proves nothing."""
    assert decided(None, since=0, now=1e6) == Create()


@pytest.mark.parametrize("lease", [raw("me_1"), raw(""), raw("", duration=1), None])
def test_a_leader_keeps_a_lease_that_nobody_else_holds(lease: dict[str, Any] | None) -> None:
    assert decided(lease, since=0, now=0, leading=True) == Write()


def test_a_leader_yields_to_a_stranger_at_once() -> None:
    assert decided(raw("other_1"), since=0, now=1e6, leading=True) == Yield()


def test_the_time_of_a_change_is_that_of_this_process() -> None:
    first = observe(None, parse(raw(version="1", renewTime="1999-01-01T00:00:00.000000Z")), 50.0)
    assert first.since == 50.0
    assert observe(first, parse(raw(version="1")), 60.0) is first, "unchanged"
    assert observe(first, parse(raw(version="2")), 60.0).since == 60.0, "written again with the same content"
    gone = observe(first, None, 70.0)
    assert gone.since == 70.0
    assert observe(gone, None, 80.0) is gone


@pytest.mark.parametrize("lease", [raw("", version="7", duration=1), raw("me_1", version="7")])
def test_a_restored_lease_is_waited_for(lease: dict[str, Any]) -> None:
    """Its release, or its acquisition by this process, is from before the backup: another process may lead."""
    known = observe(None, parse(raw("other_1", version="8")), 50.0)
    restored = observe(known, parse(lease), 60.0)
    assert observe(restored, parse(lease), 70.0) is restored
    assert decide(restored, "me_1", leading=False, now=74.9, settings=SETTINGS) == Wait(75.0)
    assert decide(restored, "me_1", leading=False, now=75.0, settings=SETTINGS) == Write()
    lease["metadata"]["resourceVersion"] = "9"
    later = observe(restored, parse(lease), 70.0)
    assert decide(later, "me_1", leading=False, now=70.0, settings=SETTINGS) == Write(), "written after the restore"


def test_a_leader_keeps_its_restored_lease() -> None:
    restored = observe(observe(None, parse(raw("me_1", version="8")), 50.0), parse(raw("", duration=1)), 60.0)
    assert decide(restored, "me_1", leading=True, now=60.0, settings=SETTINGS) == Write()


def test_a_new_lease_has_no_preconditions() -> None:
    assert held(None, "me_1", name="ns/n", now=NOW, duration=15) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": "ns", "name": "n"},
        "spec": {
            "holderIdentity": "me_1",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-05-01T12:00:00.123456Z",
            "renewTime": "2026-05-01T12:00:00.123456Z",
            "leaseTransitions": 0,
        },
    }


def test_an_update_has_preconditions_and_keeps_the_rest() -> None:
    before = raw("a_1", leaseTransitions=4, acquireTime="then", strategy="x")
    before["metadata"] |= {"labels": {"team": "x"}, "managedFields": [{}]}
    written = held(parse(before), "me_1", name="ns/coxswain", now=NOW, duration=15)
    assert written["metadata"] == {
        "name": "coxswain",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "labels": {"team": "x"},
    }
    assert written["spec"]["leaseTransitions"] == 5
    assert written["spec"]["acquireTime"] == "2026-05-01T12:00:00.123456Z"
    assert written["spec"]["strategy"] == "x"


def test_a_renewal_changes_the_renew_time_alone() -> None:
    before = raw("me_1", leaseTransitions=4, acquireTime="then", renewTime="then")
    written = held(parse(before), "me_1", name="ns/coxswain", now=NOW, duration=15)
    assert written["spec"] == {**before["spec"], "renewTime": "2026-05-01T12:00:00.123456Z"}


def test_times_are_in_utc() -> None:
    local = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    written = held(None, "me_1", name="ns/n", now=local, duration=15)
    assert written["spec"]["renewTime"] == "2026-05-01T12:00:00.123456Z"


def test_a_released_lease_is_free_at_once_also_for_client_go() -> None:
    given_up = released(parse(raw("me_1", leaseTransitions=4)), name="ns/coxswain", now=NOW)
    assert given_up["metadata"]["resourceVersion"] == "7"
    assert (given_up["spec"]["holderIdentity"], given_up["spec"]["leaseDurationSeconds"]) == ("", 1)
    assert given_up["spec"]["leaseTransitions"] == 4
    assert decided(given_up, since=0, now=0) == Write()


def test_each_renewal_differs_even_if_the_wall_clock_stands_still() -> None:
    """The API server keeps the resourceVersion at a write without changes, so nobody would see the renewal."""
    first = held(None, "me", name="ns/coxswain", now=NOW, duration=15)
    times = [first["spec"]["renewTime"]]
    for number in range(3):
        metadata = {**first["metadata"], "uid": "uid", "resourceVersion": str(number)}
        renewed = held(parse({**first, "metadata": metadata}), "me", name="ns/c", now=NOW, duration=15)
        times.append(renewed["spec"]["renewTime"])
        first = renewed
    assert all(before != after for before, after in pairwise(times))
    assert {each[:25] for each in times} == {times[0][:25]}


def test_the_number_of_transitions_stays_an_int32() -> None:
    """The API server refuses a greater one, so nobody could acquire the Lease any more."""
    before = raw("", duration=1, leaseTransitions=2**31 - 1)
    written = held(parse(before), "me_1", name="ns/coxswain", now=NOW, duration=15)
    assert written["spec"]["leaseTransitions"] == 2**31 - 1
