"""Typed view of `spec.network`."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict


class NetworkPort(TypedDict):
    """A port of allowed traffic."""

    port: int | str
    protocol: NotRequired[str]


class WebAppPeer(TypedDict):
    """The pods of a WebApp, by default of the same namespace."""

    name: str
    namespace: NotRequired[str]


CidrRange = TypedDict("CidrRange", {"cidr": str, "except": NotRequired[Sequence[str]]})
"""A range of addresses without some parts of it."""


class Peers(TypedDict, total=False):
    """The other side of allowed traffic: any of these."""

    sameNamespace: bool
    namespaces: Sequence[str]
    webapps: Sequence[WebAppPeer]
    cidrs: Sequence[CidrRange]


IngressRule = TypedDict("IngressRule", {"from": Peers, "ports": Sequence[NetworkPort]}, total=False)
"""Allowed traffic to the pods."""


class EgressRule(TypedDict, total=False):
    """Allowed traffic from the pods."""

    to: Peers
    ports: Sequence[NetworkPort]


class Network(TypedDict, total=False):
    """The allowed traffic of the pods."""

    defaultDeny: bool
    ingress: Sequence[IngressRule]
    egress: Sequence[EgressRule]
