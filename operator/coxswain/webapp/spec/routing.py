"""Typed view of `spec.routes` and `spec.ingress`, after the schema in `crds/webapps.yaml`."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict


class ParentReference(TypedDict):
    """A Gateway, or one of its listeners."""

    name: str
    namespace: NotRequired[str]
    sectionName: NotRequired[str]
    port: NotRequired[int]


class PathMatch(TypedDict):
    """Match of the path of a request."""

    type: NotRequired[Literal["PathPrefix", "Exact", "RegularExpression"]]
    value: str


class HeaderMatch(TypedDict):
    """Match of a header of a request."""

    type: NotRequired[Literal["Exact", "RegularExpression"]]
    name: str
    value: str


class RouteTimeouts(TypedDict, total=False):
    """Timeouts of a request through the Gateway."""

    request: str
    backendRequest: str


class RouteRule(TypedDict, total=False):
    """Requests that lead to one port of the Service."""

    path: PathMatch
    method: str
    headers: Sequence[HeaderMatch]
    timeouts: RouteTimeouts
    port: str


class Route(TypedDict):
    """An HTTPRoute."""

    name: NotRequired[str]
    hostnames: NotRequired[Sequence[str]]
    parentRefs: Sequence[ParentReference]
    rules: NotRequired[Sequence[RouteRule]]


class IngressPath(TypedDict):
    """Requests of one host that lead to one port of the Service."""

    path: str
    pathType: NotRequired[Literal["Prefix", "Exact", "ImplementationSpecific"]]
    port: NotRequired[str]


class IngressHost(TypedDict):
    """A host of the Ingress."""

    host: str
    paths: NotRequired[Sequence[IngressPath]]


class IngressTls(TypedDict, total=False):
    """A certificate of the Ingress."""

    hosts: Sequence[str]
    secretName: str


class Ingress(TypedDict):
    """The Ingress."""

    className: NotRequired[str]
    annotations: NotRequired[Mapping[str, str]]
    hosts: Sequence[IngressHost]
    tls: NotRequired[Sequence[IngressTls]]
