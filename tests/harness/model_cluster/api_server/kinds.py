"""The served kinds: built-in ones, and those of CustomResourceDefinitions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from model_cluster.api_server.fieldset import Fields
from model_cluster.api_server.schema import Object, Struct, builtin, custom

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
    schema: Object | None = field(default=None, compare=False, repr=False)
    """The OpenAPI schema of a custom resource; None for a built-in kind."""
    created_by_put: bool = False
    conditional: bool = False
    """Whether a PUT must carry the resourceVersion, although the kind is built in."""
    empty: Object = field(default_factory=dict)
    """An object without content: only the structs that are always present."""
    not_by_status: Fields = field(default_factory=lambda: _SPEC)
    """Fields ignored by a write of the status."""

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_path(self) -> str:
        """The path of its group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def resource(self) -> str:
        """Its name in messages: deployments.apps."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def kind(self) -> str:
        """The name of its objects' kind in messages: Deployment.apps."""
        return f"{self.name}.{self.group}" if self.group else self.name

    @property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition defines it."""
        return self.schema is not None

    @property
    def unconditional_update(self) -> bool:
        """Whether a PUT may omit the resourceVersion."""
        return not (self.custom or self.conditional)

    @cached_property
    def type(self) -> Struct:
        """The type of its objects."""
        return builtin(self.name) if self.schema is None else custom(self.schema)

    @cached_property
    def has_rules(self) -> bool:
        """Whether its schema has CEL rules. They are not evaluated, but refusals mention them."""
        return "x-kubernetes-validations" in json.dumps(self.schema)

    def ignored(self, subresource: str) -> Fields:
        """Return the fields ignored by a write."""
        if subresource:
            return self.not_by_status
        return _STATUS if self.status else {}

    def __hash__(self) -> int:
        return hash((self.group, self.plural))


def _template() -> Object:
    return {"metadata": {}, "spec": _POD_SPEC}


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
CRON_JOB = Kind(
    "batch",
    "v1",
    "CronJob",
    "cronjobs",
    status=True,
    generation=True,
    empty={
        "metadata": {},
        "spec": {"schedule": "", "jobTemplate": {"metadata": {}, "spec": {"template": _template()}}},
        "status": {},
    },
)
CONTROLLER_REVISION = Kind(
    "apps", "v1", "ControllerRevision", "controllerrevisions", empty={"metadata": {}, "revision": 0}
)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", empty={"metadata": {}})
SECRET = Kind("", "v1", "Secret", "secrets", empty={"metadata": {}})
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
PDB = Kind(
    "policy",
    "v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    status=True,
    generation=True,
    empty={
        "metadata": {},
        "spec": {},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
    },
)
NETWORK_POLICY = Kind(
    "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", generation=True, empty={"metadata": {}, "spec": {}}
)
INGRESS = Kind(
    "networking.k8s.io",
    "v1",
    "Ingress",
    "ingresses",
    status=True,
    generation=True,
    empty={"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}},
)
EVENT = Kind("events.k8s.io", "v1", "Event", "events", created_by_put=True, empty={"metadata": {}})
LEASE = Kind(
    "coordination.k8s.io",
    "v1",
    "Lease",
    "leases",
    created_by_put=True,
    conditional=True,
    empty={"metadata": {}, "spec": {}},
)
NAMESPACE = Kind(
    "",
    "v1",
    "Namespace",
    "namespaces",
    namespaced=False,
    status=True,
    empty={"metadata": {}, "spec": {}, "status": {}},
)

BUILT_IN = (
    DEPLOYMENT,
    REPLICA_SET,
    CONTROLLER_REVISION,
    POD,
    SERVICE,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
    HPA,
    PDB,
    NETWORK_POLICY,
    INGRESS,
    CRON_JOB,
    EVENT,
    LEASE,
    NAMESPACE,
)


@dataclass(frozen=True)
class Address:
    """The target of a path."""

    kind: Kind
    namespace: str | None = None
    """None: all namespaces, or a cluster-scoped kind."""
    name: str = ""
    """Empty for the collection."""
    subresource: str = ""


class Registry:
    """The built-in kinds and some custom ones, by path."""

    def __init__(self, custom_kinds: Sequence[Kind] = ()) -> None:
        self.kinds = (*custom_kinds, *BUILT_IN)
        self.group_versions: dict[str, tuple[Kind, ...]] = {}
        """The kinds by the path of their group and version."""
        for kind in self.kinds:
            self.group_versions[kind.group_path] = (*self.group_versions.get(kind.group_path, ()), kind)
        self._addresses: dict[str, Address | None] = {}

    def address(self, path: str) -> Address | None:
        """Return the address of a path; None if it is not served."""
        if path not in self._addresses:
            self._addresses[path] = self._parsed(path)
        return self._addresses[path]

    def _parsed(self, path: str) -> Address | None:
        parts = path.strip("/").split("/")
        group_path = "/" + "/".join(parts[:2] if parts[0] == "api" else parts[:3])
        kinds = {kind.plural: kind for kind in self.group_versions.get(group_path, ())}
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


_IMPLICIT: Object = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
"""Properties of every custom resource, whether declared in its schema or not."""


@cache
def custom_kinds(manifest: Path) -> tuple[Kind, ...]:
    """Return the kinds of the CustomResourceDefinitions in a YAML file, each in its storage version."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = yaml.load_all(manifest.read_text(encoding="utf-8"), Loader=loader)
    return tuple(_custom(each) for each in documents if each and each["kind"] == "CustomResourceDefinition")


def _custom(definition: Any) -> Kind:
    spec = definition["spec"]
    version = next(each for each in spec["versions"] if each["storage"])
    schema = version["schema"]["openAPIV3Schema"]
    return Kind(
        spec["group"],
        version["name"],
        spec["names"]["kind"],
        spec["names"]["plural"],
        namespaced=spec["scope"] == "Namespaced",
        status="status" in version.get("subresources", {}),
        generation=True,
        schema={**schema, "properties": {**_IMPLICIT, **schema["properties"]}},
        not_by_status={"f:metadata": {}, "f:spec": {}},
    )
