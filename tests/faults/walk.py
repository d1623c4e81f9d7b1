"""Walks the schema in a run: some WebApps are changed repeatedly, and compared with new WebApps of the same spec.

Former values of a field must leave no trace: the children of both must be equal except for their names.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pykube import HTTPClient

from fault_engine.objects import Object, applied, condition, controller
from fault_engine.script import Procedure
from fault_engine.stand import Stand, eventually_equal
from faults.pod_bases import pod_bases
from faults.schema_walk import Group, Mutation, groups, mutations, together
from yaml_files import document, webapp_schema

ROOT = Path(__file__).parents[2]
LANES = 8
"""The number of WebApps that are changed concurrently, each over its own mutations."""
GROUP = 4
"""The number of fields changed in one step. If a group is rejected, its mutations are tried alone."""
ROUND_SECONDS = 40.0
CHILDREN = (
    "serviceaccounts",
    "configmaps",
    "services",
    "networkpolicies",
    "poddisruptionbudgets",
    "deployments",
    "horizontalpodautoscalers",
)
_VERSION = "coxswain.dev/v1"
_OF_ONE_OBJECT = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
_ALLOCATED = ("clusterIP", "clusterIPs", "healthCheckNodePort")
_REVISION = "deployment.kubernetes.io/revision"


def schema() -> Mapping[str, Any]:
    """Return the schema of a WebApp's spec."""
    found: Mapping[str, Any] = webapp_schema()["spec"]
    return found


def everything() -> dict[str, Any]:
    """Return a spec with nearly every field, but without pods, because pods take time at each change.

    The golden spec has quantities in forms that the schema refuses.
    """
    text = (ROOT / "tests" / "golden" / "in" / "everything.yaml").read_text(encoding="utf-8")
    accepted = text.replace("cpu: 0.5", "cpu: 500m").replace("divisor: 1024Ki", "divisor: 1Mi")
    return {**yaml.safe_load(accepted)["spec"], "replicas": 0}


def bases() -> list[dict[str, Any]]:
    """Return specs that together have every field of the schema: a large one, and others for exclusive fields."""
    all_of_it = everything()
    spread = {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    handlers = [
        {"httpGet": {"path": "/a", "port": "http", "scheme": "HTTP", "httpHeaders": [{"name": "X-A", "value": "1"}]}},
        {"tcpSocket": {"port": 8080}},
        {"grpc": {"port": 9000, "service": "a"}},
        {"exec": {"command": ["/bin/check"]}},
    ]
    sticky = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}
    ports = {"ports": all_of_it["service"]["ports"]}
    services: list[dict[str, Any]] = [
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"], **sticky, **ports},
        {"type": "ExternalName", "externalName": "example.com", "ports": [{"name": "http", "port": 80}]},
        {
            "type": "NodePort",
            "externalTrafficPolicy": "Local",
            "internalTrafficPolicy": "Local",
            "trafficDistribution": "PreferClose",
            "publishNotReadyAddresses": True,
            **ports,
        },
        all_of_it["service"],
    ]
    others = [
        {
            **all_of_it,
            "service": services[number],
            "startupProbe": handlers[number],
            "readinessProbe": handlers[(number + 1) % 4],
            "livenessProbe": handlers[(number + 3) % 4],
            "serviceAccount": {"create": False, "name": "existing"},
            "topologySpreadConstraints": [
                {**spread, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["team"]}
            ],
        }
        for number in range(4)
    ]
    return [all_of_it, *others, *pod_bases(), *guarded()]


def guarded() -> list[dict[str, Any]]:
    """Return specs with an autoscaler, a budget and a network. Of mutually exclusive fields, each has another."""
    golden = document(ROOT / "tests" / "golden" / "in" / "guarded.yaml")["spec"]
    scaled = {key: value for key, value in golden.items() if key not in ("disruption", "network")}
    metrics = golden["autoscaling"]["metrics"]
    other = [
        {source: {**content, "target": target}}
        for metric in metrics
        for source, content in metric.items()
        for target in [_OTHER_TARGET[source]]
    ]
    rules = golden["network"]["ingress"][:1]
    return [
        {**scaled, "autoscaling": {**golden["autoscaling"], "minReplicas": 1, "maxReplicas": 4}},
        # Only a budget without limits can be disabled.
        {
            "image": golden["image"],
            "autoscaling": {"maxReplicas": 4, "metrics": other},
            "disruption": {"enabled": True},
        },
        {
            "image": golden["image"],
            "replicas": 0,
            "ports": golden["ports"],
            "disruption": {"enabled": True, **golden["disruption"]},
            "network": {
                "defaultDeny": False,
                "ingress": rules,
                "egress": [{"to": rules[0]["from"], "ports": [{"port": 5432, "protocol": "TCP"}]}],
            },
        },
        {"image": golden["image"], "replicas": 0, "disruption": {"enabled": True, "maxUnavailable": 1}},
    ]


