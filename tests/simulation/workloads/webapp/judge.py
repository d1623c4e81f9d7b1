"""Compares WebApps with their children and their status."""

from collections.abc import Iterator

from model_cluster.objects import Object, is_rolled_out, is_terminating, place
from simulation.judge import (
    Gap,
    Objects,
    child_gaps,
    condition,
    different,
    generation_gaps,
    is_applied_by,
    is_child,
    is_unusable,
    ready_gaps,
)
from simulation.workloads.webapp.judge_of_pods import pod_gaps
from simulation.workloads.webapp.judge_of_restarts import restart_gaps
from simulation.workloads.webapp.judge_of_revisions import (
    REVISIONS,
    is_rolled_back,
    needed_config,
    needs_account,
    revision_gaps,
    running,
)
from simulation.workloads.webapp.judge_of_routes import (
    INGRESSES,
    MANAGER,
    ROUTES,
    ingress_gaps,
    route_gaps,
    routed_children,
    routes,
    unaccepted,
    unserved,
)
from simulation.workloads.webapp.judge_of_services import has_service, service_gaps, service_ports

CHILDREN = (
    "serviceaccounts",
    "configmaps",
    "services",
    "networkpolicies",
    "poddisruptionbudgets",
    "horizontalpodautoscalers",
    ROUTES,
    INGRESSES,
    REVISIONS,
    "deployments",
)
LABEL = "coxswain.dev/webapp"
REPLICAS_NOTE = "coxswain.dev/replicas"


def standard_labels(name: str) -> dict[str, str]:
    """Return the labels of every child."""
    return {
        LABEL: name,
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": MANAGER,
    }


def autoscaler(webapp: Object, objects: Objects) -> Object | None:
    """Return the autoscaler that targets a WebApp's Deployment."""
    namespace, name = place(webapp)
    for (where, _), found in objects["horizontalpodautoscalers"].items():
        target = found["spec"]["scaleTargetRef"]
        if where == namespace and (target.get("kind"), target.get("name")) == ("Deployment", name):
            return found
    return None


def others_autoscaler(webapp: Object, objects: Objects) -> bool:
    """Tell whether an autoscaler of somebody else targets the Deployment of a WebApp."""
    without = {
        where: thing for where, thing in objects["horizontalpodautoscalers"].items() if not is_child(thing, webapp)
    }
    return autoscaler(webapp, {"horizontalpodautoscalers": without}) is not None


def gaps(webapp: Object, objects: Objects) -> list[Gap]:
    """Return the differences between a WebApp and its children."""
    if webapp["spec"].get("paused"):
        return []
    written, webapp = webapp, running(webapp, objects)
    found = [*_deployment(webapp, objects), *_config(webapp, objects)]
    found += [*_service(webapp, objects), *_account(webapp, objects)]
    found += [*_policy(webapp, objects), *_budget(webapp, objects), *_scaler(webapp, objects)]
    found += [*_routed(webapp, objects), *revision_gaps(written, objects, standard_labels(place(webapp)[1]))]
    if not found:
        found += _leftovers(webapp, objects)
    return found


def status_gaps(webapp: Object, objects: Objects, children: list[Gap]) -> list[Gap]:
    """Return the differences between the children of a WebApp and its status."""
    behind = generation_gaps("webapps", webapp)
    if behind or webapp["spec"].get("paused"):
        return behind
    found = ready_gaps("webapps", webapp, objects, children, unready(webapp, objects))
    name, status = webapp["metadata"]["name"], webapp.get("status", {})
    reported, rolled_back = condition(webapp, "RolledBack"), is_rolled_back(webapp, objects)
    if (reported == "True") != rolled_back:
        found.append(Gap("webapps", name, "RolledBack", str(rolled_back), reported, of_status=True))
    deployment = objects["deployments"].get(place(webapp))
    if deployment is not None and is_child(deployment, webapp):
        for count in ("replicas", "readyReplicas", "updatedReplicas"):
            wanted, reported = deployment.get("status", {}).get(count, 0), status.get(count, 0)
            if wanted != reported:
                found.append(Gap("webapps", name, count, str(wanted), str(reported), of_status=True))
    return found


def unready(webapp: Object, objects: Objects) -> str:
    """Return the reason why a WebApp is not ready although its children are as desired; empty if it is."""
    if is_rolled_back(webapp, objects):
        return "it is rolled back"
    deployment = objects["deployments"].get(place(webapp))
    if "autoscaling" in webapp["spec"] and others_autoscaler(webapp, objects):
        return "another autoscaler targets its Deployment"
    complete = deployment is not None and is_rolled_out(deployment)
    return unaccepted(webapp, objects) if complete else "the rollout is not complete"


