"""The changes reported by an Event: new other writers once, and corrected fields without secrets."""

from collections.abc import Sequence
from typing import Any

import pytest

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.field_paths import ORDER
from coxswain.kernel.reconciling.child.corrections import cause_of
from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.reconciling.memory.attempts import digest
from coxswain.kernel.reconciling.memory.last_applied import LastApplied
from coxswain.kernel.reconciling.memory.writes import Correction, Writes
from coxswain.kernel.reconciling.parent.event_reasons import event_records
from coxswain.kernel.status.conflict_report import Conflict
from coxswain.kernel.status.health import HEALTHY, Child, contested, halted, name_taken, not_removed
from coxswain.kernel.workload import ChildReport, Observations
from coxswain.webapp.children.deployment import deployment
from coxswain.webapp.replicas import AUTOSCALED, Scaling
from coxswain.webapp.spec import Status
from coxswain.webapp.status import status
from coxswain.webapp.workload import WORKLOAD
from rendered import desired, observations
from unit.objects import COMMANDS, webapp

APP = webapp()
NOW = "2026-01-01T00:00:00Z"
IMAGE = ("f:spec", "f:image")
ARGS = ("f:spec", "f:args")
ENV = ("f:env", 'k:{"name":"DB_PASSWORD"}', "f:value")


def held(policy: Policy, *, field: str = "spec.replicas", manager: str = "flux", fought: bool = False) -> Conflict:
    return Conflict("Deployment/web", field, manager, policy, differs=True, contested=fought)


def told(*fields: Conflict, previous: Status | None = None) -> Status:
    """Return the status of a WebApp with fields held by others."""
    child = Child("Deployment", "web", HEALTHY)
    return status(APP, observations([child], held=fields), previous or {}, NOW)


def _records(results: Sequence[Result], previous: Status, present: Status, **more: Any) -> list[EventRecord]:
    reports = [
        ChildReport(r.child, r.live, corrected=tuple(c.difference for c in r.writes.corrections)) for r in results
    ]
    of_kernel = event_records(APP, WORKLOAD, results, previous, present, **more)
    return [*of_kernel, *WORKLOAD.events(APP, Observations(reports), previous, present)]


def heard(previous: Status, present: Status, *results: Result, **more: Any) -> dict[str, EventRecord]:
    return {found.reason: found for found in _records(results, previous, present, **more)}


def test_a_field_left_to_another_manager_is_reported_once() -> None:
    before, after = told(), told(held(Policy.YIELD))
    found = heard(before, after)["FieldConflict"]
    assert found.note == (
        "owned by another field manager: Deployment/web spec.replicas (flux). The operator does not write the field. "
        "To enforce the spec, choose Enforce in spec.conflicts: kubectl edit webapp web -n shop"
    )
    assert found.type == "Normal"
    assert heard(after, told(held(Policy.YIELD), previous=after)) == {}


def test_the_event_names_a_bounded_number_of_new_fields() -> None:
    before = told(held(Policy.YIELD))
    after = told(held(Policy.YIELD), *(held(Policy.YIELD, field=f"f{number}") for number in range(5)), previous=before)
    note = heard(before, after)["FieldConflict"].note
    assert "spec.replicas" not in note
    assert "f0 (flux), Deployment/web f1 (flux), Deployment/web f2 (flux) and 2 more" in note


def test_a_halted_child_gets_a_warning_and_no_second_event() -> None:
    results = [Result(Child("Deployment", "web", halted("spec.replicas (flux)", COMMANDS)))]
    found = heard(told(), told(held(Policy.HALT)), *results)
    assert set(found) == {"FieldConflict"}
    assert found["FieldConflict"].type == "Warning"
    assert "The operator writes nothing to the object until the conflict ends" in found["FieldConflict"].note


def test_a_write_war_is_reported_once_for_all_its_rounds() -> None:
    results = [Result(Child("Deployment", "web", contested("spec.replicas (flux)", COMMANDS, two_operators=False)))]
    before, after = told(), told(held(Policy.ENFORCE, fought=True))
    found = heard(before, after, *results)
    assert set(found) == {"Contested"}
    assert (found["Contested"].type, "flux" in found["Contested"].note) == ("Warning", True)
    assert heard(after, told(held(Policy.ENFORCE, fought=True), previous=after), *results) == {}
    more = told(held(Policy.ENFORCE, fought=True), held(Policy.ENFORCE, field="spec.x", fought=True), previous=after)
    assert set(heard(after, more, *results)) == {"Contested"}


