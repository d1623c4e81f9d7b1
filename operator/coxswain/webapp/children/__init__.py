"""Children of a WebApp, one module for each kind."""

from coxswain.kernel.workload import ChildType
from coxswain.webapp.children import (
    autoscaler,
    configmap,
    deployment,
    disruption_budget,
    httproute,
    ingress,
    network_policy,
    revision,
    service,
    serviceaccount,
)
from coxswain.webapp.spec import WebApp

TYPES: tuple[ChildType[WebApp], ...] = (
    serviceaccount.TYPE,
    configmap.TYPE,
    service.TYPE,
    network_policy.TYPE,
    disruption_budget.TYPE,
    deployment.TYPE,
    autoscaler.TYPE,
    httproute.TYPE,
    ingress.TYPE,
    revision.TYPE,
)
"""Child types in write order: pods need their ServiceAccount, ConfigMap and NetworkPolicy, an autoscaler its target. Of
two equally bad healths the condition Ready reports the first one, so the Deployment comes before HTTPRoutes and
Ingress."""
