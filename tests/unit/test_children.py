"""The children of a WebApp: golden files, and properties of every child."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.pod_security import violations
from coxswain.webapp.spec import WebApp
from rendered import desired
from unit.objects import webapp

GOLDEN = Path(__file__).parents[1] / "golden"


def golden_names() -> list[str]:
    """Return the names of the golden WebApps."""
    return sorted(path.stem for path in (GOLDEN / "in").glob("*.yaml"))


def read(path: Path) -> WebApp:
    """Return a golden WebApp as stored by the API server."""
    raw = yaml.safe_load(path.read_text())
    return WebApp(namespace="shop", name=raw["metadata"]["name"], uid="uid-1", generation=1, spec=raw["spec"])


@pytest.mark.parametrize("name", golden_names())
def test_golden(name: str) -> None:
    """Compare the children with tests/golden/out; `make golden` writes these files."""
    made = yaml.safe_dump_all(desired(read(GOLDEN / "in" / f"{name}.yaml")), sort_keys=False, width=120)
    out = GOLDEN / "out" / f"{name}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        out.write_text(made)
    assert made == out.read_text(), "review the difference; if it is intended, run make golden"


def kinds(app: WebApp) -> list[str]:
    """Return the kinds of the children, in order."""
    return [manifest["kind"] for manifest in desired(app)]


def test_all_in_the_order_in_which_they_are_written() -> None:
    app = webapp(ports=[{"name": "http", "containerPort": 80}], config={"A": "1"})
    assert kinds(app) == ["ServiceAccount", "ConfigMap", "Service", "Deployment"]
    more = webapp(**app.spec, network={"egress": []}, autoscaling={"maxReplicas": 2})
    guards = ["NetworkPolicy", "PodDisruptionBudget"]
    assert kinds(more) == ["ServiceAccount", "ConfigMap", "Service", *guards, "Deployment", "HorizontalPodAutoscaler"]


def test_without_ports_no_service_and_without_config_no_config_map() -> None:
    assert kinds(webapp()) == ["ServiceAccount", "Deployment"]


def test_an_existing_service_account() -> None:
    app = webapp(serviceAccount={"create": False, "name": "theirs"})
    assert kinds(app) == ["Deployment"]
    assert pod(app)["serviceAccountName"] == "theirs"


def pod(app: WebApp) -> Manifest:
    """Return the pod's spec."""
    spec: Manifest = desired(app)[-1]["spec"]["template"]["spec"]
    return spec


def container(app: WebApp) -> Manifest:
    """Return the container."""
    made: Manifest = pod(app)["containers"][0]
    return made


@pytest.mark.parametrize(
    ("ports", "grace", "seconds"),
    [([], None, None), ([80], None, 5), ([80], 60, 5), ([80], 4, 2), ([80], 1, None), ([80], 0, None)],
)
def test_the_sleep_before_the_stop_leaves_time_to_stop(
    ports: list[int], grace: int | None, seconds: int | None
) -> None:
    spec: dict[str, Any] = {"ports": [{"name": f"p{port}", "containerPort": port} for port in ports]}
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    sleep = container(webapp(**spec)).get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds")
    assert sleep == seconds


def test_readiness_is_by_default_the_first_tcp_port() -> None:
    ports = [{"name": "dns", "containerPort": 53, "protocol": "UDP"}, {"name": "http", "containerPort": 80}]
    assert container(webapp(ports=ports))["readinessProbe"] == {"tcpSocket": {"port": "http"}}
    assert "readinessProbe" not in container(webapp(ports=ports[:1]))


def test_the_name_of_the_config_map_follows_its_content_alone() -> None:
    def name(**spec: Any) -> str:
        return str(desired(webapp(**spec))[1]["metadata"]["name"])

    first = name(config={"A": "1", "B": "2"})
    assert name(config={"B": "2", "A": "1"}, replicas=3) == first
    assert name(config={"A": "1", "B": "3"}) != first
    files = [{"path": "/etc/a", "content": "x"}, {"path": "/etc/b", "content": "y"}]
    assert name(files=files) == name(files=files[::-1])