_OTHER_TARGET = {
    "resource": {"averageUtilization": 60},
    "containerResource": {"averageValue": "100m"},
    "pods": {"averageValue": 5},
    "object": {"averageValue": 5},
    "external": {"value": 5},
}


def walk_step(part: int, parts: int) -> Procedure:
    """Return the step that walks the schema, or the `part`-th of `parts` equal parts of it."""
    return Procedure("walk the schema", (part, parts))


def way(part: int, parts: int) -> list[Mutation]:
    """Return the mutations of one part."""
    return mutations(schema(), bases())[part - 1 :: parts]


def walk(stand: Stand, part: int, parts: int) -> tuple[list[str], str]:
    """Walk one part; return the violations, and a line for the report."""
    walker = _Walker(stand)
    waiting = groups([mutation for mutation in way(part, parts) if walker.takes(mutation)], GROUP)
    while waiting and not walker.violations:
        ways, waiting = waiting[:LANES], waiting[LANES:]
        waiting += walker.go(ways)
    if not walker.violations:
        walker.go([(Mutation("", "back to the beginning", bases()[0]),)] * LANES)
    walker.end()
    summary = f"{walker.accepted} mutations as in a new WebApp; {len(walker.rejected)} rejected by the schema:"
    return walker.violations, "\n  ".join([summary, *walker.rejected])


@dataclass
class _Walker:
    stand: Stand
    violations: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    accepted: int = 0
    round: int = 0

    def __post_init__(self) -> None:
        self._client: HTTPClient = self.stand.cluster.pykube()
        for lane in range(LANES):
            self._send("post", "webapps", _webapp(f"evolved-{lane}", bases()[0]))

    def go(self, ways: Sequence[Group]) -> list[Group]:
        """Change each WebApp, create a new one with the same spec, and wait until their children are equal.

        Returns:
            the mutations of rejected groups, to be tried alone.
        """
        self.round += 1
        pairs = {lane: group for lane, group in enumerate(ways) if self._changed(lane, group)}
        self.accepted += sum(len(group) for group in pairs.values())
        found = eventually_equal(
            lambda: self._differences(pairs), ROUND_SECONDS, changes=lambda: self.stand.witness.count
        )
        self.violations += [f"after {ROUND_SECONDS:.0f} s {each}" for each in found]
        for lane in pairs:
            self._delete(self._fresh(lane))
        refused = [group for lane, group in enumerate(ways) if lane not in pairs and len(group) > 1]
        return [(mutation,) for group in refused for mutation in group]

    def takes(self, mutation: Mutation) -> bool:
        """Tell whether the schema allows a mutation of a new WebApp. If not, check that it also rejects the update."""
        name = f"fresh-{mutation.field.lower()}"
        if self._send("post", "webapps?dryRun=All", _webapp(name, mutation.spec)) is None:
            return True
        self._changed(0, (mutation,))
        return False

    def end(self) -> None:
        """Delete the remaining WebApps."""
        for lane in range(LANES):
            self._delete(f"evolved-{lane}")

    def _fresh(self, lane: int) -> str:
        return f"fresh-{lane}-{self.round}"

    def _changed(self, lane: int, group: Group) -> bool:
        """Change a WebApp and create a new one. Tell whether the API server accepted both; it may only reject both."""
        spec, named = together(group), ", ".join(map(str, group))
        made = self._send("post", "webapps", _webapp(self._fresh(lane), spec))
        before = self._find(f"evolved-{lane}")
        changed = self._send("patch", f"webapps/evolved-{lane}", [{"op": "replace", "path": "/spec", "value": spec}])
        if made is None and changed is None:
            return True
        if made is None or changed is None:
            self.violations.append(f"{named}: create: {made or 'accepted'}; update: {changed or 'accepted'}")
        elif self._find(f"evolved-{lane}")["metadata"]["generation"] != before["metadata"]["generation"]:
            self.violations.append(f"{named}: rejected, but the WebApp has changed")
        elif len(group) == 1:
            self.rejected.append(f"{named}: {made}")
        return False

    def _send(self, method: str, url: str, body: Any) -> str | None:
        """Send a request; return the refusal if it is one by the schema."""
        kind = "application/json-patch+json" if method == "patch" else "application/json"
        answer = getattr(self._client, method)(
            version=_VERSION,
            namespace=self.stand.namespace,
            url=url,
            headers={"Content-Type": kind},
            data=json.dumps(body),
        )
        if answer.status_code == 422:
            return str(answer.json()["message"])
        answer.raise_for_status()
        return None

    def _find(self, name: str) -> dict[str, Any]:
        answer = self._client.get(version=_VERSION, namespace=self.stand.namespace, url=f"webapps/{name}")
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def _delete(self, name: str) -> None:
        self._client.delete(version=_VERSION, namespace=self.stand.namespace, url=f"webapps/{name}").raise_for_status()

    def _differences(self, pairs: Mapping[int, Group]) -> list[str]:
        end = self.stand.end()
        return [
            f"{', '.join(map(str, group))}: {each}"
            for lane, group in pairs.items()
            for each in differences(end, f"evolved-{lane}", self._fresh(lane))
        ]


