"""What a WebApp's children and status should be, judged from plain objects: nothing here is the operator's code.

A few fields of each child stand for all: those that the scripts change and that others write to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simulation.cluster import CHILDREN, KIND_OF, Object, Place, place

LABEL = "coxswain.dev/webapp"
ADOPT = "coxswain.dev/adopt"
REPLICAS_NOTE = "coxswain.dev/replicas"
MANAGER = "coxswain"

Objects = Mapping[str, Mapping[Place, Object]]


@dataclass(frozen=True)
class Gap:
    """One place where the cluster is not as a WebApp says, or its status not as the cluster is."""

    plural: str
    """Of the child; "webapps" for the status."""
    name: str
    field: str
    wanted: str
    found: str

    @property
    def of_status(self) -> bool:
        """Whether the status is what is wrong."""
        return self.plural == "webapps"

    def __str__(self) -> str:
        return f"{self.plural}/{self.name} {self.field}: wanted {self.wanted}, found {self.found}"


def standard_labels(name: str) -> dict[str, str]:
    """Return the labels that each child has."""
    return {
        LABEL: name,
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": MANAGER,
    }


def is_going(thing: Object | None) -> bool:
    """Tell whether an object is gone or about to go."""
    return thing is None or "deletionTimestamp" in thing["metadata"]


def controller(thing: Object) -> Mapping[str, Any]:
    """Return the owner reference that says controller."""
    references = thing["metadata"].get("ownerReferences") or ()
    return next((found for found in references if found.get("controller")), {})


def is_child(thing: Object | None, webapp: Object) -> bool:
    """Tell whether an object is controlled by a WebApp."""
    return thing is not None and controller(thing).get("uid") == webapp["metadata"]["uid"]


def applied_by_us(thing: Object) -> bool:
    """Tell whether the operator has applied an object."""
    return any(
        (entry.get("manager"), entry.get("operation")) == (MANAGER, "Apply")
        for entry in thing["metadata"].get("managedFields") or ()
    )


def autoscaler(webapp: Object, objects: Objects) -> Object | None:
    """Return the autoscaler that targets the Deployment of a WebApp."""
    namespace, name = place(webapp)
    for (where, _), found in objects["horizontalpodautoscalers"].items():
        target = found["spec"]["scaleTargetRef"]
        if where == namespace and (target.get("kind"), target.get("name")) == ("Deployment", name):
            return found
    return None


def gaps(webapp: Object, objects: Objects) -> list[Gap]:
    """Return where children are not as a WebApp says."""
    if webapp["spec"].get("paused"):
        return []
    found = [*_deployment(webapp, objects), *_config(webapp, objects)]
    found += [*_service(webapp, objects), *_account(webapp, objects)]
    if not found:
        found += _leftovers(webapp, objects)
    return found


def status_gaps(webapp: Object, objects: Objects, children: list[Gap]) -> list[Gap]:
    """Return where the status of a WebApp is not as its children are."""
    name = webapp["metadata"]["name"]
    status, generation = webapp.get("status", {}), webapp["metadata"].get("generation")
    if status.get("observedGeneration") != generation:
        return [Gap("webapps", name, "observedGeneration", str(generation), str(status.get("observedGeneration")))]
    if webapp["spec"].get("paused"):
        return []
    deployment = objects["deployments"].get(place(webapp))
    complete = deployment is not None and is_complete(deployment)
    ready = condition(webapp, "Ready")
    found = []
    blocking = [gap for gap in children if gap.field != "leftover"]
    if ready == "True" and (blocking or not complete):
        why = str(blocking[0]) if blocking else "the rollout is not complete"
        found.append(Gap("webapps", name, "Ready", "False", f"True, but {why}"))
    if ready != "True" and not children and complete:
        found.append(Gap("webapps", name, "Ready", "True", f"{ready} {condition(webapp, 'Ready', 'reason')}"))
    if deployment is not None and is_child(deployment, webapp):
        for count in ("replicas", "readyReplicas", "updatedReplicas"):
            wanted, told = deployment.get("status", {}).get(count, 0), status.get(count, 0)
            if wanted != told:
                found.append(Gap("webapps", name, count, str(wanted), str(told)))
    return found


def condition(webapp: Object, kind: str, what: str = "status") -> str:
    """Return the status of a condition, or its reason."""
    conditions = webapp.get("status", {}).get("conditions", ())
    return str(next((found.get(what) for found in conditions if found["type"] == kind), None))


def is_complete(deployment: Object) -> bool:
    """Tell whether a rollout is complete."""
    status, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    counts = {status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")}
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return seen and counts == {wanted}


def _common(webapp: Object, plural: str, thing: Object | None, name: str) -> Iterator[Gap]:
    if thing is None or is_going(thing):
        yield Gap(plural, name, "existence", "there", "missing" if thing is None else "going")
    elif not is_child(thing, webapp):
        yield Gap(plural, name, "owner", str(webapp["metadata"]["uid"]), str(controller(thing).get("uid")))
    else:
        wanted = {**webapp["spec"].get("labels", {}), **standard_labels(webapp["metadata"]["name"])}
        live = thing["metadata"].get("labels") or {}
        yield from _different(plural, name, "label", wanted, live)


def _different(plural: str, name: str, what: str, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[Gap]:
    for key, value in wanted.items():
        if live.get(key) != value:
            yield Gap(plural, name, f"{what} {key}", str(value), str(live.get(key)))


def _account(webapp: Object, objects: Objects) -> Iterator[Gap]:
    if webapp["spec"].get("serviceAccount", {}).get("create", True):
        yield from _common(webapp, "serviceaccounts", objects["serviceaccounts"].get(place(webapp)), place(webapp)[1])


def _service(webapp: Object, objects: Objects) -> Iterator[Gap]:
    name, wanted = place(webapp)[1], service_ports(webapp)
    if not wanted:
        return
    live = objects["services"].get(place(webapp))
    found = list(_common(webapp, "services", live, name))
    yield from found
    if live is None or any(gap.field in ("existence", "owner") for gap in found):
        return
    ports = {port.get("name", ""): port["port"] for port in live["spec"].get("ports") or ()}
    yield from _different("services", name, "port", wanted, ports)
    yield from _different("services", name, "selector", {LABEL: name}, live["spec"].get("selector") or {})


def service_ports(webapp: Object) -> dict[str, int]:
    """Return the ports of the Service by name."""
    container = webapp["spec"].get("ports", [])
    given = webapp["spec"].get("service", {}).get("ports", [])
    if not container:
        return {}
    return {port["name"]: port["port"] for port in given} or {port["name"]: port["containerPort"] for port in container}


def _deployment(webapp: Object, objects: Objects) -> Iterator[Gap]:
    name, live = place(webapp)[1], objects["deployments"].get(place(webapp))
    found = list(_common(webapp, "deployments", live, name))
    yield from found
    if live is None or any(gap.field in ("existence", "owner") for gap in found):
        return
    template = live["spec"]["template"]
    labels = {**webapp["spec"].get("labels", {}), **standard_labels(name)}
    yield from _different("deployments", name, "pod label", labels, template["metadata"].get("labels") or {})
    container: Object = next((each for each in template["spec"]["containers"] if each["name"] == "app"), {})
    if container.get("image") != webapp["spec"]["image"]:
        yield Gap("deployments", name, "image", webapp["spec"]["image"], str(container.get("image")))
    yield from _replicas(webapp, live, objects)


def _replicas(webapp: Object, live: Object, objects: Objects) -> Iterator[Gap]:
    if autoscaler(webapp, objects) is not None:
        return
    wanted, found = webapp["spec"].get("replicas", 1), live["spec"].get("replicas", 1)
    note = (live["metadata"].get("annotations") or {}).get(REPLICAS_NOTE)
    if wanted != found and note != f"kept={found},spec={wanted}":
        yield Gap("deployments", place(webapp)[1], "replicas", str(wanted), f"{found} with note {note}")


def _config(webapp: Object, objects: Objects) -> Iterator[Gap]:
    namespace, name = place(webapp)
    deployment, config = objects["deployments"].get((namespace, name)), webapp["spec"].get("config", {})
    if deployment is None or is_going(deployment) or not is_child(deployment, webapp):
        return
    found = referred(deployment)
    yield from _different("deployments", name, "config", dict.fromkeys(config, True), dict.fromkeys(found, True))
    for key in found:
        if key not in config:
            yield Gap("deployments", name, f"config {key}", "none", found[key])
    for source in sorted(set(found.values())):
        live = objects["configmaps"].get((namespace, source))
        yield from _common(webapp, "configmaps", live, source)
        if live is not None and config and (live.get("data") or {}) != config:
            # Another name is wanted: the Deployment is what is behind, or else the content was changed.
            yield Gap("deployments", name, "config data", str(config), str(live.get("data")))


def lacks_config(webapp: Object, objects: Objects) -> bool:
    """Tell whether no ConfigMap of a WebApp has the content that it says."""
    config, namespace = webapp["spec"].get("config", {}), place(webapp)[0]
    maps = [thing for (where, _), thing in objects["configmaps"].items() if where == namespace]
    return bool(config) and not any(is_child(thing, webapp) and thing.get("data") == config for thing in maps)


def referred(deployment: Object) -> dict[str, str]:
    """Return the ConfigMap that each variable of a Deployment's container comes from."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    container: Object = next((each for each in containers if each["name"] == "app"), {})
    found = {}
    for variable in container.get("env") or ():
        source = (variable.get("valueFrom") or {}).get("configMapKeyRef")
        if source:
            found[variable["name"]] = source["name"]
    return found


