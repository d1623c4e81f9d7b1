"""Walks the schema in a run: a WebApp that is changed again and again, beside ones that are new with the same spec.

What a field was before must leave no trace: the children of both are the same but for their names.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pykube import HTTPClient

from faults.evidence import Object, applied, condition, controller
from faults.schema_walk import Group, Mutation, groups, mutations, together
from faults.script import Walk
from faults.stand import Stand, eventually_equal

ROOT = Path(__file__).parents[2]
LANES = 8
"""How many WebApps are changed at the same time, each over its own part of the way."""
GROUP = 4
"""How many fields are changed in one step; what is rejected together is tried alone."""
ROUND_SECONDS = 40.0
CHILDREN = ("serviceaccounts", "configmaps", "services", "deployments")
_VERSION = "coxswain.dev/v1"
_OF_ONE_OBJECT = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
_REVISION = "deployment.kubernetes.io/revision"


def schema() -> Mapping[str, Any]:
    """Return the schema of a WebApp's spec."""
    crd = yaml.safe_load((ROOT / "crds" / "webapps.yaml").read_text(encoding="utf-8"))
    found: Mapping[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def everything() -> dict[str, Any]:
    """Return a spec with nearly every field, and without pods, which would take their time at each change.

    The golden one has quantities in forms that the schema refuses.
    """
    text = (ROOT / "tests" / "golden" / "in" / "everything.yaml").read_text(encoding="utf-8")
    accepted = text.replace("cpu: 0.5", "cpu: 500m").replace("divisor: 1024Ki", "divisor: 1Mi")
    return {**yaml.safe_load(accepted)["spec"], "replicas": 0}


def bases() -> list[dict[str, Any]]:
    """Return specs that together have every field of the schema: the one of all, and others for what excludes it."""
    all_of_it = everything()
    spread = {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    handlers = [
        {"httpGet": {"path": "/a", "port": "http", "scheme": "HTTP", "httpHeaders": [{"name": "X-A", "value": "1"}]}},
        {"tcpSocket": {"port": 8080}},
        {"grpc": {"port": 9000, "service": "a"}},
        {"exec": {"command": ["/bin/check"]}},
    ]
    others = [
        {
            **all_of_it,
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
    return [all_of_it, *others]


def way(step: Walk) -> list[Mutation]:
    """Return the mutations that a step tries."""
    return mutations(schema(), bases())[step.part - 1 :: step.parts]


def walk(stand: Stand, step: Walk) -> tuple[list[str], str]:
    """Walk; return what went wrong, and how far it was."""
    walker = _Walker(stand)
    waiting = groups([mutation for mutation in way(step) if walker.takes(mutation)], GROUP)
    while waiting and not walker.violations:
        ways, waiting = waiting[:LANES], waiting[LANES:]
        waiting += walker.go(ways)
    if not walker.violations:
        walker.go([(Mutation("", "back to the beginning", bases()[0]),)] * LANES)
    walker.end()
    told = f"{walker.accepted} mutations of the spec as in a new WebApp; {len(walker.rejected)} rejected by the schema:"
    return walker.violations, "\n  ".join([told, *walker.rejected])


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
        """Change each WebApp, make a new one beside it, and wait until their children are the same.

        Returns:
            what must be tried alone, because it was rejected together.
        """
        self.round += 1
        pairs = {lane: group for lane, group in enumerate(ways) if self._changed(lane, group)}
        self.accepted += sum(len(group) for group in pairs.values())
        found = eventually_equal(lambda: self._differences(pairs), ROUND_SECONDS)
        self.violations += [f"after {ROUND_SECONDS:.0f} s {each}" for each in found]
        for lane in pairs:
            self._delete(self._fresh(lane))
        refused = [group for lane, group in enumerate(ways) if lane not in pairs and len(group) > 1]
        return [(mutation,) for group in refused for mutation in group]

    def takes(self, mutation: Mutation) -> bool:
        """Tell whether the schema allows a mutation; if not, see that it is refused of a WebApp that is there, too."""
        name = f"fresh-{mutation.field.lower()}"
        if self._send("post", "webapps?dryRun=All", _webapp(name, mutation.spec)) is None:
            return True
        self._changed(0, (mutation,))
        return False

    def end(self) -> None:
        """Delete what is left."""
        for lane in range(LANES):
            self._delete(f"evolved-{lane}")

    def _fresh(self, lane: int) -> str:
        return f"fresh-{lane}-{self.round}"

    def _changed(self, lane: int, group: Group) -> bool:
        """Change a WebApp, and make a new one; tell whether the API server took both: it may only refuse both."""
        spec, named = together(group), ", ".join(map(str, group))
        made = self._send("post", "webapps", _webapp(self._fresh(lane), spec))
        before = self._find(f"evolved-{lane}")
        changed = self._send("patch", f"webapps/evolved-{lane}", [{"op": "replace", "path": "/spec", "value": spec}])
        if made is None and changed is None:
            return True
        if made is None or changed is None:
            self.violations.append(f"{named}: new {made or 'taken'}; changed {changed or 'taken'}")
        elif self._find(f"evolved-{lane}")["metadata"]["generation"] != before["metadata"]["generation"]:
            self.violations.append(f"{named} was rejected, and yet changed the WebApp")
        elif len(group) == 1:
            self.rejected.append(f"{named}: {made}")
        return False

    def _send(self, method: str, url: str, body: Any) -> str | None:
        """Send; return the refusal, if it is one of the schema's."""
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
    """Return what is not as it should be of a WebApp that was changed and of a new one with the same spec."""
    webapps = {thing["metadata"]["name"]: thing for thing in end["webapps"]}
    found = [problem for name in (evolved, fresh) for problem in _unfinished(webapps[name])]
    old, new = (_shown(end, webapps[name]) for name in (evolved, fresh))
    return found + [
        f"{key} of the changed one is {json.dumps(old.get(key))}, and of a new one {json.dumps(new.get(key))}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]


def _unfinished(webapp: Object) -> list[str]:
    name, generation = webapp["metadata"]["name"], webapp["metadata"]["generation"]
    if webapp.get("status", {}).get("observedGeneration") != generation:
        return [f"{name} is not at its generation"]
    stalled = condition(webapp, "Stalled")
    if stalled.get("status") == "True":
        return [f"{name} was taken, but is Stalled for {stalled['reason']}: {stalled['message']}"]
    return []


def _shown(end: Mapping[str, Sequence[Object]], webapp: Object) -> dict[str, Any]:
    """Return, by kind and part, the children of a WebApp without what is of one object only."""
    uid, name = webapp["metadata"]["uid"], webapp["metadata"]["name"]
    shown: dict[str, Any] = {}
    for resource in CHILDREN:
        for child in end[resource]:
            if (controller(child) or {}).get("uid") == uid:
                text = json.dumps(_comparable(child)).replace(name, "<name>").replace(uid, "<uid>")
                key = f"{resource}/{child['metadata']['name'].replace(name, '<name>')}"
                shown |= {f"{key}.{part}": value for part, value in json.loads(text).items()}
    return shown


def _comparable(child: Object) -> dict[str, Any]:
    metadata = {key: value for key, value in child["metadata"].items() if key not in _OF_ONE_OBJECT}
    metadata["annotations"] = {key: value for key, value in metadata.get("annotations", {}).items() if key != _REVISION}
    rest = {key: value for key, value in child.items() if key not in ("metadata", "status")}
    spec = {key: value for key, value in rest.get("spec", {}).items() if key not in ("clusterIP", "clusterIPs")}
    return {**rest, "spec": spec, "metadata": metadata, "owned": json.loads(json.dumps(applied(child), sort_keys=True))}


def _webapp(name: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": _VERSION, "kind": "WebApp", "metadata": {"name": name}, "spec": spec}