def differences(end: Mapping[str, Sequence[Object]], evolved: str, fresh: str) -> list[str]:
    """Return the differences between the children of a changed WebApp and those of a new one with the same spec."""
    webapps = {thing["metadata"]["name"]: thing for thing in end["webapps"]}
    found = [problem for name in (evolved, fresh) for problem in _unfinished(webapps[name])]
    old, new = (_shown(end, webapps[name]) for name in (evolved, fresh))
    return found + [
        f"{key} is {json.dumps(old.get(key))} after the changes, and in a new WebApp {json.dumps(new.get(key))}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]


def _unfinished(webapp: Object) -> list[str]:
    name, generation = webapp["metadata"]["name"], webapp["metadata"]["generation"]
    if webapp.get("status", {}).get("observedGeneration") != generation:
        return [f"{name} has an old status.observedGeneration"]
    stalled = condition(webapp, "Stalled")
    if stalled.get("status") == "True":
        return [f"{name} was accepted, but is Stalled, reason {stalled['reason']}: {stalled['message']}"]
    return []


def _shown(end: Mapping[str, Sequence[Object]], webapp: Object) -> dict[str, Any]:
    """Return the children of a WebApp by kind and part, without fields that are unique to an object."""
    uid, name = webapp["metadata"]["uid"], webapp["metadata"]["name"]
    shown: dict[str, Any] = {}
    kept = _kept(end, uid)
    for resource in CHILDREN:
        for child in end[resource]:
            if (controller(child) or {}).get("uid") == uid and (resource, child["metadata"]["name"]) not in kept:
                text = json.dumps(_comparable(child)).replace(name, "<name>").replace(uid, "<uid>")
                key = f"{resource}/{child['metadata']['name'].replace(name, '<name>')}"
                shown |= {f"{key}.{part}": value for part, value in json.loads(text).items()}
    return shown


def _kept(end: Mapping[str, Sequence[Object]], uid: str) -> set[tuple[str, str]]:
    """Return the ConfigMaps and ServiceAccounts of earlier revisions: they stay as long as these."""
    templates = [
        json.dumps(thing["spec"]["template"])
        for thing in end["deployments"]
        if (controller(thing) or {}).get("uid") == uid
    ]
    owned = {
        (resource, thing["metadata"]["name"])
        for resource in ("configmaps", "serviceaccounts")
        for thing in end[resource]
        if (controller(thing) or {}).get("uid") == uid
    }
    needed = {"configmaps": '"%s"', "serviceaccounts": '"serviceAccountName": "%s"'}
    return {place for place in owned for template in templates if needed[place[0]] % place[1] not in template}


def _comparable(child: Object) -> dict[str, Any]:
    metadata = {key: value for key, value in child["metadata"].items() if key not in _OF_ONE_OBJECT}
    metadata["annotations"] = {key: value for key, value in metadata.get("annotations", {}).items() if key != _REVISION}
    rest = {key: value for key, value in child.items() if key not in ("metadata", "status")}
    spec = {key: value for key, value in rest.get("spec", {}).items() if key not in _ALLOCATED}
    if "ports" in spec:
        spec["ports"] = [_without_node_port(port) for port in spec["ports"]]
    return {
        **rest,
        "spec": spec,
        "metadata": metadata,
        "owned": json.loads(json.dumps(applied(child, "coxswain"), sort_keys=True)),
    }


def _without_node_port(port: Any) -> Any:
    return {key: value for key, value in port.items() if key != "nodePort"} if isinstance(port, Mapping) else port


def _webapp(name: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": _VERSION, "kind": "WebApp", "metadata": {"name": name}, "spec": spec}