def _leftovers(webapp: Object, objects: Objects) -> Iterator[Gap]:
    """Children that are no longer wanted, once the Deployment is rolled out."""
    namespace, name = place(webapp)
    deployment = objects["deployments"].get((namespace, name))
    if deployment is None or not is_complete(deployment):
        return
    wanted = {("configmaps", source) for source in referred(deployment).values()}
    wanted |= {("services", name)} if service_ports(webapp) else set()
    wanted |= {("serviceaccounts", name)} if webapp["spec"].get("serviceAccount", {}).get("create", True) else set()
    for plural in CHILDREN[:-1]:
        for (where, what), thing in objects[plural].items():
            ours = where == namespace and is_child(thing, webapp) and applied_by_us(thing)
            labelled = (thing["metadata"].get("labels") or {}).get(LABEL) == name
            if ours and labelled and not is_going(thing) and (plural, what) not in wanted:
                yield Gap(plural, what, "leftover", "gone", "there")


def told(webapp: Object, gap: Gap) -> str:
    """Return the health that the status tells of the child with a gap."""
    kind = KIND_OF[gap.plural]
    children = webapp.get("status", {}).get("children", ())
    return next((found["health"] for found in children if (found["kind"], found["name"]) == (kind, gap.name)), "")


def concerns(thing: Object, where: Place) -> bool:
    """Tell whether an object has to do with a WebApp."""
    if place(thing)[0] != where[0]:
        return False
    labels = thing["metadata"].get("labels") or {}
    names = {place(thing)[1], labels.get(LABEL), controller(thing).get("name")}
    target = (thing.get("spec") or {}).get("scaleTargetRef") or {}
    return where[1] in names | {target.get("name")}


def held_by_policy(webapp: Object, gap: Gap | None) -> bool:
    """Tell whether the status says that a policy holds a field of a child; the operator does not ask twice."""
    children = webapp.get("status", {}).get("children", ())
    return any(
        "admission policy" in child.get("message", "") and (gap is None or child["name"] == gap.name)
        for child in children
    )


def is_behind(webapp: Object) -> bool:
    """Tell whether the status is of an earlier generation."""
    return bool(webapp.get("status", {}).get("observedGeneration") != webapp["metadata"].get("generation"))