def test_fields_missing_in_the_crd_are_reported() -> None:
    found = heard(told(), told(), undeclared=("url", "drift"))
    assert set(found) == {"StatusPruned"}
    assert "the CRD lacks the status fields url, drift" in found["StatusPruned"].note


def test_a_paused_webapp_gets_no_event() -> None:
    paused = webapp(paused=True)
    assert event_records(paused, WORKLOAD, [], told(), told(held(Policy.YIELD)), undeclared=("url",)) == []


def corrected(difference: Difference, manager: str | None = "flux", **more: Any) -> str | None:
    usual = {"ours": False, "was_there": True, "is_note": False, "was_overridden": False}
    correction = Correction(difference, manager, cause_of(difference, manager, **{**usual, **more}))
    result = Result(Child("Deployment", "web", HEALTHY), writes=Writes(corrections=(correction,)))
    found = heard(told(), told(), result).get("DriftCorrected")
    assert (found is not None) is correction.is_drift
    return None if found is None else found.note


@pytest.mark.parametrize(
    ("difference", "manager", "more", "says"),
    [
        (Difference(IMAGE, "a", "b"), "flux", {}, "spec.image b to a (changed by flux)"),
        (Difference(IMAGE, "a", "b"), None, {}, "spec.image b to a (changed)"),
        (Difference(IMAGE, "a", "b"), None, {"was_there": False}, None),
        (Difference(IMAGE, {"a": "b"}, {"a": "b", "default": "c"}), None, {}, None),
        (Difference(IMAGE, "a", "b"), "flux", {"ours": True, "was_there": False}, None),
        (Difference(IMAGE, "a", "b"), None, {"ours": True}, "spec.image b to a (changed by another operator)"),
        (Difference(IMAGE, None, "b"), None, {"ours": True}, "spec.image b to (none) (changed by another operator)"),
        (Difference((*ARGS, ORDER), ["a", "b"], ["b", "a"]), None, {}, "spec.args (order) (changed)"),
        (Difference((*ARGS, ORDER), ["a", "b"], ["b", "a"]), None, {"was_there": False}, None),
        (Difference(IMAGE, "a", "a"), "flux", {}, None),
        (Difference(IMAGE, None, "b"), "flux", {}, None),
        (Difference(IMAGE, "a", None), None, {}, "spec.image (removed)"),
        (Difference(IMAGE, "a", None), None, {"was_there": False}, None),
        (Difference(IMAGE, {"a": "b"}, {}), "flux", {}, "spec.image (changed by flux)"),
        (Difference(IMAGE, None, "b", rivals=(IMAGE,)), "flux", {}, "(changed by flux)"),
        (Difference(ENV, "sesame", "open"), "flux", {}, "env[name=DB_PASSWORD].value (hidden) to (hidden)"),
    ],
)
def test_the_event_names_the_corrected_field(
    difference: Difference, manager: str | None, more: Any, says: str | None
) -> None:
    note = corrected(difference, manager, **more)
    assert (note is None) is (says is None)
    assert says is None or says in (note or "")
    assert "sesame" not in (note or "")


def test_last_applied_has_the_fields_of_the_last_matching_manifest() -> None:
    _, manifest = desired(APP)[-2:]
    last = LastApplied(digest(manifest), ("spec.left",), ())
    assert last.is_of(manifest)
    assert last.matched("spec.a")
    assert not last.matched("spec.left.inside"), "the field was given up, not removed"
    assert not last.matched("spec")
    assert not last.is_of(deployment(APP, Scaling(None, AUTOSCALED))), "an autoscaler became the owner of the replicas"
    assert not last.is_of(deployment(webapp(image="registry.example/web:2")))


def test_a_failed_child_beyond_the_end_of_a_cut_list_gets_an_event_only_if_it_decides_ready() -> None:
    """The list never names it, so each reconcile took it for a new failure."""
    children = [Child("ConfigMap", f"web-{number}", not_removed("no")) for number in range(66)]
    worse = [*children[:65], Child("ConfigMap", "web-65", name_taken(None, "command"))]

    def reported(children: Sequence[Child], previous: Status) -> list[str]:
        present = status(APP, observations(children), previous, NOW)
        records = event_records(APP, WORKLOAD, [Result(child) for child in children], previous, present)
        return [record.note.partition(":")[0] for record in records]

    previous = status(APP, observations(children), {}, NOW)
    assert len(previous["children"]) == 64
    assert reported(children, previous) == []
    assert reported(children, told()) == [f"ConfigMap web-{number}" for number in range(64)]
    assert reported(worse, previous) == ["ConfigMap web-65"]
    assert reported(worse, status(APP, observations(worse), previous, NOW)) == []
