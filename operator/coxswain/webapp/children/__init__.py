"""The children of a WebApp, one file a kind."""

from coxswain.kernel.workload import ChildType
from coxswain.webapp.children import configmap, deployment, service, serviceaccount
from coxswain.webapp.spec import WebApp

TYPES: tuple[ChildType[WebApp], ...] = (serviceaccount.TYPE, configmap.TYPE, service.TYPE, deployment.TYPE)
"""In the order in which they are written: pods need their ServiceAccount and ConfigMap."""
