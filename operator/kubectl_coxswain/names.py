"""Names of the operator for commands that do not render.

`coxswain.webapp` has the same ones, but takes 30 ms to import. A unit test compares them.
"""

from coxswain.kernel.objects.kinds import Kind

GROUP = "coxswain.dev"
WEBAPP_LABEL = f"{GROUP}/webapp"

WEBAPP = Kind(GROUP, "v1", "WebApp", "webapps")
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", WEBAPP_LABEL)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", WEBAPP_LABEL)
SERVICE = Kind("", "v1", "Service", "services", WEBAPP_LABEL)
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", WEBAPP_LABEL)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", WEBAPP_LABEL)
INGRESS = Kind("networking.k8s.io", "v1", "Ingress", "ingresses", WEBAPP_LABEL)
HTTP_ROUTE = Kind("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes", WEBAPP_LABEL)
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
HORIZONTAL_POD_AUTOSCALER = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", WEBAPP_LABEL)
POD = Kind("", "v1", "Pod", "pods", WEBAPP_LABEL)
CONTROLLER_REVISION = Kind("apps", "v1", "ControllerRevision", "controllerrevisions", WEBAPP_LABEL)
EVENT = Kind("", "v1", "Event", "events")
"""In the older API group, which every user with the role `view` may read."""