def test_an_empty_list_of_spread_constraints_means_no_spread() -> None:
    assert "topologySpreadConstraints" in pod(webapp())
    assert "topologySpreadConstraints" not in pod(webapp(topologySpreadConstraints=[]))


def test_quantities_are_canonical() -> None:
    resources = {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": 2}}
    assert container(webapp(resources=resources))["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi"},
        "limits": {"cpu": "2"},
    }


values = st.text(max_size=20)
specs = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 5),
        "command": st.lists(values, max_size=2),
        "workingDir": st.sampled_from(["", "/srv"]),
        "config": st.dictionaries(st.from_regex(r"[A-Z]{1,5}", fullmatch=True), values, max_size=4),
        "env": st.lists(
            st.builds(lambda name, value: {"name": name, "value": value}, st.sampled_from("abcdef"), values),
            max_size=4,
            unique_by=lambda variable: variable["name"],
        ),
        "labels": st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.sampled_from(["", "x"]), max_size=3),
        "ports": st.lists(
            st.integers(1, 65535).map(lambda port: {"name": f"p{port}", "containerPort": port}),
            max_size=3,
            unique_by=lambda port: port["containerPort"],
        ),
        "serviceAccount": st.fixed_dictionaries({"create": st.booleans()}),
        "terminationGracePeriodSeconds": st.integers(0, 60),
        "paused": st.booleans(),
    },
)


@pytest.mark.thorough
@given(specs)
def test_rules_of_every_webapp(spec: dict[str, Any]) -> None:
    app = webapp(**spec)
    manifests = desired(app)
    assert manifests == desired(app)
    for manifest in manifests:
        metadata = manifest["metadata"]
        assert metadata["namespace"] == app.namespace
        assert metadata["name"] == app.name or manifest["kind"] == "ConfigMap"
        assert metadata["labels"]["coxswain.dev/webapp"] == app.name
        [reference] = metadata["ownerReferences"]
        assert (reference["uid"], reference["controller"]) == (app.uid, True)
        assert "blockOwnerDeletion" not in reference
    assert desired(app)[-1]["spec"]["selector"] == {"matchLabels": {"coxswain.dev/webapp": app.name}}
    assert pod(app)["automountServiceAccountToken"] is False
    assert pod(app)["securityContext"]["runAsNonRoot"] is True
    assert violations(desired(app)[-1]["spec"]["template"]) == []
    assert violations({"spec": {"containers": [container(app)]}}) == [], "whatever the pod template contains"
    assert ("Service" in kinds(app)) == bool(spec.get("ports"))
    assert ("ConfigMap" in kinds(app)) == bool(spec.get("config"))
    assert ("PodDisruptionBudget" in kinds(app)) == (spec.get("replicas", 1) > 1)
    assert "NetworkPolicy" not in kinds(app)
    assert "HorizontalPodAutoscaler" not in kinds(app)


@pytest.mark.thorough
@given(specs)
def test_nothing_is_said_that_the_server_would_not_store(spec: dict[str, Any]) -> None:
    def empties(value: Any, path: str) -> list[str]:
        if isinstance(value, dict):
            inner = [empty for key, item in value.items() for empty in empties(item, f"{path}.{key}")]
        elif isinstance(value, list):
            inner = [empty for item in value for empty in empties(item, f"{path}[]")] if "command" not in path else []
        else:
            inner = []
        return inner + ([path] if value in (None, "", [], {}) and value is not False else [])

    for manifest in desired(webapp(**spec)):
        found = [
            path
            for path in empties(manifest, "")
            if not path.startswith((".metadata.labels", ".data", ".spec.template.metadata.labels"))
        ]
        assert found == []
