"""For each leaf of the schema, the plan's verdict on restarts is what the Deployment controller does."""

import json
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from pykube import HTTPClient

from faults.schema_walk import Mutation, leaves, mutations
from faults.walk import bases, schema
from integration.plugin_http import HttpKubectl
from integration.scene import Scene, eventually
from kubectl_coxswain.changing import RESOURCE
from kubectl_coxswain.child_plan import child_plans
from kubectl_coxswain.kubectl import Kubectl
from kubectl_coxswain.planning import Trial, parsed, restart_of, trials_of
from kubectl_coxswain.snapshot import snapshot

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "plugin.md"
TRIES = 40
"""Values of one leaf that are tried until the API server accepts one."""
PARTS = 24
"""So many that a part ends long before the limit of a test, 300 s, also beside the kind suite."""
PER_LANE = 6
"""Most leaves changed in one WebApp, one after the other."""
VALUES: dict[str, Any] = {
    ".network.ingress[].from.cidrs[].cidr": "10.0.0.0/7",
    ".network.egress[].to.cidrs[].cidr": "10.0.0.0/7",
    ".service.ports[].nodePort": 30123,
    ".service.loadBalancerSourceRanges[]": "192.168.0.0/16",
    ".initContainers[].volumeMounts[].name": "two",
    ".sidecars[].volumeMounts[].name": "two",
    ".sidecars[].env[].value": "2",
    ".conflicts.rules[].kind": "Deployment",
    ".conflicts.rules[].path": "metadata.annotations[example.com/other]",
}
"""Values of leaves for which the walk finds none that the API server accepts."""
_MOUNTING = {"name": "one", "mountPath": "/x"}
_SHARED: dict[str, Any] = {
    "image": "registry.example/web:1",
    "replicas": 0,
    "volumes": [{"name": name, "mountPath": f"/{name}", "emptyDir": {}} for name in ("one", "two")],
    "initContainers": [{"name": "init", "image": "a:1", "volumeMounts": [_MOUNTING]}],
    "sidecars": [{"name": "side", "image": "a:1", "env": [{"name": "A", "value": "1"}], "volumeMounts": [_MOUNTING]}],
}


def all_bases() -> list[dict[str, Any]]:
    """Return specs that together have every leaf of the schema."""
    routes = yaml.safe_load((ROOT / "tests/golden/in/routes.yaml").read_text(encoding="utf-8"))["spec"]
    conflicts = {
        "policy": "Yield",
        "rules": [{"kind": "Service", "path": "metadata.annotations[example.com/team]", "policy": "Halt"}],
    }
    ports = [{**routes["service"]["ports"][0], "nodePort": 30111}, *routes["service"]["ports"][1:]]
    service = {**routes["service"], "type": "LoadBalancer", "loadBalancerClass": "example.com/other"}
    return [
        *map(without_nulls, bases()),
        {**routes, "replicas": 0, "conflicts": conflicts, "paused": False},
        {**routes, "replicas": 0, "service": service},
        {**routes, "replicas": 0, "service": {"type": "NodePort", "ports": ports}},
        {**routes, "replicas": 0, "service": {"headless": True, "replace": "Allowed"}},
        _SHARED,
    ]


def without_nulls(value: Any) -> Any:
    """Return a spec without nulls: the API server drops them from a new object, but refuses them in an update."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def with_leaf(value: Any, path: str, leaf: Any) -> Any:
    """Return a copy with another value at the first place of a path; None if there is no such place."""
    if not path:
        return leaf
    if path.startswith("[]"):
        for number, item in enumerate(value):
            changed = with_leaf(item, path[2:], leaf)
            if changed is not None:
                return [*value[:number], changed, *value[number + 1 :]]
        return None
    name = re.split(r"[.\[]", path[1:])[0]
    if not isinstance(value, Mapping) or name not in value:
        return None
    changed = with_leaf(value[name], path[1 + len(name) :], leaf)
    return None if changed is None else {**value, name: changed}


@dataclass
class Step:
    """A change of one WebApp with the plugin's prediction."""

    what: str
    leaf: str
    predicted: bool
    before: str
    """The template hash before."""
    after: str = ""

    @property
    def wrong(self) -> bool:
        return self.predicted != (self.before != self.after)


