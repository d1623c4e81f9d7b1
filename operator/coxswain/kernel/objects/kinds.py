"""The kinds that the operator reads and writes, and their addresses."""

from dataclasses import dataclass

from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.spec import GROUP, KIND, PLURAL, VERSION, Manifest


@dataclass(frozen=True)
class Kind:
    """A namespaced kind of the API."""

    group: str
    version: str
    kind: str
    plural: str
    label_selector: str = ""
    """What filters its objects on the server, in LIST and WATCH alike."""

    def __str__(self) -> str:
        return self.kind

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_path(self) -> str:
        """Where discovery describes the kind's group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the address of the collection (of one namespace), an object, or its subresource."""
        parts = [self.group_path]
        parts += [f"namespaces/{namespace}"] if namespace is not None else []
        parts += [self.plural]
        parts += [part for part in (name, subresource) if part is not None]
        return "/".join(parts)


WEBAPP = Kind(GROUP, VERSION, KIND, PLURAL)
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", WEBAPP_LABEL)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", WEBAPP_LABEL)
SERVICE = Kind("", "v1", "Service", "services", WEBAPP_LABEL)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", WEBAPP_LABEL)

CHILDREN = (SERVICE_ACCOUNT, CONFIG_MAP, SERVICE, DEPLOYMENT)
"""What is written."""

REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", WEBAPP_LABEL)
POD = Kind("", "v1", "Pod", "pods", WEBAPP_LABEL)

HORIZONTAL_POD_AUTOSCALER = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
"""Whoever made it, and whatever its labels: it is its target that makes it matter."""

KINDS = (WEBAPP, *CHILDREN, REPLICA_SET, POD, HORIZONTAL_POD_AUTOSCALER)
"""What is watched and swept; pods and their ReplicaSets because they tell why a Deployment is not ready, and
HorizontalPodAutoscalers because they have a say in its replicas."""

EVENT = Kind("events.k8s.io", "v1", "Event", "events")


def kind_of(manifest: Manifest) -> Kind:
    """Return the kind of a child's manifest."""
    return next(
        kind for kind in CHILDREN if (kind.api_version, kind.kind) == (manifest["apiVersion"], manifest["kind"])
    )
