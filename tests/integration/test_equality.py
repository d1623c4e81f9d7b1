"""Property test of the diff: it is empty exactly when a dry run of the apply returns the live object.

Only this module imports the operator's own diff, because that is under test; the API server decides.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pykube
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster import ControlPlane
from coxswain.kernel.conflicts.diff import differences
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.quantity import canonical
from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.spec import WebApp
from integration.pod_specs import pods
from rendered import comparable, desired, kind_of, observe

GOLDEN = Path(__file__).parents[1] / "golden" / "in"
APPLY = "application/apply-patch+yaml"
VOLATILE = ("resourceVersion", "generation", "managedFields")


class Bench:
    """One WebApp, paused so that the running operator writes nothing, and its children, written by the test."""

    def __init__(self, api: pykube.HTTPClient, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        manifest = {
            "apiVersion": "coxswain.dev/v1",
            "kind": "WebApp",
            "metadata": {"name": "equal", "namespace": namespace},
            "spec": {"image": "registry.example/web:1", "paused": True},
        }
        path = f"/apis/coxswain.dev/v1/namespaces/{namespace}/webapps"
        self.uid = self.send("POST", path, manifest, "application/json")["metadata"]["uid"]

    def webapp(self, spec: Any) -> WebApp:
        """Return the WebApp with this spec."""
        return WebApp(namespace=self.namespace, name="equal", uid=self.uid, generation=1, spec=spec)

    def send(self, method: str, path: str, body: Any, content_type: str, **query: str) -> Any:
        """Send a request; return the response, or None for a client error."""
        answer = self.api.session.request(
            method,
            self.api.url + path,
            params=query,
            data=json.dumps(body),
            headers={"Content-Type": content_type},
        )
        assert answer.status_code < 500 or "typed patch" in answer.text, answer.text
        return answer.json() if answer.ok else None

    def path(self, manifest: Manifest) -> str:
        """Return the path of a child."""
        return kind_of(manifest).path(self.namespace, manifest["metadata"]["name"])

    def apply(self, manifest: Manifest, **query: str) -> Any:
        """Apply a child like the operator."""
        return self.send("PATCH", self.path(manifest), manifest, APPLY, fieldManager="coxswain", force="true", **query)

    def get(self, manifest: Manifest) -> Any:
        """Return the live child."""
        return self.send("GET", self.path(manifest), None, "application/json")

    def delete(self, manifest: Manifest) -> None:
        """Delete a child."""
        self.send("DELETE", self.path(manifest), {}, "application/json")

    def agrees(self, manifest: Manifest) -> None:
        """Assert that the diff and a dry run of the apply agree on the live child."""
        while True:
            live = self.get(manifest)
            result = self.apply(manifest, dryRun="All")
            if self.get(manifest)["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]:
                break  # no controller wrote between the two reads
        observed = observe(kind_of(manifest), live)
        found = differences(comparable(manifest), observed.content, observed.owned)
        same = result is not None and masked(result) == masked(live)
        assert same == (not found), [(difference.text, difference.wanted, difference.found) for difference in found]


def masked(live: Manifest) -> Manifest:
    """Return a live object without the fields that a no-op apply may change: versions and times."""
    shown = copy.deepcopy(live)
    entries = [{**entry, "time": None} for entry in shown["metadata"]["managedFields"]]
    shown["metadata"] = {key: value for key, value in shown["metadata"].items() if key not in VOLATILE}
    return {**shown, "managedFields": sorted(entries, key=str), "status": None}


@pytest.fixture(scope="module")
def bench(cluster: ControlPlane) -> Iterator[Bench]:
    """A namespace for all examples."""
    cluster.kubectl("create", "namespace", "equality")
    yield Bench(cluster.pykube(), "equality")
    cluster.kubectl("delete", "namespace", "equality", "--wait=false")


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.yaml")))
def test_an_applied_object_is_equal(bench: Bench, name: str) -> None:
    """`desired` emits only canonical forms: there is no diff directly after the apply."""
    spec = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text())["spec"]
    for manifest in desired(bench.webapp({**spec, "replicas": 0})):
        bench.delete(manifest)
        live = bench.apply(manifest)
        observed = observe(kind_of(manifest), live)
        assert differences(comparable(manifest), observed.content, observed.owned) == []
        bench.agrees(manifest)


BASE = {"image": "registry.example/web:1", "replicas": 0}
parts = st.fixed_dictionaries(
    {},
    optional={
        "image": st.sampled_from(["registry.example/web:1", "registry.example/web:2"]),
        "command": st.sampled_from([["a"], ["a", "b"], ["b", "a"], []]),
        "env": st.lists(
            st.builds(
                lambda name, value: {"name": name, "value": value},
                st.sampled_from("ABC"),
                st.sampled_from(["", "1", "2"]),
            ),
            max_size=3,
            unique_by=lambda variable: variable["name"],
        ),
        "ports": st.lists(
            st.sampled_from([80, 8080]).map(lambda port: {"name": f"p{port}", "containerPort": port}),
            max_size=2,
            unique_by=lambda port: port["containerPort"],
        ),
        "labels": st.dictionaries(st.sampled_from(["team", "tier"]), st.sampled_from(["", "x"])),
        "annotations": st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["", "x"])),
        "nodeSelector": st.dictionaries(st.sampled_from(["disk", "zone"]), st.sampled_from(["", "x"])),
        "resources": st.sampled_from([{}, {"requests": {"cpu": "1000m"}}, {"limits": {"memory": "1024Mi"}}]),
        "tolerations": st.sampled_from([[], [{"operator": "Exists"}], [{"key": "a", "operator": "Exists"}]]),
        "topologySpreadConstraints": st.just([]),
        "rollout": st.sampled_from([{"maxSurge": 1}, {"strategy": "Recreate"}, {"revisionHistoryLimit": 0}]),
        "serviceAccount": st.just({"create": False}),
        "config": st.dictionaries(st.sampled_from(["K", "L"]), st.sampled_from(["", "x"])),
    },
)


def ours(live: Manifest) -> int:
    """Return the index of our container."""
    names = [container["name"] for container in live["spec"]["template"]["spec"]["containers"]]
    return names.index("app")


def meddle(bench: Bench, manifest: Manifest, how: str) -> None:
    """Change the live Deployment as another manager."""
    container = f"/spec/template/spec/containers/{ours(bench.get(manifest))}"
    merges: dict[str, Any] = {
        "label": {"metadata": {"labels": {"theirs": "yes"}}},
        "our label": {"metadata": {"labels": {"app.kubernetes.io/name": "other"}}},
        "no label": {"metadata": {"labels": {"app.kubernetes.io/name": None}}},
        "no owner": {"metadata": {"ownerReferences": None}},
        "restart": {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}},
        "replicas": {"spec": {"replicas": 1}},
        "other field": {"spec": {"minReadySeconds": 1}},
        "node": {"spec": {"template": {"spec": {"nodeSelector": {"theirs": "x"}}}}},
    }
    patches: dict[str, Any] = {
        "sidecar": [
            {"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "mesh", "image": "p:1"}}
        ],
        "variable": [{"op": "add", "path": f"{container}/env", "value": [{"name": "THEIRS", "value": "1"}]}],
        "image": [{"op": "replace", "path": f"{container}/image", "value": "registry.example/evil:1"}],
    }
    if how in merges:
        bench.send("PATCH", bench.path(manifest), merges[how], "application/merge-patch+json")
    elif how in patches:
        bench.send("PATCH", bench.path(manifest), patches[how], "application/json-patch+json")
    elif how == "shared":
        shared = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 0}}
        bench.send("PATCH", bench.path(manifest), shared, APPLY, fieldManager="other")


MEDDLINGS = [
    "label",
    "our label",
    "no label",
    "no owner",
    "restart",
    "replicas",
    "other field",
    "node",
    "sidecar",
    "variable",
    "image",
    "shared",
]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(parts, st.one_of(st.none(), parts), st.lists(st.sampled_from(MEDDLINGS), max_size=2, unique=True))
def test_equal_exactly_when_a_dry_run_changes_nothing(
    bench: Bench, before: Any, after: Any, meddlings: list[str]
) -> None:
    """For pairs of specs, with changes by other managers in between: the diff of an applied Deployment."""
    first = desired(bench.webapp({**BASE, **before}))[-1]
    bench.delete(first)
    bench.apply(first)
    for how in meddlings:
        meddle(bench, first, how)
    for manifest in (first, desired(bench.webapp({**BASE, **(before if after is None else after)}))[-1]):
        bench.agrees(manifest)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(pods, pods, st.lists(st.sampled_from(["sidecar", "restart", "image", "shared"]), max_size=1))
def test_fields_for_pods_are_equal_exactly_when_a_dry_run_changes_nothing(
    bench: Bench, before: Any, after: Any, meddlings: list[str]
) -> None:
    """Volumes, init containers and sidecars are added, reordered, changed and removed."""
    first, second = (desired(bench.webapp({**BASE, **spec}))[-1] for spec in (before, after))
    bench.delete(first)
    bench.apply(first)
    for how in meddlings:
        meddle(bench, first, how)
    bench.agrees(first)
    bench.agrees(second)
    live = bench.apply(second)
    observed = observe(DEPLOYMENT, live)
    assert differences(comparable(second), observed.content, observed.owned) == []


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(parts, parts)
def test_the_other_children_are_equal_exactly_when_a_dry_run_changes_nothing(
    bench: Bench, before: Any, after: Any
) -> None:
    """For ServiceAccount, ConfigMap and Service, with pairs of specs."""
    old = {bench.path(manifest): manifest for manifest in desired(bench.webapp({**BASE, **before}))}
    for manifest in desired(bench.webapp({**BASE, **after})):
        path = bench.path(manifest)
        if kind_of(manifest) is DEPLOYMENT or path not in old:
            continue
        bench.delete(manifest)
        bench.apply(old[path])
        bench.agrees(manifest)


quantities = st.one_of(
    st.builds(
        lambda number, unit: f"{number}{unit}",
        st.integers(0, 10**7),
        st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E2", "e-3"]),
    ),
    st.builds(
        lambda whole, fraction, unit: f"{whole}.{fraction}{unit}",
        st.integers(0, 2000),
        st.integers(0, 9999),
        st.sampled_from(["", "m", "u", "k", "M", "Ki", "Mi", "Gi", "e1", "e-2"]),
    ),
)


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(quantities, min_size=50, max_size=100))
def test_quantities_are_stored_as_sent_with_an_equal_value(bench: Bench, texts: list[str]) -> None:
    """A dry run of a LimitRange shows the API server's form of any quantity.

    The server keeps some non-canonical forms (`1.100`, `01`), but the operator sends none of these.
    """
    sent = [canonical(text) for text in texts]
    assert written(bench, sent) == sent
    assert [canonical(text) for text in written(bench, texts)] == sent


def written(bench: Bench, texts: list[str]) -> list[str]:
    """Return the quantities in the API server's form."""
    limits = {f"example.com/q{number}": text for number, text in enumerate(texts)}
    manifest = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "quantities"},
        "spec": {"limits": [{"type": "Container", "max": limits}]},
    }
    path = f"/api/v1/namespaces/{bench.namespace}/limitranges"
    answer = bench.send("POST", path, manifest, "application/json", dryRun="All")
    return [answer["spec"]["limits"][0]["max"][name] for name in limits]