def _common(webapp: Object, plural: str, thing: Object | None, name: str) -> Iterator[Gap]:
    labels = {**webapp["spec"].get("labels", {}), **standard_labels(place(webapp)[1])}
    return child_gaps(webapp, plural, thing, name, labels)


def _account(webapp: Object, objects: Objects) -> Iterator[Gap]:
    if webapp["spec"].get("serviceAccount", {}).get("create", True):
        yield from _common(webapp, "serviceaccounts", objects["serviceaccounts"].get(place(webapp)), place(webapp)[1])


def _service(webapp: Object, objects: Objects) -> Iterator[Gap]:
    if has_service(webapp):
        name = place(webapp)[1]
        common = _common(webapp, "services", objects["services"].get(place(webapp)), name)
        yield from service_gaps(webapp, objects, {LABEL: name}, list(common))


def _routed(webapp: Object, objects: Objects) -> Iterator[Gap]:
    if not webapp["spec"].get("routes") and not webapp["spec"].get("ingress"):
        return
    yield from unserved(webapp, objects)
    namespace, name = place(webapp)
    port = next(iter(service_ports(webapp).values()), 0)
    for route in routes(webapp) if ROUTES in objects else ():
        common = _common(webapp, ROUTES, objects[ROUTES].get((namespace, route)), route)
        yield from route_gaps(webapp, objects, route, list(common), port)
    if webapp["spec"].get("ingress") and INGRESSES in objects:
        common = _common(webapp, INGRESSES, objects[INGRESSES].get((namespace, name)), name)
        yield from ingress_gaps(webapp, objects, list(common))


def _scaler(webapp: Object, objects: Objects) -> Iterator[Gap]:
    most = (webapp["spec"].get("autoscaling") or {}).get("maxReplicas")
    if most is None or others_autoscaler(webapp, objects):
        return
    name, live = place(webapp)[1], objects["horizontalpodautoscalers"].get(place(webapp))
    found = list(_common(webapp, "horizontalpodautoscalers", live, name))
    yield from found
    if live is not None and not is_unusable(found):
        yield from different("horizontalpodautoscalers", name, "range", {"maxReplicas": most}, live["spec"])


def _policy(webapp: Object, objects: Objects) -> Iterator[Gap]:
    name, wanted = place(webapp)[1], policy_types(webapp)
    if not wanted:
        return
    live = objects["networkpolicies"].get(place(webapp))
    found = list(_common(webapp, "networkpolicies", live, name))
    yield from found
    if live is not None and not is_unusable(found):
        yield from different("networkpolicies", name, "types", {"": wanted}, {"": live["spec"].get("policyTypes")})


def policy_types(webapp: Object) -> list[str]:
    """Return the directions that the NetworkPolicy restricts; none without one."""
    network = webapp["spec"].get("network") or {}
    return [way.capitalize() for way in ("ingress", "egress") if network.get("defaultDeny") or way in network]


def _budget(webapp: Object, objects: Objects) -> Iterator[Gap]:
    if not has_budget(webapp, objects):
        return
    name, live = place(webapp)[1], objects["poddisruptionbudgets"].get(place(webapp))
    found = list(_common(webapp, "poddisruptionbudgets", live, name))
    yield from found
    if live is not None and not is_unusable(found):
        wanted = {"maxUnavailable": (webapp["spec"].get("disruption") or {}).get("maxUnavailable", 1)}
        yield from different("poddisruptionbudgets", name, "limit", wanted, live["spec"])


def has_budget(webapp: Object, objects: Objects) -> bool | None:
    """Tell whether a WebApp has a PodDisruptionBudget; None if that depends on what others made before."""
    wanted = webapp["spec"].get("disruption") or {}
    enabled: bool | None = wanted.get("enabled")
    if enabled is not None:
        return enabled
    if "minAvailable" in wanted or "maxUnavailable" in wanted:
        return True
    if place(webapp) in objects["poddisruptionbudgets"]:
        present = objects["poddisruptionbudgets"][place(webapp)]
        if not is_child(present, webapp):
            return None
    deployment = objects["deployments"].get(place(webapp))
    if deployment is not None:
        note = (deployment["metadata"].get("annotations") or {}).get(REPLICAS_NOTE)
        if note is not None or deployment["spec"]["selector"].get("matchLabels") != {LABEL: place(webapp)[1]}:
            return None
    if "autoscaling" in webapp["spec"]:
        return bool(webapp["spec"]["autoscaling"]["maxReplicas"] > 1)
    return webapp["spec"].get("replicas", 1) > 1 or autoscaler(webapp, objects) is not None


