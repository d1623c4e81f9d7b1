"""An operator for some namespaces, with rights in these only."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.scene import CHILDREN, Scene, eventually

OVERLAYS = Path(__file__).parents[2] / "manifests" / "overlays"
ROLE, ROUTES = OVERLAYS / "served-namespace" / "role.yaml", OVERLAYS / "routes" / "role.yaml"
ACCOUNT = "scoped"


def grant(cluster: ControlPlane, namespace: str, home: str) -> None:
    """Bind the overlays' roles in a namespace to a ServiceAccount of another, combined into one role."""
    role, routes = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in (ROLE, ROUTES))
    role["rules"] += routes["rules"]
    cluster.kubectl("apply", "--namespace", namespace, "-f", "-", input=json.dumps(role))
    account = f"--serviceaccount={home}:{ACCOUNT}"
    cluster.kubectl("create", "rolebinding", ACCOUNT, f"--role={role['metadata']['name']}", account, "-n", namespace)


def test_only_the_given_namespaces_are_served(
    cluster: ControlPlane, make_namespace: Callable[[], str], another_operator: Callable[..., OperatorProcess]
) -> None:
    first, second, other = (make_namespace() for _ in range(3))
    cluster.kubectl("create", "serviceaccount", ACCOUNT, "--namespace", first)
    for namespace in (first, second):
        grant(cluster, namespace, first)
    mark = cluster.audit()
    kubeconfig = cluster.service_account_kubeconfig(first, ACCOUNT)
    operator = another_operator("--namespace", f"{first},{second}", kubeconfig=kubeconfig)
    scenes = [Scene(cluster, namespace, operator) for namespace in (first, second, other)]
    for scene in scenes:
        scene.apply()
    for scene in scenes[:2]:
        scene.ready()
        scene.kubectl("delete", "service", "web")
        eventually(partial(scene.names, "service"), "the Service is created again")
        scene.ready()
    assert scenes[2].get("webapp")["status"] == {"observedGeneration": 0}
    assert [scenes[2].names(kind) for kind in CHILDREN] == [[], [], [], []]
    requests = [event for event in mark.events() if event.user == f"system:serviceaccount:{first}:{ACCOUNT}"]
    assert {event.namespace for event in requests if event.resource} == {first, second}
    assert not [event for event in requests if event.code == 403]


@pytest.mark.slow
def test_a_namespace_without_rights_stops_no_other(
    cluster: ControlPlane, make_namespace: Callable[[], str], another_operator: Callable[..., OperatorProcess]
) -> None:
    """K5: readiness and visible WebApps report kind, namespace and reason; later rights take effect."""
    first, second, third = (make_namespace() for _ in range(3))
    cluster.kubectl("create", "serviceaccount", ACCOUNT, "--namespace", first)
    grant(cluster, first, first)
    # In the third namespace all rights except those for Deployments.
    grant(cluster, third, first)
    role = yaml.safe_load(ROLE.read_text(encoding="utf-8"))
    for rule in role["rules"]:
        rule["resources"] = [resource for resource in rule["resources"] if resource != "deployments"] or ["none"]
    cluster.kubectl("apply", "--namespace", third, "-f", "-", input=json.dumps(role))
    kubeconfig = cluster.service_account_kubeconfig(first, ACCOUNT)
    operator = another_operator("--namespace", f"{first},{second},{third}", kubeconfig=kubeconfig)
    scenes = [Scene(cluster, namespace, operator) for namespace in (first, second, third)]
    for scene in scenes:
        scene.apply()
    scenes[0].ready()
    eventually(
        lambda: f"webapps of {second} cannot be listed: 403 Forbidden" in operator.probe("/readyz")[1], "the reason"
    )
    assert operator.probe("/readyz")[0] == 200
    assert f'coxswain_unlisted{{kind="deployments",namespace="{third}"}} 1.0' in operator.metrics()[1]
    message = scenes[2].not_ready("NotListed")["message"]
    assert f"deployments.apps cannot be listed in namespace {third}: 403 Forbidden" in message
    assert [scenes[2].names(kind) for kind in CHILDREN] == [[], [], [], []]
    grant(cluster, second, first)
    cluster.kubectl("apply", "--namespace", third, "-f", str(ROLE))
    for scene in scenes:
        scene.ready()
    eventually(lambda: operator.probe("/readyz")[1] == "ready\n", "nothing is missing")
