"""The kinds that are served, and what the API server does with each of its own accord."""

from dataclasses import dataclass, field
from functools import cache

from simulation.model.fieldset import Fields
from simulation.model.schema import Object, Struct, builtin, webapp

_STATUS: Fields = {"f:status": {}}
_SPEC: Fields = {"f:spec": {}}
_POD_SPEC: Object = {"containers": []}


@dataclass(frozen=True)
class Kind:
    """A kind of the API."""

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool = True
    status: bool = False
    """Whether its status is a subresource."""
    generation: bool = False
    custom: bool = False
    """Whether a CRD defines it."""
    created_by_put: bool = False
    empty: Object = field(default_factory=dict)
    """An object without any content: structs that are always there."""
    not_by_status: Fields = field(default_factory=lambda: _SPEC)
    """Fields that a write of the status ignores."""

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """How messages name it: deployments.apps."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def kind(self) -> str:
        """How messages name its objects' kind: Deployment.apps."""
        return f"{self.name}.{self.group}" if self.group else self.name

    @property
    def type(self) -> Struct:
        """The type of its objects."""
        return webapp()[0] if self.custom else builtin(self.name)

    def ignored(self, subresource: str) -> Fields:
        """Return the fields that a write ignores."""
        if subresource:
            return self.not_by_status
        return _STATUS if self.status else {}

    def __hash__(self) -> int:
        return hash((self.group, self.plural))


def _template() -> Object:
    return {"metadata": {}, "spec": _POD_SPEC}


WEBAPP = Kind(
    "coxswain.dev",
    "v1",
    "WebApp",
    "webapps",
    status=True,
    generation=True,
    custom=True,
    not_by_status={"f:metadata": {}, "f:spec": {}},
)
DEPLOYMENT = Kind(
    "apps",
    "v1",
    "Deployment",
    "deployments",
    status=True,
    generation=True,
    empty={"metadata": {}, "spec": {"selector": {}, "strategy": {}, "template": _template()}, "status": {}},
    not_by_status={"f:spec": {}, "f:metadata": {"f:labels": {}}},
)
REPLICA_SET = Kind(
    "apps",
    "v1",
    "ReplicaSet",
    "replicasets",
    status=True,
    generation=True,
    empty={"metadata": {}, "spec": {"selector": {}, "template": _template()}, "status": {"replicas": 0}},
)
POD = Kind(
    "", "v1", "Pod", "pods", status=True, generation=True, empty={"metadata": {}, "spec": _POD_SPEC, "status": {}}
)
SERVICE = Kind(
    "",
    "v1",
    "Service",
    "services",
    status=True,
    created_by_put=True,
    empty={"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}},
)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", empty={"metadata": {}})
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", empty={"metadata": {}})
HPA = Kind(
    "autoscaling",
    "v2",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    status=True,
    empty={
        "metadata": {},
        "spec": {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0},
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    },
)
EVENT = Kind("events.k8s.io", "v1", "Event", "events", created_by_put=True, empty={"metadata": {}})
NAMESPACE = Kind(
    "",
    "v1",
    "Namespace",
    "namespaces",
    namespaced=False,
    status=True,
    empty={"metadata": {}, "spec": {}, "status": {}},
)

KINDS = (
    WEBAPP,
    DEPLOYMENT,
    REPLICA_SET,
    POD,
    SERVICE,
    CONFIG_MAP,
    SERVICE_ACCOUNT,
    HPA,
    EVENT,
    NAMESPACE,
)


@dataclass(frozen=True)
class Address:
    """What a path leads to."""

    kind: Kind
    namespace: str | None = None
    """None: all of them, or the kind has none."""
    name: str = ""
    """Empty: the collection."""
    subresource: str = ""


@cache
def group_versions() -> dict[str, tuple[Kind, ...]]:
    """Return the kinds by the path of their group and version."""
    found: dict[str, tuple[Kind, ...]] = {}
    for kind in KINDS:
        path = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        found[path] = (*found.get(path, ()), kind)
    return found


@cache
def parse(path: str) -> Address | None:
    """Return what a path leads to; None if to nothing."""
    parts = path.strip("/").split("/")
    group_path = "/" + "/".join(parts[:2] if parts[0] == "api" else parts[:3])
    kinds = {kind.plural: kind for kind in group_versions().get(group_path, ())}
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = None
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] in kinds and rest[2] != "status":
        namespace, rest = rest[1], rest[2:]
    if not rest or rest[0] not in kinds or len(rest) > 3:
        return None
    kind = kinds[rest[0]]
    name, subresource = (*rest[1:], "", "")[:2]
    if name and kind.namespaced != (namespace is not None):
        return None
    subresources = ("status",) * kind.status + ("scale",) * (kind in (DEPLOYMENT, REPLICA_SET))
    if subresource and subresource not in subresources:
        return None
    return Address(kind, namespace, name, subresource)
