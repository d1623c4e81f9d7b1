"""Typed view of a WebApp, after the schema in `crds/webapps.yaml`.

Each class mirrors one object of the schema, with the same field names. A unit test compares both. The API server has
validated and defaulted all values, so they are not checked again here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NotRequired, TypedDict

from coxswain.kernel.conflicts.policy import Policies, policies
from coxswain.kernel.objects import status_fields
from coxswain.webapp.content import content_hash, spec_hash
from coxswain.webapp.releases.render import Rendering, newest, rendering
from coxswain.webapp.spec.container import (
    EnvironmentFrom,
    EnvironmentVariable,
    File,
    IntOrString,
    Port,
    Probe,
    ReadinessProbe,
    Resources,
)
from coxswain.webapp.spec.network import Network
from coxswain.webapp.spec.pods import Affinity, DnsConfig, HostAlias, InitContainer, Sidecar, Volume
from coxswain.webapp.spec.routing import Ingress, Route
from coxswain.webapp.spec.scaling import Autoscaling, Disruption
from coxswain.webapp.spec.service import Service

GROUP = "coxswain.dev"
VERSION = "v1"
KIND = "WebApp"
PLURAL = "webapps"


class SecretReference(TypedDict):
    """A Secret of the same namespace, by name."""

    name: str


class ServiceAccount(TypedDict, total=False):
    """The identity of the pods."""

    create: bool
    name: str
    annotations: Mapping[str, str]
    automountServiceAccountToken: bool


class Rollout(TypedDict, total=False):
    """Rollout strategy of the Deployment."""

    strategy: Literal["RollingUpdate", "Recreate"]
    maxSurge: IntOrString
    maxUnavailable: IntOrString
    progressDeadlineSeconds: int
    revisionHistoryLimit: int
    minReadySeconds: int
    onFailure: Literal["Hold", "Rollback"]


class Toleration(TypedDict, total=False):
    """A toleration of the pods."""

    key: str
    operator: str
    value: str
    effect: str
    tolerationSeconds: int


class TopologySpreadConstraint(TypedDict):
    """A topology spread constraint. The operator sets its labelSelector."""

    maxSkew: int
    topologyKey: str
    whenUnsatisfiable: str
    minDomains: NotRequired[int]
    nodeAffinityPolicy: NotRequired[str]
    nodeTaintsPolicy: NotRequired[str]
    matchLabelKeys: NotRequired[Sequence[str]]


class RestartOn(TypedDict, total=False):
    """Objects of others whose change of data restarts the pods."""

    secrets: Sequence[str]
    configMaps: Sequence[str]


class ConflictRule(TypedDict):
    """Conflict policy for a field of the children of one kind and for all fields below it."""

    kind: str
    path: str
    policy: Literal["Enforce", "Yield", "Halt"]


class Conflicts(TypedDict, total=False):
    """Conflict policies for fields owned by other managers."""

    policy: Literal["Enforce", "Yield", "Halt"]
    rules: Sequence[ConflictRule]


class Spec(TypedDict):
    """`spec` of a WebApp."""

    image: str
    imagePullPolicy: NotRequired[str]
    imagePullSecrets: NotRequired[Sequence[SecretReference]]
    command: NotRequired[Sequence[str]]
    args: NotRequired[Sequence[str]]
    workingDir: NotRequired[str]
    resources: NotRequired[Resources]
    runAsUser: NotRequired[int]
    fsGroup: NotRequired[int]
    readOnlyRootFilesystem: NotRequired[bool]
    writablePaths: NotRequired[Sequence[str]]
    volumes: NotRequired[Sequence[Volume]]
    initContainers: NotRequired[Sequence[InitContainer]]
    sidecars: NotRequired[Sequence[Sidecar]]
    replicas: NotRequired[int]
    autoscaling: NotRequired[Autoscaling]
    disruption: NotRequired[Disruption]
    network: NotRequired[Network]
    ports: NotRequired[Sequence[Port]]
    env: NotRequired[Sequence[EnvironmentVariable]]
    envFrom: NotRequired[Sequence[EnvironmentFrom]]
    config: NotRequired[Mapping[str, str]]
    files: NotRequired[Sequence[File]]
    startupProbe: NotRequired[Probe]
    readinessProbe: NotRequired[ReadinessProbe]
    livenessProbe: NotRequired[Probe]
    terminationGracePeriodSeconds: NotRequired[int]
    service: NotRequired[Service]
    routes: NotRequired[Sequence[Route]]
    ingress: NotRequired[Ingress]
    serviceAccount: NotRequired[ServiceAccount]
    rollout: NotRequired[Rollout]
    restartOn: NotRequired[RestartOn]
    labels: NotRequired[Mapping[str, str]]
    annotations: NotRequired[Mapping[str, str]]
    nodeSelector: NotRequired[Mapping[str, str]]
    tolerations: NotRequired[Sequence[Toleration]]
    topologySpreadConstraints: NotRequired[Sequence[TopologySpreadConstraint]]
    priorityClassName: NotRequired[str]
    affinity: NotRequired[Affinity]
    schedulerName: NotRequired[str]
    runtimeClassName: NotRequired[str]
    hostAliases: NotRequired[Sequence[HostAlias]]
    dnsPolicy: NotRequired[str]
    dnsConfig: NotRequired[DnsConfig]
    shareProcessNamespace: NotRequired[bool]
    conflicts: NotRequired[Conflicts]
    paused: NotRequired[bool]


class Status(status_fields.Status, total=False):
    """`status` of a WebApp."""

    replicas: int
    readyReplicas: int
    updatedReplicas: int
    selector: str
    revision: int
    previousRevision: int
    runningRevision: int
    url: str
    urls: Sequence[str]


@dataclass(frozen=True)
class Change:
    """The last change of a spec."""

    by: str = ""
    """The field manager."""
    at: str = ""
    """The time, as RFC 3339."""
    cause: str = ""
    """The reason that the user gave."""


@dataclass(frozen=True)
class Rollback:
    """A rollback in force: the rollout of the written spec failed, and an earlier revision runs."""

    written: Spec
    """The spec of the WebApp."""
    failed: int
    """Number of its revision."""
    cause: str
    """Why its rollout failed."""
    running: int
    """Number of the revision that runs."""


@dataclass(frozen=True)
class WebApp:
    """A WebApp as desired: identity, generation and spec."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: Spec
    """The spec that runs."""
    change: Change = Change()
    rollback: Rollback | None = None
    render: str = field(default_factory=newest)
    """The version of the rules that render it. This operator may not know it."""
    asks_for_newest_render: bool = False

    @property
    def defaults(self) -> Rendering:
        """What the spec leaves open."""
        return rendering(self.render)

    @property
    def written(self) -> Spec:
        """The spec as the user wrote it. Another one may run."""
        return self.spec if self.rollback is None else self.rollback.written

    @property
    def replicas(self) -> int:
        """Number of desired pods."""
        return self.spec.get("replicas", 1)

    @cached_property
    def spec_hash(self) -> str:
        """Hash of the written spec, computed once."""
        return spec_hash(self.written)

    @cached_property
    def content_hash(self) -> str:
        """Hash of `config` and `files`, computed once."""
        return content_hash(self.spec)

    @cached_property
    def policies(self) -> Policies:
        """Conflict policies for fields of other managers, parsed once."""
        return policies(self.spec.get("conflicts", {}))

    @property
    def paused(self) -> bool:
        """Whether the operator may write only the status."""
        return self.spec.get("paused", False)
