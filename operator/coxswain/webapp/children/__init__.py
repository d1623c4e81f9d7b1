"""Children of a WebApp, one module for each kind."""

from coxswain.kernel.workload import ChildType
from coxswain.webapp.children import configmap, deployment, service, serviceaccount
from coxswain.webapp.spec import WebApp

TYPES: tuple[ChildType[WebApp], ...] = (serviceaccount.TYPE, configmap.TYPE, service.TYPE, deployment.TYPE)
"""Child types in write order: pods need their ServiceAccount and ConfigMap."""
