"""The objects around one WebApp, as read at one time: what the operator's code sees of the cluster."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import Child
from coxswain.kernel.workload import Predecessor, Reference
from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.kinds import HORIZONTAL_POD_AUTOSCALER
from coxswain.webapp.workload import WORKLOAD
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.parallel import each_in_parallel
from kubectl_coxswain.problems import Forbidden, NotFound, NotServed

Place = tuple[Kind, str]


@dataclass
class Snapshot:
    """A world of the operator's code. Objects without our label are read when they are asked for."""

    kubectl: Kubectl
    namespace: str
    name: str
    now: datetime
    objects: dict[Place, Projection | None] = field(default_factory=dict)
    """The objects read so far; None for a missing one."""
    manifests: dict[Place, Json] = field(default_factory=dict)
    """The same objects as the API server has sent them."""
    unserved: set[Kind] = field(default_factory=set)
    """Kinds not served by the API server."""
    unreadable: dict[Kind, Forbidden] = field(default_factory=dict)
    """Kinds the user may not read, and why."""
    skipped: list[str] = field(default_factory=list)
    """A note for each object that the operator skips, too."""

    def live(self, kind: Kind, name: str) -> Projection | None:
        """Return the object with the name of a child, whoever owns it. Raises Problem."""
        if kind in self.unserved or kind in self.unreadable:
            return None
        if (kind, name) not in self.objects and kind.label_selector:
            try:
                self._add(kind, self.kubectl.one(kind, name, self.namespace))
            except NotFound:
                self.objects[kind, name] = None
            except Forbidden as error:
                self.unreadable[kind] = error
        return self.objects.get((kind, name))

    def related(self, kind: Kind) -> Sequence[Projection]:
        """Return the related objects of a kind."""
        return [each for each in self._all(kind) if self.name in each.parents]

    def reference(self, kind: Kind, name: str) -> Reference:
        """Return nothing of Secrets and other objects to which a WebApp refers: their content is not read."""
        return Reference(None, 1, unseen=f"the plugin reads no {kind.plural} such as {name}")

    def is_doubtful(self, kind: Kind) -> bool:
        """Tell whether objects of a kind may be missing."""
        return kind in self.unreadable

    def predecessor(self, kind: Kind, name: str) -> Predecessor | None:  # noqa: ARG002 - nothing is replaced here
        """Return None: no child is being replaced."""
        return None

    def warnings_about(self, subject: Projection) -> Sequence[ReportedEvent]:  # noqa: ARG002 - no health is explained
        """Return no Events."""
        return ()

    @property
    def children(self) -> Sequence[Child]:
        """The health of the children: nothing is judged here."""
        return ()

    def labelled(self, kind: Kind) -> list[Projection]:
        """Return the objects of a kind with the label of the WebApp."""
        return [each for each in self._all(kind) if each.label == self.name]

    def _all(self, kind: Kind) -> Iterator[Projection]:
        return (each for (of, _), each in self.objects.items() if of == kind and each is not None)

    def _add(self, kind: Kind, manifest: Json) -> None:
        # Items of a list have neither.
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **manifest}
        place = kind, manifest["metadata"]["name"]
        try:
            self.objects[place] = WORKLOAD.projector.observe(kind, whole)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.objects[place] = None
            self.skipped.append(f"{kind.kind}/{place[1]} is skipped, as the operator does: {error}")
        else:
            self.manifests[place] = whole

    def read(self) -> None:
        """Read all objects with the label of the WebApp, and all autoscalers and budgets. Raises Problem."""
        kinds = WORKLOAD.projector.kinds.children
        for kind, answer in zip(kinds, each_in_parallel(self._listed, kinds), strict=True):
            if answer is None:
                self.unserved.add(kind)
            elif isinstance(answer, Forbidden):
                self.unreadable[kind] = answer
            else:
                for manifest in answer:
                    self._add(kind, manifest)

    def _listed(self, kind: Kind) -> list[Json] | Forbidden | None:
        try:
            if not kind.label_selector:
                return self.kubectl.all_of(kind, self.namespace)
            return self.kubectl.all_of(kind, self.namespace, labelSelector=f"{WEBAPP_LABEL}={self.name}")
        except NotServed:
            return None
        except Forbidden as error:
            return error

    def notes(self, wanted: Collection[str]) -> list[str]:
        """Return a note for each skipped object, and for each of the `wanted` kinds that the user may not read."""
        unread = [(kind, error) for kind, error in self.unreadable.items() if kind.kind in wanted]
        notes = [f"{kind.kind} is not compared: {error.message}" for kind, error in unread]
        if HORIZONTAL_POD_AUTOSCALER in self.unreadable:
            notes.append("autoscalers cannot be seen; one of others may own the replicas")
        return [*notes, *self.skipped]


def snapshot(kubectl: Kubectl, webapp: Json, now: datetime) -> Snapshot:
    """Return the world of a WebApp. Raises Problem."""
    metadata = webapp["metadata"]
    world = Snapshot(kubectl, metadata["namespace"], metadata["name"], now)
    world.read()
    return world
