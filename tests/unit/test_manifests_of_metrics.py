"""The port of the metrics in the manifests: who may scrape it, and the rights that the operator needs for that."""

import pytest
import yaml

from coxswain.command_line import settings
from coxswain.kernel.api.access_review import SUBJECT_ACCESS_REVIEW, TOKEN_REVIEW
from coxswain.settings import is_loopback
from demo.render import OVERLAY
from unit.metrics_serving import ROLE
from unit.test_manifests import METRICS, SINGLE_NAMESPACE, Object, identity, resources
from yaml_files import document

AUTH = "coxswain-metrics-auth"


def found(overlay: str) -> dict[tuple[str, str], Object]:
    """Return the objects of an overlay by kind and name."""
    return {identity(thing): thing for thing in resources(OVERLAY.parent / overlay)}


def container(overlay: str = "cluster") -> Object:
    """Return the container of the operator."""
    [only] = found(overlay)["Deployment", "coxswain"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


@pytest.mark.thorough
@pytest.mark.parametrize("overlay", ["cluster", "several-namespaces"])
def test_they_have_a_port_of_their_own_with_authorization(overlay: str) -> None:
    """S5: scrapers find the port by a Service."""
    made = settings(container(overlay)["args"], {})
    ports = {port["name"]: port["containerPort"] for port in container(overlay)["ports"]}
    assert (made.metrics_listen, made.secures_metrics) == (f":{ports['metrics']}", True)
    assert made.listen != made.metrics_listen
    deployment = found(overlay)["Deployment", "coxswain"]
    service = found(overlay)["Service", "coxswain-metrics"]["spec"]
    assert service["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert [(port["port"], port["targetPort"]) for port in service["ports"]] == [(ports["metrics"], "metrics")]


@pytest.mark.parametrize("overlay", ["cluster", "several-namespaces"])
def test_the_operator_may_review_tokens(overlay: str) -> None:
    things = found(overlay)
    assert things["ClusterRole", AUTH]["rules"] == [
        {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["create"]}
        for kind in (TOKEN_REVIEW, SUBJECT_ACCESS_REVIEW)
    ]
    binding = things["ClusterRoleBinding", AUTH]
    assert binding["roleRef"]["name"] == AUTH
    [subject] = binding["subjects"]
    deployment = things["Deployment", "coxswain"]
    account = deployment["metadata"]["namespace"], deployment["spec"]["template"]["spec"]["serviceAccountName"]
    assert (subject["namespace"], subject["name"]) == account


def test_the_administrator_of_the_cluster_decides_who_scrapes() -> None:
    """The role has the name that a refusal tells users to bind."""
    things = found("cluster")
    assert things["ClusterRole", ROLE]["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert ROLE not in {thing["roleRef"]["name"] for thing in things.values() if "roleRef" in thing}


def test_an_operator_of_a_single_namespace_serves_them_on_loopback() -> None:
    """Its admin cannot grant the reviews of tokens, and without them nobody could get the metrics."""
    [patch] = document(SINGLE_NAMESPACE / "kustomization.yaml")["patches"]
    argument, port, _ = yaml.safe_load(patch["patch"])
    place = "/spec/template/spec/containers/0"
    index = container("single-namespace")["args"].index("--metrics-listen=:8443")
    assert (argument["op"], argument["path"]) == ("replace", f"{place}/args/{index}")
    made = settings([argument["value"]], {})
    assert is_loopback(made.metrics_listen)
    assert not made.secures_metrics
    index = [each["name"] for each in container("single-namespace")["ports"]].index("metrics")
    assert (port["op"], port["path"]) == ("remove", f"{place}/ports/{index}")
    assert not set(map(identity, resources(METRICS))) & found("single-namespace").keys()
