"""The WebApp with all kinds of its children. HTTPRoutes exist only in clusters with the Gateway API."""

from collections.abc import Iterator
from pathlib import Path

from cluster import ControlPlane
from fault_engine.objects import Object, Resource, rollout_problem
from fault_engine.workload import Children, Workload
from faults.lives import LIFE
from faults.policies import service_probe
from faults.scaled_settings import longest_retry
from faults.walk import walk
from faults.workloads import webapp_disasters, webapp_rules

ROOT = Path(__file__).parents[3]
REPLICAS_NOTE = "coxswain.dev/replicas"
"""The annotation of a Deployment whose replicas belong, or belonged, to an autoscaler."""

PARENT = Resource("coxswain.dev", "v1", "WebApp", "webapps")
SERVICE_ACCOUNT = Resource("", "v1", "ServiceAccount", "serviceaccounts")
CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps")
SERVICE = Resource("", "v1", "Service", "services")
NETWORK_POLICY = Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
DISRUPTION_BUDGET = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
INGRESS = Resource("networking.k8s.io", "v1", "Ingress", "ingresses")
HTTP_ROUTE = Resource("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes")
REVISION = Resource("apps", "v1", "ControllerRevision", "controllerrevisions")
AUTOSCALER = Resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
OTHERS = (
    Resource("apps", "v1", "ReplicaSet", "replicasets"),
    Resource("", "v1", "Pod", "pods"),
    Resource("events.k8s.io", "v1", "Event", "events"),
)


def install(cluster: ControlPlane) -> None:
    """Apply the manifests without the operator's Deployment: each run starts its own process."""
    cluster.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))


