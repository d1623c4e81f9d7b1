"""Kinds with references from several modules: the WebApp, its children, and related kinds."""

from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.spec import GROUP, KIND, PLURAL, VERSION

WEBAPP = Kind(GROUP, VERSION, KIND, PLURAL)
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", WEBAPP_LABEL)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", WEBAPP_LABEL)
SERVICE = Kind("", "v1", "Service", "services", WEBAPP_LABEL)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", WEBAPP_LABEL)

REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", WEBAPP_LABEL)
POD = Kind("", "v1", "Pod", "pods", WEBAPP_LABEL)

HORIZONTAL_POD_AUTOSCALER = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
"""Watched without a label selector: `spec.scaleTargetRef` relates it to a WebApp."""
