"""Typed view of `spec.service` of a WebApp, after the schema in `crds/webapps.yaml`."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

ServiceType = Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]


class ServicePort(TypedDict):
    """A port of the Service."""

    name: str
    port: int
    targetPort: NotRequired[int | str]
    protocol: NotRequired[str]
    appProtocol: NotRequired[str]
    nodePort: NotRequired[int]


class ClientIP(TypedDict):
    """Session affinity by the address of the client."""

    timeoutSeconds: int


class SessionAffinityConfig(TypedDict):
    """Settings of the session affinity."""

    clientIP: ClientIP


class Service(TypedDict, total=False):
    """The Service in front of the pods."""

    type: ServiceType
    annotations: Mapping[str, str]
    headless: bool
    ports: Sequence[ServicePort]
    sessionAffinity: str
    sessionAffinityConfig: SessionAffinityConfig
    externalName: str
    externalTrafficPolicy: Literal["Cluster", "Local"]
    internalTrafficPolicy: Literal["Cluster", "Local"]
    trafficDistribution: Literal["PreferClose", "PreferSameZone", "PreferSameNode"]
    loadBalancerClass: str
    loadBalancerSourceRanges: Sequence[str]
    ipFamilyPolicy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"]
    publishNotReadyAddresses: bool
    replace: Literal["Allowed", "Forbidden"]
