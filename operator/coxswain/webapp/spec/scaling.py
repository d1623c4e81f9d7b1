"""Typed view of `spec.autoscaling` and `spec.disruption`."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from coxswain.webapp.spec.container import IntOrString


class Disruption(TypedDict, total=False):
    """The disruption budget of the pods."""

    enabled: bool
    minAvailable: IntOrString
    maxUnavailable: IntOrString
    unhealthyPodEvictionPolicy: Literal["AlwaysAllow", "IfHealthyBudget"]


class ResourceTarget(TypedDict, total=False):
    """The target of a resource: exactly one of these."""

    averageUtilization: int
    averageValue: IntOrString


class PodsTarget(TypedDict, total=False):
    """The target of a metric of each pod."""

    averageValue: IntOrString


class MetricTarget(TypedDict, total=False):
    """The target of another metric: exactly one of these."""

    averageValue: IntOrString
    value: IntOrString


class MetricSelector(TypedDict):
    """Selects the series of a metric."""

    matchLabels: Mapping[str, str]


class MetricIdentifier(TypedDict):
    """A metric of the custom or external metrics API."""

    name: str
    selector: NotRequired[MetricSelector]


class ResourceMetric(TypedDict):
    """A resource of the pods."""

    name: str
    target: ResourceTarget


class ContainerResourceMetric(TypedDict):
    """A resource of one container of the pods."""

    name: str
    container: str
    target: ResourceTarget


class PodsMetric(TypedDict):
    """A metric of each pod."""

    metric: MetricIdentifier
    target: PodsTarget


class DescribedObject(TypedDict):
    """An object of the same namespace."""

    apiVersion: str
    kind: str
    name: str


class ObjectMetric(TypedDict):
    """A metric of another object."""

    describedObject: DescribedObject
    metric: MetricIdentifier
    target: MetricTarget


class ExternalMetric(TypedDict):
    """A metric from outside of the cluster."""

    metric: MetricIdentifier
    target: MetricTarget


class Metric(TypedDict, total=False):
    """A metric to scale by: exactly one of these."""

    resource: ResourceMetric
    containerResource: ContainerResourceMetric
    pods: PodsMetric
    object: ObjectMetric
    external: ExternalMetric


class ScalingPolicy(TypedDict):
    """A limit for the change of the count in a period."""

    type: Literal["Pods", "Percent"]
    value: int
    periodSeconds: int


class ScalingRules(TypedDict, total=False):
    """The rules for one direction of scaling."""

    stabilizationWindowSeconds: int
    selectPolicy: Literal["Max", "Min", "Disabled"]
    policies: Sequence[ScalingPolicy]


class ScalingBehavior(TypedDict, total=False):
    """The rules for both directions of scaling."""

    scaleUp: ScalingRules
    scaleDown: ScalingRules


class Autoscaling(TypedDict):
    """The autoscaler of the pods."""

    maxReplicas: int
    minReplicas: NotRequired[int]
    cpu: NotRequired[int]
    memory: NotRequired[int]
    metrics: NotRequired[Sequence[Metric]]
    behavior: NotRequired[ScalingBehavior]
