"""Typed view of the fields of a container, after the schema in `crds/webapps.yaml`."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

IntOrString = int | str


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