@dataclass
class Lane:
    """One WebApp that gets the mutations of one base, and its base again after each."""

    scene: Scene
    api: HTTPClient
    name: str
    base: Mapping[str, Any]
    waiting: list[Mutation]
    steps: list[Step] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    """Restarts that the operator's comparison alone does not announce. The reverse happens: a removed field may have
    had the value of its default, which the API server sets again."""
    _generation: int = 0
    _hash: str = ""

    def manifest(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        metadata = {"name": self.name, "namespace": self.scene.namespace}
        return {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": metadata, "spec": dict(spec)}

    def template_hash(self) -> str:
        """Return the hash of the newest ReplicaSet; empty until controllers have followed."""
        webapp, deployment = self.scene.get("webapp", self.name), self.scene.find("deployment", self.name)
        observed = webapp.get("status", {}).get("observedGeneration", 0) == webapp["metadata"]["generation"]
        if not observed or deployment is None:
            return ""
        if deployment.get("status", {}).get("observedGeneration", 0) != deployment["metadata"]["generation"]:
            return ""
        sets = self.scene.list("replicaset", f"coxswain.dev/webapp={self.name}")
        newest = max(sets, key=lambda each: int(each["metadata"]["annotations"]["deployment.kubernetes.io/revision"]))
        found: str = newest["metadata"]["labels"]["pod-template-hash"]
        return found

    def change(self, spec: Mapping[str, Any], leaf: str, what: str) -> None:
        """Plan a spec, with and without dry runs, and apply it."""
        kubectl = Kubectl(HttpKubectl(self.api), namespace=self.scene.namespace)
        patch = [{"op": "replace", "path": "/spec", "value": dict(spec)}]
        tried_webapp = kubectl.patch(RESOURCE, self.name, self.scene.namespace, patch, kind="json", dry_run=True)
        webapp, world = parsed(tried_webapp), snapshot(kubectl, tried_webapp, datetime.now(UTC))
        plans = child_plans(webapp, world)
        tried = restart_of(webapp, plans, trials_of(kubectl, plans, world), world)
        compared = restart_of(webapp, plans, [Trial()] * len(plans), world)
        if tried.restarts and not compared.restarts:
            self.missed.append(f"{what}: {tried} by dry run, {compared} without")
        self.steps.append(Step(what, leaf, bool(tried.restarts), self._hash))
        self.scene.send("patch", "webapp", f"/{self.name}", patch, "json-patch+json").raise_for_status()

    def follow(self) -> None:
        """Wait for the controllers, and for a predicted restart."""
        step = self.steps[-1] if self.steps else None

        def there() -> str:
            found = self.template_hash()
            return "" if step is not None and step.predicted and found == step.before else found

        try:
            self._hash = eventually(there, f"the Deployment {self.name} follows", timeout=12)
        except AssertionError:
            self._hash = eventually(self.template_hash, f"the Deployment {self.name} is observed", timeout=12)
        if step is not None:
            step.after = self._hash


def accepted(scene: Scene, spec: Mapping[str, Any]) -> bool:
    """Tell whether the API server accepts a spec."""
    thing = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": "tried"}, "spec": spec}
    return bool(scene.send("post", "webapp", "?dryRun=All", thing).ok)


def chosen(scene: Scene, wanted: Sequence[str]) -> tuple[list[Mutation], list[str]]:
    """Return one accepted mutation for each wanted leaf, and the leaves without any."""
    by_path: dict[str, list[Mutation]] = defaultdict(list)
    for mutation in mutations(schema(), all_bases(), left_out=()):
        if "null" not in json.dumps(mutation.spec):
            by_path[mutation.path].append(mutation)
    for leaf, value in VALUES.items():
        specs = ((number, with_leaf(base, leaf, value)) for number, base in enumerate(all_bases()))
        by_path[leaf] = [Mutation(leaf, f"= {value!r}", spec, number) for number, spec in specs if spec is not None]
    found: list[Mutation] = []
    missing: list[str] = []
    for leaf in wanted:
        first = next((each for each in by_path[leaf][:TRIES] if accepted(scene, each.spec)), None)
        if first is None:
            missing.append(leaf)
        else:
            found.append(first)
    return found, missing


def lanes_of(scene: Scene, api: HTTPClient, found: list[Mutation]) -> list[Lane]:
    """Return WebApps with a share of the mutations each."""
    by_base: dict[int, list[Mutation]] = defaultdict(list)
    for mutation in found:
        by_base[mutation.base].append(mutation)
    shares = [
        (base, waiting[start : start + PER_LANE])
        for base, waiting in by_base.items()
        for start in range(0, len(waiting), PER_LANE)
    ]
    return [Lane(scene, api, f"walk-{number}", all_bases()[base], share) for number, (base, share) in enumerate(shares)]


def table(steps: list[Step]) -> dict[str, str]:
    """Return for each field of the spec whether its changes restarted pods: yes, no or sometimes."""
    found: dict[str, set[bool]] = defaultdict(set)
    for step in steps:
        found[re.split(r"[.\[{]", step.leaf.removeprefix("."))[0]].add(step.predicted)
    return {name: "sometimes" if len(seen) > 1 else "yes" if True in seen else "no" for name, seen in found.items()}


def walk(scene: Scene, part: int, parts: int) -> tuple[list[Step], list[str]]:
    """Change each leaf of one part and change it back.

    Returns:
        The changes with their predictions, and the restarts that are not announced without a dry run.
    """
    began = time.monotonic()
    found, missing = chosen(scene, list(leaves(schema()))[part - 1 :: parts])
    assert missing == [], "a leaf needs a value in VALUES"
    lanes = lanes_of(scene, scene.cluster.pykube(), found)
    for lane in lanes:
        scene.send("post", "webapp", "", lane.manifest(lane.base)).raise_for_status()
    for lane in lanes:
        lane.follow()
    while any(lane.waiting for lane in lanes):
        mutated = [(lane, lane.waiting.pop()) for lane in lanes if lane.waiting]
        for lane, mutation in mutated:
            lane.change(mutation.spec, mutation.path, str(mutation))
        for lane, _ in mutated:
            lane.follow()
        for lane, mutation in mutated:
            lane.change(lane.base, mutation.path, f"{mutation}, and back")
        for lane, _ in mutated:
            lane.follow()
    steps = [step for lane in lanes for step in lane.steps]
    restarts = sum(step.predicted for step in steps)
    seconds = time.monotonic() - began
    print(json.dumps(table(steps), sort_keys=True))
    print(f"part {part}: {len(found)} leaves, {len(steps)} changes, {restarts} restarts, {seconds:.0f} s")
    return steps, [each for lane in lanes for each in lane.missed]


@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=pytest.mark.slow if part == 1 else pytest.mark.walk) for part in range(1, PARTS + 1)],
)
def test_the_verdict_is_true_for_each_leaf_of_the_schema(scene: Scene, part: int) -> None:
    scene.kubectl("create", "serviceaccount", "existing")
    steps, missed = walk(scene, part, PARTS)
    wrong = [f"{step.what}: predicted {step.predicted}" for step in steps if step.wrong]
    assert not wrong, "\n".join(wrong)
    assert missed == []
    assert {step.predicted for step in steps} == {True, False}
    documented = verdicts_of_the_document()
    contrary = {name: found for name, found in table(steps).items() if documented.get(name) not in (found, "sometimes")}
    assert contrary == {}, "docs/plugin.md says otherwise"


def verdicts_of_the_document() -> dict[str, str]:
    """Return the verdict of each field of the spec in docs/plugin.md."""
    text = DOCUMENT.read_text(encoding="utf-8").partition("| pods restart | fields of `spec` |")[2]
    rows = dict(re.findall(r"^\| (after each change|never|by the kind of change) \| (.*) \|$", text, re.MULTILINE))
    words = {"after each change": "yes", "never": "no", "by the kind of change": "sometimes"}
    return {name: words[row] for row, names in rows.items() for name in re.findall(r"`(\w+)`", names)}


def test_the_document_has_every_field() -> None:
    assert verdicts_of_the_document().keys() == schema()["properties"].keys()
