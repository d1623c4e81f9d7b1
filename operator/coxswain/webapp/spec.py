"""Typed view of a WebApp, after the schema in `crds/webapps.yaml`.

Each class mirrors one object of the schema, with the same field names. A unit test compares both. The API server has
validated and defaulted all values, so they are not checked again here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NotRequired, TypedDict

from coxswain.kernel.conflicts.policy import Policies, policies
from coxswain.kernel.objects import status_fields
from coxswain.webapp.content import content_hash

GROUP = "coxswain.dev"
VERSION = "v1"
KIND = "WebApp"
PLURAL = "webapps"

IntOrString = int | str


class SecretReference(TypedDict):
    """A Secret of the same namespace, by name."""

    name: str


class Resources(TypedDict, total=False):
    """`resources` of the container; quantities."""

    requests: Mapping[str, IntOrString]
    limits: Mapping[str, IntOrString]


class Port(TypedDict):
    """A port of the container."""

    name: str
    containerPort: int
    protocol: NotRequired[str]
    appProtocol: NotRequired[str]


class KeyReference(TypedDict):
    """A key of a ConfigMap or Secret of the same namespace."""

    name: str
    key: str
    optional: NotRequired[bool]


class FieldReference(TypedDict):
    """A field of the pod."""

    fieldPath: str


class ResourceFieldReference(TypedDict):
    """A resource of the container."""

    resource: str
    divisor: NotRequired[IntOrString]


class EnvironmentSource(TypedDict, total=False):
    """Source of an environment variable: exactly one of these."""

    configMapKeyRef: KeyReference
    secretKeyRef: KeyReference
    fieldRef: FieldReference
    resourceFieldRef: ResourceFieldReference


class EnvironmentVariable(TypedDict):
    """One environment variable."""

    name: str
    value: NotRequired[str]
    valueFrom: NotRequired[EnvironmentSource]


class ObjectReference(TypedDict):
    """A whole ConfigMap or Secret of the same namespace."""

    name: str
    optional: NotRequired[bool]


class EnvironmentFrom(TypedDict, total=False):
    """All keys of a ConfigMap or Secret as environment variables."""

    prefix: str
    configMapRef: ObjectReference
    secretRef: ObjectReference


class File(TypedDict):
    """A file in the container."""

    path: str
    content: str


class HttpHeader(TypedDict):
    """A header of a probe's request."""

    name: str
    value: str


class HttpGet(TypedDict):
    """A probe by HTTP."""

    port: IntOrString
    path: NotRequired[str]
    scheme: NotRequired[str]
    httpHeaders: NotRequired[Sequence[HttpHeader]]


class TcpSocket(TypedDict):
    """A probe by TCP connection."""

    port: IntOrString


class Exec(TypedDict):
    """A probe by command."""

    command: Sequence[str]


class Grpc(TypedDict):
    """A probe by gRPC's health service."""

    port: int
    service: NotRequired[str]


class ReadinessProbe(TypedDict, total=False):
    """Readiness probe: decides whether the pod receives traffic."""

    httpGet: HttpGet
    tcpSocket: TcpSocket
    exec: Exec
    grpc: Grpc
    initialDelaySeconds: int
    periodSeconds: int
    timeoutSeconds: int
    successThreshold: int
    failureThreshold: int


class Probe(ReadinessProbe, total=False):
    """Startup or liveness probe."""

    terminationGracePeriodSeconds: int


class ServicePort(TypedDict):
    """A port of the Service."""

    name: str
    port: int
    targetPort: NotRequired[IntOrString]
    protocol: NotRequired[str]
    appProtocol: NotRequired[str]


class Service(TypedDict, total=False):
    """The Service in front of the pods."""

    annotations: Mapping[str, str]
    headless: bool
    ports: Sequence[ServicePort]
    sessionAffinity: str


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
    replicas: NotRequired[int]
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
    serviceAccount: NotRequired[ServiceAccount]
    rollout: NotRequired[Rollout]
    labels: NotRequired[Mapping[str, str]]
    annotations: NotRequired[Mapping[str, str]]
    nodeSelector: NotRequired[Mapping[str, str]]
    tolerations: NotRequired[Sequence[Toleration]]
    topologySpreadConstraints: NotRequired[Sequence[TopologySpreadConstraint]]
    priorityClassName: NotRequired[str]
    conflicts: NotRequired[Conflicts]
    paused: NotRequired[bool]


class Status(status_fields.Status, total=False):
    """`status` of a WebApp."""

    replicas: int
    readyReplicas: int
    updatedReplicas: int
    selector: str
    url: str


@dataclass(frozen=True)
class WebApp:
    """A WebApp as desired: identity, generation and spec."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: Spec

    @property
    def replicas(self) -> int:
        """Number of desired pods."""
        return self.spec.get("replicas", 1)

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
