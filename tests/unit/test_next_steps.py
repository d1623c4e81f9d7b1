"""Each message that a user can act on ends with the next step: a command with its names.

Quotations come after the step, since messages are compared without the numbers in quotations.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import pytest

from coxswain.kernel.cache.coverage import _message
from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR, UNKNOWN
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.commands import delete_command
from coxswain.kernel.objects.event_record import EventRecord, ReportedEvent
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Controller
from coxswain.kernel.objects.quote import MARK
from coxswain.kernel.reconciling.child.adoption import name_conflict
from coxswain.kernel.reconciling.child.failures import failure, next_step
from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.reconciling.memory.writes import Cause, Correction, Writes
from coxswain.kernel.reconciling.parent.event_reasons import event_records
from coxswain.kernel.status.conditions import ConditionState, standard_conditions
from coxswain.kernel.status.conflict_report import Conflict
from coxswain.kernel.status.health import (
    HEALTHY,
    Child,
    Health,
    changed_by_admission,
    contested,
    differs,
    halted,
    immutable,
    left_absent,
    not_listed,
    not_removed,
    not_served,
    terminating,
)
from coxswain.kernel.workload import Reference
from coxswain.webapp import kinds, restarts
from coxswain.webapp.children import TYPES
from coxswain.webapp.diagnosis.autoscaling_health import conflict, failing
from coxswain.webapp.releases.render_choice import unknown_render
from coxswain.webapp.status import status
from coxswain.webapp.workload import WORKLOAD
from rendered import Empty, observations
from unit.explained import Pods, told
from unit.objects import COMMANDS, observed_autoscaler, observed_child, webapp
from unit.pod_states import (
    NOW,
    READINESS,
    ago,
    container,
    deployment,
    ended,
    ending,
    pod,
    running,
    unscheduled,
    waiting,
)
from unit.server import refusal
from unit.test_deployment_explanation import recreated
from unit.test_reference import listed

COMMAND = re.compile(r"\b(kubectl [a-z-]+(?: (?:[^\s.:,;()]|[.:,](?=\S))+)+)\Z")
"""A command with its arguments, at the end of a message: no sentence or clause follows it."""
PLACE = re.compile(
    r" -n \w|--all-namespaces| (namespace|ingressclasses|apiservices|-k|\w+admissionpolic\w+|\w+configurations)\b"
)
"""A command has its namespace, unless its objects have none, or a directory has them."""

NOTHING_TO_DO = {
    "Ready": "all is well",
    "RollingOut": "it takes its time, and has a deadline",
    "HeldBack": "another child has the cause",
    "Retrying": "most failures pass",
    "Replaced": "the object is created afterwards",
    "Missing": "the object is created next",
    "NoAnswer": "the API server is the cause",
    "UnreadableAnswer": "the API server is the cause",
    "WriteFailed": "the API server is the cause",
    "Failed": "it replaces another reason, which has the step",
    "RestartScheduled": "it comes at its time",
}


class Naming(Empty):
    """A world without the objects that `restartOn` names."""

    def __init__(self, unseen: str | None) -> None:
        self.unseen = unseen

    def reference(self, kind: Kind, name: str) -> Reference:  # noqa: ARG002
        return Reference(None, 1, self.unseen)


def named_by_restart_on(unseen: str | None, field: str = "secrets") -> Health:
    """Return the health of a Deployment whose WebApp names an object that is missing, or unseen for this reason."""
    return restarts.explained(webapp(restartOn={field: ["db"]}), HEALTHY, Naming(unseen)).health


def of_pods(*pods: dict[str, Any], events: tuple[ReportedEvent, ...] = (), **spec: Any) -> Health:
    """Return the health of a Deployment with these pods."""
    return told(kinds.DEPLOYMENT, deployment(**{**READINESS, **spec}), Pods(*pods, events=events))


def of_condition(type_: str, reason: str, message: str, *pods: dict[str, Any]) -> Health:
    """Return the health of a Deployment with this condition."""
    condition = {"type": type_, "status": str(type_ == "ReplicaFailure"), "reason": reason, "message": message}
    return told(kinds.DEPLOYMENT, deployment(status={"conditions": [condition]}), Pods(*pods))


def not_prepared() -> dict[str, Any]:
    condition = {"type": "PodReadyToStartContainers", "status": "False", "lastTransitionTime": ago(500)}
    return pod(container(waiting("ContainerCreating")), conditions=[condition])


TIME = "2026-01-01T00:00:00Z"
SCALER = {"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric", "message": "no answer"}
BLOCKS = {"metadata": {}, "status": {"blocks": True}}
ROUTE = {"metadata": {}, "spec": {"parentRefs": [{"name": "public"}]}}
OPTIONAL = next(str(each.optional) for each in TYPES if each.kind == kinds.HTTP_ROUTE)
RBAC = (
    'deployments.apps "web" is forbidden: User "system:serviceaccount:coxswain-system:coxswain" cannot patch resource '
    '"deployments" in API group "apps" in the namespace "shop"'
)
QUOTA = "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"
REFUSED = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": QUOTA}
DENIED = 'admission webhook "x.example.com" denied the request: no'
MOUNT = ReportedEvent("FailedMount", 'MountVolume.SetUp failed for volume "tls" : secret "tls" not found')
PAUSED = {"metadata": {}, "spec": {"paused": True, "replicas": 2}}
PROBED = container(running(9999), started=False)
BY_POLICY = "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: no"
NO_CLASS = _message((kinds.HTTP_ROUTE, "shop"), RBAC)
FOREIGN = name_conflict(
    webapp(), kinds.WEBAPP, dataclasses.replace(observed_child(label=None), controller=None), COMMANDS
)
assert FOREIGN is not None
CONTROLLED = name_conflict(
    webapp(),
    kinds.WEBAPP,
    dataclasses.replace(observed_child(label=None), controller=Controller("Website", "web", "other")),
    COMMANDS,
)
assert CONTROLLED is not None
HELD = dataclasses.replace(observed_child(), finalizers=("example.com/hold",))
COLLECTED = dataclasses.replace(observed_child(), finalizers=("foregroundDeletion",))
UNKNOWN_POLICIES = webapp(conflicts={"policy": "Observe"}).policies.unknown()
UNKNOWN_RENDER = unknown_render(dataclasses.replace(webapp(), render="9"))
assert UNKNOWN_RENDER is not None

HEALTHS = {
    "NotScaling": failing(webapp(), {"status": {"conditions": [SCALER]}}, NOW).health,
    "DisruptionBlocked": told(kinds.POD_DISRUPTION_BUDGET, BLOCKS),
    "WaitingForAddress": told(kinds.SERVICE, {"metadata": {}, "spec": {"type": "LoadBalancer"}}),
    "Contested": contested("spec.replicas (kubectl)", COMMANDS, two_operators=False),
    "Differs": differs("spec.replicas", COMMANDS),
    "Halted": halted("spec.replicas (kubectl)", COMMANDS),
    "Immutable": immutable("spec.clusterIP", delete_command("Service", "web", "shop")),
    "AutoscalerConflict": conflict(webapp(), [observed_autoscaler()]),
    "Rejected": failure(refusal(422, "spec.x: Invalid"), COMMANDS, there=True, patient=True),
    "Terminating": terminating(HELD, COMMANDS),
    "AdmissionDenied": failure(refusal(403, DENIED), COMMANDS, there=True, patient=True),
    "NotRemoved": not_removed(RBAC, next_step(refusal(403, RBAC), "shop")),
    "NotListed": not_listed(NO_CLASS),
    "APIMissing": not_served("gateway.networking.k8s.io/v1", OPTIONAL, COMMANDS),
    "RenderUnknown": UNKNOWN_RENDER,
    "NameTaken": FOREIGN,
    "NotWatched": named_by_restart_on("forbidden"),
    "NotFound": named_by_restart_on(None),
    "NotAccepted": told(kinds.HTTP_ROUTE, ROUTE),
    "NoAddress": told(kinds.INGRESS, {"metadata": {}, "spec": {"ingressClassName": "nginx"}}),
    "RolloutPaused": told(kinds.DEPLOYMENT, {**PAUSED, "status": {"replicas": 2}}),
    "ProgressDeadlineExceeded": of_condition("Progressing", "ProgressDeadlineExceeded", "has timed out."),
    "ReplicaFailure": of_condition("ReplicaFailure", "ReplicaFailure", ""),
    "ImagePullBackOff": of_pods(pod(container(waiting("ErrImagePull", "not found")))),
    "CreateContainerError": of_pods(pod(container(waiting("create it", "no")))),
    "RunContainerError": of_pods(pod(container(waiting("RunContainerError", "no")))),
    "CrashLoopBackOff": of_pods(pod(container(waiting("CrashLoopBackOff"), ended(1, message="panic")))),
    "OOMKilled": of_pods(pod(container(waiting("CrashLoopBackOff"), ended(137, "OOMKilled")))),
    "Unschedulable": of_pods(unscheduled("0/3 nodes")),
    "ContainerCreating": of_pods(not_prepared()),
    "StartupProbeFailing": of_pods(pod(PROBED, phase="Running"), startupProbe={"tcpSocket": {"port": "http"}}),
    "ReadinessProbeFailing": of_pods(pod(container(running(9999)), phase="Running")),
    "PodFailed": of_pods(pod(phase="Failed")),
    "OldPodsTerminating": told(kinds.DEPLOYMENT, recreated(), Pods(ending(60))),
}
"""A message of each reason in the table of docs/reference.md."""

OTHERS = {
    "FailedMount": of_pods(not_prepared(), events=(MOUNT,)),
    "FailedCreate": of_condition(
        "ReplicaFailure", "FailedCreate", "exceeded quota: a, requested: x=1, used: x=1, limited: x=1"
    ),
    "SchedulingGated": of_pods(unscheduled("gated", "SchedulingGated")),
    "Evicted": of_pods(pod(phase="Failed", reason="Evicted", message="low on memory")),
    "Forbidden": failure(refusal(403, RBAC), COMMANDS, there=True, patient=True),
    "Forbidden by a quota": failure(refusal(403, QUOTA), COMMANDS, there=False, patient=True),
    "Forbidden for another reason": failure(refusal(403, "no"), COMMANDS, there=False, patient=True),
    "Deadline and cause": of_condition("Progressing", "ProgressDeadlineExceeded", "late.", unscheduled("0/3 nodes")),
    "Injected": of_pods(pod(container(waiting("ErrImagePull"), name="mesh"))),
    "Not watched, without a right": named_by_restart_on("forbidden", "configMaps"),
    "Denied by a policy": not_removed(BY_POLICY, next_step(refusal(422, BY_POLICY), "shop")),
    "Deletion denied by a webhook": not_removed(DENIED, next_step(refusal(400, DENIED), "shop")),
    "Deleted again and again": left_absent(COMMANDS.events_about("Service", "web")),
    "Changed by admission": changed_by_admission(HEALTHY, "spec.replicas", COMMANDS),
    "Contested by a second operator": contested("spec.replicas (another)", COMMANDS, two_operators=True),
    "Halted by an unknown policy": halted("spec.replicas (kubectl)", COMMANDS, UNKNOWN_POLICIES),
    "Name of a controlled object": CONTROLLED,
    "Held by the garbage collector": terminating(COLLECTED, COMMANDS),
    "Rejected creation": failure(refusal(422, "spec.x: Invalid"), COMMANDS, there=False, patient=True),
    "No request": failing(
        webapp(), {"status": {"conditions": [{**SCALER, "message": "missing request for cpu"}]}}, NOW
    ).health,
    "Injected and out of memory": of_pods(
        pod(container(waiting("CrashLoopBackOff"), ended(137, "OOMKilled"), name="mesh"))
    ),
    "Invalid image name": of_pods(pod(container(waiting("InvalidImageName")))),
    "No class": told(kinds.INGRESS, {"metadata": {}, "spec": {}}),
}
"""Messages of reasons that Coxswain passes on, and other cases."""


def held_by(manager: str, policy: Policy = Policy.ENFORCE, field: str = "spec.replicas") -> Conflict:
    """Return a field of the Deployment held by a manager. The policy Enforce contests it."""
    return Conflict("Deployment/web", field, manager, policy, differs=True, contested=policy is Policy.ENFORCE)


def condition(name: str, *fields: Conflict, paused: bool = False, unknown: str = "") -> ConditionState:
    """Return a condition of a WebApp with fields held by other managers."""
    return standard_conditions([], fields, {}, COMMANDS, paused=paused, unknown_policies=unknown)[name]


CONDITIONS = {
    "Paused": condition("Progressing", paused=True),
    "Yielded": condition("Conflicted", held_by("flux", Policy.YIELD)),
    "Halted": condition("Conflicted", held_by("flux", Policy.HALT)),
    "Halted by an unknown policy": condition("Conflicted", held_by("flux", Policy.HALT), unknown=UNKNOWN_POLICIES),
    "Unknown policy without a conflict": condition("Conflicted", unknown=UNKNOWN_POLICIES),
    "Contested": condition("Contested", held_by("flux")),
    "Contested by an unknown manager": condition("Contested", held_by(UNKNOWN)),
    "Contested by a second operator": condition("Contested", held_by(ANOTHER_OPERATOR)),
    "Deleted again and again": condition("Contested", held_by(UNKNOWN, field="")),
}
"""Conditions beside those that quote the health of a child."""


def events_of(*fields: Conflict, undeclared: Sequence[str] = (), corrected: bool = False) -> list[EventRecord]:
    """Return the Events about fields held by other managers, missing status fields, or a corrected field."""
    correction = Correction(Difference(("f:spec", "f:paused"), False, True), "flux", Cause.MANAGER)
    corrections = (correction,) if corrected else ()
    results = [Result(Child("Deployment", "web", HEALTHY), writes=Writes(corrections=corrections))]
    before, now = (status(webapp(), observations([], held=held), {}, TIME) for held in ((), fields))
    return event_records(webapp(), WORKLOAD, results, before, now, undeclared=undeclared)


EVENTS = {
    "FieldConflict": events_of(held_by("flux", Policy.YIELD)),
    "Contested": events_of(held_by("flux")),
    "DriftCorrected": events_of(corrected=True),
    "StatusPruned": events_of(undeclared=("url",)),
}
"""Events beside those that quote the health of a child."""


def test_each_reason_is_here() -> None:
    assert HEALTHS.keys() | NOTHING_TO_DO.keys() == listed("Reasons of children")
    assert HEALTHS.keys() & NOTHING_TO_DO.keys() == set()


@pytest.mark.parametrize("reason", HEALTHS)
def test_each_message_is_of_its_reason(reason: str) -> None:
    assert HEALTHS[reason].reason == reason


def ends_with_a_command(message: str) -> None:
    """Check the end of a message, without the quotation after it."""
    text = message.partition(MARK)[0]
    command = COMMAND.search(text)
    assert command, text
    assert PLACE.search(command[1]), f"no namespace: {text}"


@pytest.mark.parametrize("name", [*HEALTHS, *OTHERS])
def test_a_message_ends_with_the_next_command(name: str) -> None:
    ends_with_a_command({**HEALTHS, **OTHERS}[name].message)


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_ends_with_the_next_command(name: str) -> None:
    ends_with_a_command(CONDITIONS[name].message)


@pytest.mark.parametrize("reason", EVENTS)
def test_an_event_ends_with_the_next_command(reason: str) -> None:
    assert [each.reason for each in EVENTS[reason]] == [reason]
    ends_with_a_command(EVENTS[reason][0].note)
