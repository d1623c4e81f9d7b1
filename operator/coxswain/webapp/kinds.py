"""The kinds of the WebApp and its children."""

from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.spec import GROUP, KIND, PLURAL, VERSION

WEBAPP = Kind(GROUP, VERSION, KIND, PLURAL)
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", WEBAPP_LABEL)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", WEBAPP_LABEL)
SERVICE = Kind("", "v1", "Service", "services", WEBAPP_LABEL)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", WEBAPP_LABEL)

CHILDREN = (SERVICE_ACCOUNT, CONFIG_MAP, SERVICE, DEPLOYMENT)

REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", WEBAPP_LABEL)
POD = Kind("", "v1", "Pod", "pods", WEBAPP_LABEL)

HORIZONTAL_POD_AUTOSCALER = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
"""Watched without a label selector: `spec.scaleTargetRef` relates it to a WebApp."""

KINDS = Kinds(
    WEBAPP,
    CHILDREN,
    related=(REPLICA_SET, POD, HORIZONTAL_POD_AUTOSCALER),
    decisive=(HORIZONTAL_POD_AUTOSCALER,),
)
"""The WebApp, its children, and related kinds: pods and ReplicaSets for diagnosis, autoscalers for replicas."""
