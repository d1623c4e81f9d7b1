"""Kinds with references from several modules: the WebApp, its children, and related kinds."""

from coxswain.kernel.objects.grants import Grant
from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.spec import GROUP, KIND, PLURAL, VERSION

_OPERATOR = "system:serviceaccount:coxswain-system:coxswain"
"""The user of the operator, if it is installed from `manifests/overlays` unchanged."""

WEBAPP = Kind(GROUP, VERSION, KIND, PLURAL)
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", WEBAPP_LABEL)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", WEBAPP_LABEL)
SERVICE = Kind("", "v1", "Service", "services", WEBAPP_LABEL)
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", WEBAPP_LABEL)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", WEBAPP_LABEL)
CONTROLLER_REVISION = Kind("apps", "v1", "ControllerRevision", "controllerrevisions", WEBAPP_LABEL)
INGRESS = Kind("networking.k8s.io", "v1", "Ingress", "ingresses", WEBAPP_LABEL)
HTTP_ROUTE = Kind(
    "gateway.networking.k8s.io",
    "v1",
    "HTTPRoute",
    "httproutes",
    WEBAPP_LABEL,
    grant=Grant("manifests/overlays/routes", _OPERATOR, "A cluster administrator"),
)

REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", WEBAPP_LABEL)
POD = Kind("", "v1", "Pod", "pods", WEBAPP_LABEL)

SECRET = Kind(
    "",
    "v1",
    "Secret",
    "secrets",
    field_selector="type!=helm.sh/release.v1",
    metadata_only=True,
    grant=Grant("manifests/overlays/restart-on", _OPERATOR, "An admin of the namespace"),
)
"""Watched without the releases of Helm: a cluster may have thousands of them, and no pod uses one."""
REFERENCED_CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", metadata_only=True)
"""ConfigMaps of others, in `spec.restartOn`. Those of WebApps have a watch of their own."""

POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
"""Watched without a label selector: budgets of others may select the pods of a WebApp."""
HORIZONTAL_POD_AUTOSCALER = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
"""Watched without a label selector: autoscalers of others may target a WebApp or its Deployment."""
