"""The explained health of a child, and the pods of a Deployment."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Controller, Projection
from coxswain.kernel.status.health import Health
from coxswain.webapp import kinds
from coxswain.webapp.children import TYPES
from rendered import Empty
from unit.objects import observed_child, webapp
from unit.pod_states import NOW, replica_set


class Pods(Empty):
    """The pods of a Deployment in its second revision, with Events about each."""

    def __init__(self, *pods: dict[str, Any], events: tuple[ReportedEvent, ...] = (), replica_sets: Any = None) -> None:
        self.pods, self.events, self.replica_sets = pods, events, replica_sets or (replica_set(),)

    def related(self, kind: Kind) -> list[Projection]:
        found = {kinds.REPLICA_SET: self.replica_sets, kinds.POD: self.pods}.get(kind, [])
        return [live(kind, each.get("metadata", {}).get("name", "web"), each) for each in found]

    def warnings_about(self, subject: Projection) -> tuple[ReportedEvent, ...]:  # noqa: ARG002
        return self.events


def live(kind: Kind, name: str, content: Mapping[str, Any]) -> Projection:
    """Return an object with this content that the Deployment controls."""
    controller = Controller("Deployment", "web", "child-1")
    terminating = "deletionTimestamp" in content.get("metadata", {})
    return dataclasses.replace(
        observed_child(kind, name), content=content, controller=controller, terminating=terminating
    )


def told(kind: Kind, content: Mapping[str, Any], world: Empty | None = None) -> Health:
    """Return the health of a child with this content."""
    child_type = next(each for each in TYPES if each.kind == kind)
    child = dataclasses.replace(observed_child(kind), content=content)
    health = child_type.health(child)
    if child_type.explain is None or not health.explainable:
        return health
    return child_type.explain(webapp(), child, health, world or Empty(), NOW).health