def _deployment(webapp: Object, objects: Objects) -> Iterator[Gap]:
    name, live = place(webapp)[1], objects["deployments"].get(place(webapp))
    found = list(_common(webapp, "deployments", live, name))
    yield from found
    if live is None or is_unusable(found):
        return
    template = live["spec"]["template"]
    labels = {**webapp["spec"].get("labels", {}), **standard_labels(name)}
    yield from different("deployments", name, "pod label", labels, template["metadata"].get("labels") or {})
    container: Object = next((each for each in template["spec"]["containers"] if each["name"] == "app"), {})
    if container.get("image") != webapp["spec"]["image"]:
        yield Gap("deployments", name, "image", webapp["spec"]["image"], str(container.get("image")))
    yield from pod_gaps(webapp, live)
    yield from restart_gaps(webapp, live, objects)
    yield from _replicas(webapp, live, objects)


def _replicas(webapp: Object, live: Object, objects: Objects) -> Iterator[Gap]:
    if "autoscaling" in webapp["spec"] or autoscaler(webapp, objects) is not None:
        return
    wanted, found = webapp["spec"].get("replicas", 1), live["spec"].get("replicas", 1)
    note = (live["metadata"].get("annotations") or {}).get(REPLICAS_NOTE)
    if wanted != found and note != f"kept={found},spec={wanted}":
        yield Gap("deployments", place(webapp)[1], "replicas", str(wanted), f"{found} with note {note}")


def _config(webapp: Object, objects: Objects) -> Iterator[Gap]:
    namespace, name = place(webapp)
    deployment, config = objects["deployments"].get((namespace, name)), webapp["spec"].get("config", {})
    if deployment is None or is_terminating(deployment) or not is_child(deployment, webapp):
        return
    found = referred(deployment)
    yield from different("deployments", name, "config", dict.fromkeys(config, True), dict.fromkeys(found, True))
    for key in found:
        if key not in config:
            yield Gap("deployments", name, f"config {key}", "none", found[key])
    for source in sorted(set(found.values())):
        live = objects["configmaps"].get((namespace, source))
        yield from _common(webapp, "configmaps", live, source)
        if live is not None and config and (live.get("data") or {}) != config:
            # Another name is wanted: the Deployment is out of date, or else the content was changed.
            yield Gap("deployments", name, "config data", str(config), str(live.get("data")), also=("configmaps",))


def lacks_config(webapp: Object, objects: Objects) -> bool:
    """Return whether no ConfigMap of a WebApp has the content from its spec."""
    config, namespace = webapp["spec"].get("config", {}), place(webapp)[0]
    maps = [thing for (where, _), thing in objects["configmaps"].items() if where == namespace]
    return bool(config) and not any(is_child(thing, webapp) and thing.get("data") == config for thing in maps)


def referred(deployment: Object) -> dict[str, str]:
    """Return the ConfigMap of each variable of a Deployment's container."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    container: Object = next((each for each in containers if each["name"] == "app"), {})
    found = {}
    for variable in container.get("env") or ():
        source = (variable.get("valueFrom") or {}).get("configMapKeyRef")
        if source:
            found[variable["name"]] = source["name"]
    return found


def _leftovers(webapp: Object, objects: Objects) -> Iterator[Gap]:
    """Yield children that are no longer wanted, once the Deployment is rolled out."""
    namespace, name = place(webapp)
    deployment = objects["deployments"].get((namespace, name))
    if deployment is None or not is_rolled_out(deployment):
        return
    kept = routed_children(webapp) | {("configmaps", source) for source in referred(deployment).values()}
    kept |= {("services", name)} if has_service(webapp) else set()
    kept |= {("serviceaccounts", name)} if needs_account(webapp, objects) else set()
    kept |= {("horizontalpodautoscalers", name)} if "autoscaling" in webapp["spec"] else set()
    kept |= {("networkpolicies", name)} if policy_types(webapp) else set()
    kept |= {("poddisruptionbudgets", name)} if has_budget(webapp, objects) is not False else set()
    config = needed_config(webapp, objects)
    kept |= {("configmaps", what) for (_, what), each in objects["configmaps"].items() if each.get("data") in config}
    for plural in CHILDREN[:-2]:
        for (where, what), thing in objects.get(plural, {}).items():
            if where != namespace or (plural, what) in kept or is_terminating(thing):
                continue
            labelled = (thing["metadata"].get("labels") or {}).get(LABEL) == name
            if labelled and is_child(thing, webapp) and is_applied_by(thing, MANAGER):
                yield Gap(plural, what, "leftover", "gone", "there")