def follows(webapp: Object, deployment: Object) -> bool:
    """Tell whether a Deployment has the image of a WebApp."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    return [container["image"] for container in containers] == [webapp["spec"]["image"]]


def problem(webapp: Object, children: Children) -> str | None:
    """Return the first difference between a WebApp and its children: existence, number, image, replicas or rollout."""
    for resource, count in _expected(webapp):
        found = children[resource]
        if found is None:
            continue
        if len(found) < count:
            return f"it owns {len(found) or 'no'} {resource}" + (f" of {count}" if found else "")
        if resource == DEPLOYMENT.plural:
            return _wrong(webapp, found[0])
    return None


def _expected(webapp: Object) -> Iterator[tuple[str, int]]:
    """Yield the plural and the number of the children of each kind that the spec asks for, the Deployment last."""
    spec = webapp["spec"]
    wanted = {
        SERVICE_ACCOUNT: spec.get("serviceAccount", {}).get("create", True),
        CONFIG_MAP: bool(spec.get("config") or spec.get("files")),
        SERVICE: bool(spec.get("ports")),
        NETWORK_POLICY: _restricts(spec.get("network", {})),
        DISRUPTION_BUDGET: _asks_for_a_budget(spec.get("disruption", {})),
        AUTOSCALER: "autoscaling" in spec,
        INGRESS: "ingress" in spec,
        HTTP_ROUTE: len(spec.get("routes", [])),
        DEPLOYMENT: True,
    }
    yield from ((resource.plural, int(count)) for resource, count in wanted.items() if count)


def _restricts(network: Object) -> bool:
    return bool(network.get("defaultDeny")) or any(network.get(side) is not None for side in ("ingress", "egress"))


def _asks_for_a_budget(disruption: Object) -> bool:
    """Tell whether the spec asks for a budget. Without it, other budgets and the replicas decide."""
    limited = "minAvailable" in disruption or "maxUnavailable" in disruption
    return bool(disruption.get("enabled", limited))


def _wrong(webapp: Object, deployment: Object) -> str | None:
    spec = deployment["spec"]
    by_others = REPLICAS_NOTE in deployment["metadata"].get("annotations", {})
    wanted = spec.get("replicas", 1) if by_others else webapp["spec"].get("replicas", 1)
    if spec.get("replicas", 1) != wanted:
        return f"its Deployment's spec.replicas is {spec.get('replicas', 1)} instead of {wanted}"
    if "runningRevision" in webapp.get("status", {}):
        # Rolled back: the oracle O1 compares the pods with those of the run without faults.
        return _unfinished(deployment)
    images = [found.get("image") for found in spec["template"]["spec"]["containers"] if found.get("name") == "app"]
    if images != [webapp["spec"]["image"]]:
        return (
            f"its Deployment has the image {', '.join(map(str, images)) or 'none'} instead of {webapp['spec']['image']}"
        )
    return _unfinished(deployment)


def _unfinished(deployment: Object) -> str | None:
    incomplete = rollout_problem(deployment)
    return None if incomplete is None else f"its Deployment is not complete: {incomplete}"


def is_left(child: Object, path: tuple[str, ...]) -> bool:
    """Tell whether a field depends on the past: times and numbers of a revision, or the owner of the replicas."""
    if "revision" in child:
        return path[-1] == "f:revision" or path[:2] == ("f:metadata", "f:annotations")
    by_others = REPLICAS_NOTE in child["metadata"].get("annotations", {})
    return f"f:{REPLICAS_NOTE}" in path or (by_others and path[-1] == "f:replicas")


_NOTES = ("metadata", "annotations")
_STATUS = ("metadata", "managedFields", "coxswain Apply of status coxswain.dev/v1", "fieldsV1", "f:status")
_OWN_NOTES = ("metadata", "managedFields", "coxswain Apply apps/v1", "fieldsV1", "f:metadata", "f:annotations")
_WAS_READY = "depends on whether the WebApp was Ready before the fault"
MASKS = {
    (*_NOTES, "coxswain.dev/changed-at"): "a time",
    (*_NOTES, "coxswain.dev/ready-at"): "a time",
    (*_NOTES, "coxswain.dev/ready-revision"): "counts specs that were recorded",
    ("revision",): "counts specs that were recorded",
    ("data", "spec", "replicas"): "the count when the spec was recorded, which a later edit may have changed already",
    ("status", "revision"): "counts specs that were recorded",
    ("status", "previousRevision"): "counts specs that were recorded",
    (*_STATUS, "f:previousRevision"): "depends on whether an earlier spec was recorded",
    (*_OWN_NOTES, "f:coxswain.dev/ready-at"): _WAS_READY,
    (*_OWN_NOTES, "f:coxswain.dev/ready-revision"): _WAS_READY,
}
"""A spec that is changed again while the operator is away is not recorded."""


WEBAPP = Workload(
    name="webapp",
    parent=PARENT,
    main=DEPLOYMENT,
    child=SERVICE,
    children=(
        SERVICE_ACCOUNT,
        CONFIG_MAP,
        SERVICE,
        NETWORK_POLICY,
        DISRUPTION_BUDGET,
        DEPLOYMENT,
        AUTOSCALER,
        INGRESS,
        HTTP_ROUTE,
        REVISION,
    ),
    others=OTHERS,
    label="coxswain.dev/webapp",
    manager="coxswain",
    adopt_annotation="coxswain.dev/adopt",
    account=("coxswain-system", "coxswain"),
    agent="coxswain",
    watch_agent="coxswain-watch",
    program=("faults.launch", "--workload", "webapp"),
    crd=ROOT / "crds" / "webapps.yaml",
    role=ROOT / "manifests" / "overlays" / "cluster" / "clusterrole.yaml",
    install=install,
    life=LIFE,
    follows=follows,
    problem=problem,
    incomplete=rollout_problem,
    longest_retry=longest_retry,
    is_left=is_left,
    masks=MASKS,
    rules=(webapp_rules.no_deployment_stopped, webapp_rules.no_service_deleted),
    probe=service_probe(),
    disasters=webapp_disasters.DISASTERS,
    procedures={"walk the schema": walk},
)
