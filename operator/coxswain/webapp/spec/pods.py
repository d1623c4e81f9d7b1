"""Typed view of a WebApp's fields for pods, after the schema in `crds/webapps.yaml`."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from coxswain.webapp.spec.container import (
    EnvironmentFrom,
    EnvironmentVariable,
    IntOrString,
    Probe,
    ReadinessProbe,
    Resources,
)


class EmptyDir(TypedDict, total=False):
    """A directory of the pod, empty at its start."""

    medium: str
    sizeLimit: IntOrString


class PersistentVolumeClaim(TypedDict):
    """An existing claim of the same namespace."""

    claimName: str
    shared: NotRequired[bool]
    """Whether pods of several nodes may mount it. It has no counterpart in the pod."""


class KeyToPath(TypedDict):
    """A key of a ConfigMap or Secret as a file."""

    key: str
    path: str


class ConfigMapVolume(TypedDict):
    """The keys of a ConfigMap as files."""

    name: str
    items: NotRequired[Sequence[KeyToPath]]
    optional: NotRequired[bool]
    defaultMode: NotRequired[int]


class SecretVolume(TypedDict):
    """The keys of a Secret as files."""

    secretName: str
    items: NotRequired[Sequence[KeyToPath]]
    optional: NotRequired[bool]
    defaultMode: NotRequired[int]


class Projection(TypedDict):
    """A ConfigMap or Secret as a part of a projected volume."""

    name: str
    items: NotRequired[Sequence[KeyToPath]]
    optional: NotRequired[bool]


class ServiceAccountToken(TypedDict):
    """A token of the pod's ServiceAccount as a file."""

    path: str
    audience: NotRequired[str]
    expirationSeconds: NotRequired[int]


class ProjectedSource(TypedDict, total=False):
    """A part of a projected volume: exactly one of these."""

    configMap: Projection
    secret: Projection
    serviceAccountToken: ServiceAccountToken


class ProjectedVolume(TypedDict):
    """Several sources in one directory."""

    sources: Sequence[ProjectedSource]
    defaultMode: NotRequired[int]


class EphemeralVolume(TypedDict):
    """A claim of each pod, created and deleted with it."""

    storage: IntOrString
    storageClassName: NotRequired[str]
    accessMode: NotRequired[str]


class Volume(TypedDict):
    """A volume of the pod: exactly one of the last six."""

    name: str
    mountPath: NotRequired[str]
    readOnly: NotRequired[bool]
    subPath: NotRequired[str]
    emptyDir: NotRequired[EmptyDir]
    persistentVolumeClaim: NotRequired[PersistentVolumeClaim]
    configMap: NotRequired[ConfigMapVolume]
    secret: NotRequired[SecretVolume]
    projected: NotRequired[ProjectedVolume]
    ephemeral: NotRequired[EphemeralVolume]


class VolumeMount(TypedDict):
    """The mount of a volume into an init container or a sidecar."""

    name: str
    mountPath: str
    readOnly: NotRequired[bool]
    subPath: NotRequired[str]


class InitContainer(TypedDict):
    """A container that ends before the main container starts."""

    name: str
    image: str
    imagePullPolicy: NotRequired[str]
    command: NotRequired[Sequence[str]]
    args: NotRequired[Sequence[str]]
    resources: NotRequired[Resources]
    runAsUser: NotRequired[int]
    readOnlyRootFilesystem: NotRequired[bool]
    env: NotRequired[Sequence[EnvironmentVariable]]
    envFrom: NotRequired[Sequence[EnvironmentFrom]]
    useConfig: NotRequired[bool]
    volumeMounts: NotRequired[Sequence[VolumeMount]]


class SidecarPort(TypedDict):
    """A port of a sidecar."""

    name: str
    containerPort: int
    protocol: NotRequired[str]


class Sidecar(InitContainer):
    """A container beside the main one: it starts before it and ends after it."""

    afterInitContainers: NotRequired[bool]
    ports: NotRequired[Sequence[SidecarPort]]
    startupProbe: NotRequired[Probe]
    readinessProbe: NotRequired[ReadinessProbe]
    livenessProbe: NotRequired[Probe]


class SelectorRequirement(TypedDict):
    """A condition on a label."""

    key: str
    operator: str
    values: NotRequired[Sequence[str]]


class NodeSelectorTerm(TypedDict):
    """Conditions on the labels of a node. All must hold."""

    matchExpressions: Sequence[SelectorRequirement]


class NodeSelector(TypedDict):
    """Terms of which one must hold."""

    nodeSelectorTerms: Sequence[NodeSelectorTerm]


class PreferredNode(TypedDict):
    """A preference for nodes."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(TypedDict, total=False):
    """Nodes for the pods."""

    requiredDuringSchedulingIgnoredDuringExecution: NodeSelector
    preferredDuringSchedulingIgnoredDuringExecution: Sequence[PreferredNode]


class LabelSelector(TypedDict, total=False):
    """Labels of objects."""

    matchLabels: Mapping[str, str]
    matchExpressions: Sequence[SelectorRequirement]


class PodAffinityTerm(TypedDict):
    """Pods, and the domain of nodes to share with them or to avoid."""

    topologyKey: str
    labelSelector: NotRequired[LabelSelector]
    namespaces: NotRequired[Sequence[str]]
    namespaceSelector: NotRequired[LabelSelector]
    matchLabelKeys: NotRequired[Sequence[str]]


class PreferredPods(TypedDict):
    """A preference for or against the neighbourhood of pods."""

    weight: int
    podAffinityTerm: PodAffinityTerm


class PodAffinity(TypedDict, total=False):
    """Pods to run near, or apart from."""

    requiredDuringSchedulingIgnoredDuringExecution: Sequence[PodAffinityTerm]
    preferredDuringSchedulingIgnoredDuringExecution: Sequence[PreferredPods]


class Affinity(TypedDict, total=False):
    """Where the pods run, relative to nodes and to other pods."""

    nodeAffinity: NodeAffinity
    podAffinity: PodAffinity
    podAntiAffinity: PodAffinity


class HostAlias(TypedDict):
    """Names of an address in the pods' /etc/hosts."""

    ip: str
    hostnames: Sequence[str]


class DnsOption(TypedDict):
    """An option of the resolver."""

    name: str
    value: NotRequired[str]


class DnsConfig(TypedDict, total=False):
    """The resolver of the pods, besides that of the dnsPolicy."""

    nameservers: Sequence[str]
    searches: Sequence[str]
    options: Sequence[DnsOption]
