"""The replicas of an election, as an annotation on the shared Lease."""

import json
from typing import Any

import pytest

from coxswain.kernel.election.members import ANNOTATION, Members

EXPIRY, SETTLING = 15.0, 5.0


class Seen:
    """What one replica knows, with a clock of the test."""

    def __init__(self, identity: str = "me") -> None:
        self.now = 100.0
        self.members = Members(identity, expiry=EXPIRY, settling=SETTLING, clock=lambda: self.now)
        self.members.announced = self.members.complete = True

    def observe(self, **entries: int) -> dict[str, bool]:
        self.members.observe(raw(entries))
        return self.members.live()


def raw(entries: Any) -> dict[str, Any]:
    return {"metadata": {"name": "coxswain", "annotations": {"other": "kept", ANNOTATION: json.dumps(entries)}}}


def entries(manifest: dict[str, Any]) -> Any:
    assert manifest["metadata"]["annotations"]["other"] == "kept"
    return json.loads(manifest["metadata"]["annotations"][ANNOTATION])


def test_a_replica_is_live_until_its_number_stands_still() -> None:
    seen = Seen()
    assert seen.observe(other=1) == {"other": False}
    seen.now += SETTLING
    assert seen.observe(other=2) == {"other": True}
    seen.now += EXPIRY - 0.1
    assert seen.observe(other=2) == {"other": True}
    seen.now += 0.1
    assert seen.observe(other=2) == {}
    assert seen.observe(other=1) == {"other": True}, "any change counts, as with a Lease"


def test_a_renewal_counts_and_removes_those_that_are_gone() -> None:
    seen = Seen()
    seen.observe(gone=1, other=1)
    seen.now += EXPIRY
    seen.observe(gone=1, other=9)
    assert entries(seen.members.renewed(raw({"gone": 1, "other": 9, "new": 1}))) == {"me": 1, "other": 9, "new": 1}
    assert entries(seen.members.renewed(raw({"me": 1}))) == {"me": 2}


def test_a_negative_number_is_an_incomplete_cache() -> None:
    seen = Seen()
    assert set(seen.observe(ready=1, unready=-1)) == {"ready", "unready"}
    seen.now += SETTLING
    seen.observe(ready=2, unready=-2)
    assert seen.members.ready() == {"ready": True}
    seen.observe(ready=3, unready=3)
    assert seen.members.ready() == {"ready": True, "unready": False}, "it settles again: others give slots back for it"
    seen.now += SETTLING
    assert seen.members.ready() == {"ready": True, "unready": True}
    seen.members.complete = False
    assert entries(seen.members.renewed(raw({}))) == {"me": -1}
    seen.members.complete = True
    assert entries(seen.members.renewed(raw({}))) == {"me": 2}


def test_a_replica_that_takes_no_part_has_no_entry() -> None:
    seen = Seen()
    seen.members.announced = False
    assert entries(seen.members.renewed(raw({"other": 1}))) == {"other": 1}


def test_a_replica_that_leaves_removes_its_entry_only() -> None:
    seen = Seen()
    manifest = seen.members.renewed(raw({"other": 1}))
    assert seen.members.has_this(manifest)
    left = seen.members.without_this(manifest)
    assert entries(left) == {"other": 1}
    assert not seen.members.has_this(left)


def test_a_restarted_process_replaces_its_old_entry_when_that_stands_still() -> None:
    """Processes on one machine have the same name too, so an entry that still changes counts."""
    seen = Seen()
    assert seen.observe(pod_1=1, other_1=1) == {"pod_1": False, "other_1": False}
    for number in range(1, 5):
        seen.now += 1.2
        assert set(seen.observe(pod_1=1, pod_2=number, other_1=1)) == {"pod_1", "pod_2", "other_1"}
    seen.now += 0.2
    assert set(seen.observe(pod_1=1, pod_2=5, other_1=1)) == {"pod_2", "other_1"}, "other_1 may be slow"
    assert entries(seen.members.renewed(raw({"pod_1": 1, "pod_2": 5}))) == {"me": 1, "pod_2": 5}
    assert set(seen.observe(pod_1=2, pod_2=5, other_1=1)) == {"pod_1", "pod_2", "other_1"}


def test_of_two_processes_with_one_name_the_one_that_changed_last_may_be_slow() -> None:
    seen = Seen()
    seen.observe(pod_1=1, pod_2=1)
    seen.now += 1
    seen.observe(pod_1=2, pod_2=1)
    seen.now += SETTLING
    assert set(seen.observe(pod_1=2, pod_2=1)) == {"pod_1"}


def test_this_replica_is_settled_at_once() -> None:
    assert Seen().observe(me=1, other=1) == {"me": True, "other": False}


@pytest.mark.parametrize(
    "value", ["", "no JSON", "[]", "1", "null", '{"a": "x", "b": null, "c": [1]}', "[" * 100_000], ids=range(7)
)
def test_a_malformed_annotation_has_no_replicas(value: str) -> None:
    seen = Seen()
    seen.members.observe({"metadata": {"annotations": {ANNOTATION: value}}})
    assert seen.members.live() == {}
    bare: dict[str, Any]
    for bare in ({}, {"metadata": {}}, {"metadata": {"annotations": None}}):
        seen.members.observe(bare)
        assert seen.members.live() == {}


def test_the_number_of_entries_is_limited() -> None:
    seen = Seen()
    assert len(seen.observe(**{f"r{number}": 1 for number in range(1000)})) == 256
