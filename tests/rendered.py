"""Shortcuts of tests to the WebApp's workload: manifests, projections and health without a cache."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from coxswain.kernel.conflicts.immutable import Obstacle
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import Plan, plan
from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.reconciling.child.ownership import ownership
from coxswain.kernel.status.conflict_report import Conflict, Repair
from coxswain.kernel.status.health import Child, Health
from coxswain.kernel.status.urgency import Urgency
from coxswain.kernel.workload import ChildReport, ChildType, Desired, Observations, Predecessor, Reference
from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD

FIELD_MANAGER = WORKLOAD.projector.manager
KINDS = WORKLOAD.projector.kinds
CHILDREN = KINDS.children
MODELLED = tuple(kind for kind in CHILDREN if kind not in KINDS.optional)
"""Child kinds served by the API server of the simulation."""


class Unnamed:
    """The part of a world with referenced objects: there are none."""

    now = datetime(2026, 1, 1, tzinfo=UTC)

    def reference(self, kind: Kind, name: str) -> Reference:  # noqa: ARG002
        return Reference(None, 1)


class Empty(Unnamed):
    """A world without any object."""

    def live(self, kind: Kind, name: str) -> Projection | None:  # noqa: ARG002
        return None

    def related(self, kind: Kind) -> Sequence[Projection]:  # noqa: ARG002
        return ()

    @property
    def children(self) -> Sequence[Child]:
        return ()

    def is_doubtful(self, kind: Kind) -> bool:  # noqa: ARG002
        return False

    def predecessor(self, kind: Kind, name: str) -> Predecessor | None:  # noqa: ARG002
        return None

    def warnings_about(self, subject: Projection) -> Sequence[ReportedEvent]:  # noqa: ARG002
        return ()


def desired(webapp: WebApp) -> list[Manifest]:
    """Return the manifests for children that do not exist yet, in write order; without the record of the spec."""
    rendered = [kind for kind in WORKLOAD.children if kind.history is None]
    return [each.manifest for kind in rendered for each in kind.all_desired(webapp, Empty())]


def observe(kind: Kind, raw: Mapping[str, Any]) -> Projection:
    """Return the projection of an object."""
    return WORKLOAD.projector.observe(kind, raw)


def kind_of(manifest: Manifest) -> Kind:
    """Return the kind of a child's manifest."""
    return WORKLOAD.projector.kinds.of(manifest)


def webapp_of(observed: Projection) -> WebApp:
    """Return the WebApp of a projection."""
    return WORKLOAD.parse(observed)


def type_of(manifest: Manifest) -> ChildType[WebApp]:
    """Return the type of a child."""
    return next(child_type for child_type in WORKLOAD.children if child_type.kind.kind == manifest["kind"])


def comparable(manifest: Manifest) -> Manifest:
    """Return a manifest in the form of projections."""
    return type_of(manifest).comparable(manifest)


def health(live: Mapping[str, Any]) -> Health:
    """Return the health of a child without differences."""
    child_type = type_of(dict(live))
    return child_type.health(observed_as(child_type.kind, live))


def observed_as(kind: Kind, content: Mapping[str, Any]) -> Projection:
    """Return a child with this content."""
    return Projection(kind, "shop", "web", "uid", 1, False, content)


def obstacle(wanted: Manifest, live: Mapping[str, Any], *, adopting: bool = False) -> Obstacle | None:
    """Return the obstacle: the field of a live object that cannot be changed in place."""
    return type_of(wanted).obstacle(wanted, live, adopting)


def in_place(wanted: Manifest, live: Mapping[str, Any]) -> Manifest:
    """Return the manifest without the immutable field, if all other fields can be changed."""
    return type_of(wanted).in_place(wanted, live)


def policy_of(webapp: WebApp, kind: str, field: str) -> Policy:
    """Return the policy for a field of a child."""
    child_type = next(each for each in WORKLOAD.children if each.kind.kind == kind)
    manifest: Manifest = {"kind": kind, "metadata": {"name": webapp.name}}
    policy = ownership(WORKLOAD, child_type, webapp, Desired(manifest)).policy_of
    return Policy.ENFORCE if policy is None else policy(field)


def observations(
    children: Sequence[Child],
    deployment: Mapping[str, Any] | None = None,
    *,
    held: Sequence[Conflict] = (),
    repairs: Sequence[Repair] = (),
) -> Observations:
    """Return the state of some children. The first Deployment among them has this live content."""
    live = None if deployment is None else Projection(DEPLOYMENT, "shop", "web", "uid", 1, False, deployment)
    first = next((child for child in children if child.kind == DEPLOYMENT.kind), None)
    reports = [ChildReport(child, live if child is first else None) for child in children]
    return Observations(reports, held, repairs)


def urgency(previous: Status, wanted: Status, replicas: int) -> Urgency:
    """Return how soon a status of a WebApp must be written."""
    return WORKLOAD.status_rules.urgency(previous, wanted, replicas)


def fingerprint(status: Status) -> str:
    """Return the digest of a WebApp's status."""
    return WORKLOAD.status_rules.fingerprint(status)


def is_identity(kind: str, field: str) -> bool:
    """Tell whether a field belongs to the identity of a child."""
    child_type = next(each for each in WORKLOAD.children if each.kind.kind == kind)
    app = WebApp("shop", "web", "uid-1", 1, {"image": "web"})
    return ownership(WORKLOAD, child_type, app, Desired({"kind": kind, "metadata": {}})).is_identity(field)


def plan_of(
    manifest: Manifest,
    observed: Projection,
    policy_of: Callable[[str], Policy] | None = None,
    contested: Sequence[str] = (),
    *,
    adopting: bool = False,
) -> Plan:
    """Return the write plan for a child of a WebApp under these policies."""
    app = WebApp("shop", "web", "uid-1", 1, {"image": "web"})
    rules = replace(ownership(WORKLOAD, type_of(manifest), app, Desired(manifest)), policy_of=policy_of)
    return plan(manifest, observed, rules, contested, adopting=adopting)
