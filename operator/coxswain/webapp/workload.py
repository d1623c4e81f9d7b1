"""The WebApp as a workload of the kernel."""

from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.status.urgency import Pace
from coxswain.kernel.workload import Observations, projector
from coxswain.webapp import children, data_changes, related, replicas, status
from coxswain.webapp.identity import MANAGED_BY, WEBAPP_LABEL, standard_labels
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.releases.rollback import rollback_events
from coxswain.webapp.releases.spec_changes import asks_for_newest_render, change_of, last_change
from coxswain.webapp.spec import GROUP, WebApp


class WebAppWorkload:
    """The WebApp as a workload of the kernel."""

    name = f"{GROUP}/operator"
    projector = projector(
        WEBAPP,
        children.TYPES,
        related.TYPES,
        data_changes.TYPES,
        label=WEBAPP_LABEL,
        manager=MANAGED_BY,
        managed=last_change,
    )
    labels = tuple(standard_labels(""))
    children = children.TYPES
    status_rules = status.RULES

    def parse(self, observed: Projection) -> WebApp:
        """Return the WebApp of a cached object."""
        return WebApp(
            namespace=observed.namespace,
            name=observed.name,
            uid=observed.uid,
            generation=observed.generation,
            spec=observed.content["spec"],
            change=change_of(observed),
            asks_for_newest_render=asks_for_newest_render(observed),
        )

    def status(self, parent: WebApp, observations: Observations, previous: Status, now: str) -> Status:
        """Return the status of a WebApp."""
        return status.status(parent, observations, previous, now)

    def pace(self, parent: WebApp, observations: Observations) -> Pace:
        """Return the facts for the urgency of the status."""
        return status.pace(parent, observations)

    def events(
        self, parent: WebApp, observations: Observations, previous: Status, present: Status
    ) -> list[EventRecord]:
        """Return the Events of a WebApp about scaling, Pod Security, and children with a warning."""
        if parent.paused:
            return []
        return [
            *rollback_events(previous, present),
            *replicas.events(parent, observations),
            *status.security_events(previous, present),
            *status.warning_events(observations, previous),
        ]


WORKLOAD = WebAppWorkload()
