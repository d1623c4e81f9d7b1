"""What is installed: that the files agree with each other, with the settings and with pyproject.toml."""

import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from kubernetes.aio.config.incluster_config import SERVICE_CERT_FILENAME, SERVICE_TOKEN_FILENAME

from cluster.kind.operator_image import REPOSITORY
from cluster.render import HEADER, OVERLAY, RENDERED
from coxswain.command_line import settings
from coxswain.settings import Settings

ROOT = Path(__file__).parents[2]
SINGLE_NAMESPACE = OVERLAY.parent / "single-namespace"
SERVED = OVERLAY.parent / "served-namespace"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

Object = dict[str, Any]


def resources(directory: Path) -> list[Object]:
    """The objects of the files that a kustomization names, and those of the kustomizations that it names."""
    (path,) = (path for path in directory.iterdir() if path.stem.lower() == "kustomization")
    kustomization = yaml.safe_load(path.read_text(encoding="utf-8"))
    found: list[Object] = []
    for name in [*kustomization["resources"], *kustomization.get("components", [])]:
        path = (directory / name).resolve()
        found += resources(path) if path.is_dir() else yaml.safe_load_all(path.read_text(encoding="utf-8"))
    return found


def identity(thing: Object) -> tuple[str, str]:
    return thing["kind"], thing["metadata"]["name"]


@pytest.fixture(scope="module")
def installed() -> dict[tuple[str, str], Object]:
    return {identity(thing): thing for thing in resources(OVERLAY)}


@pytest.fixture(scope="module")
def deployment(installed: dict[tuple[str, str], Object]) -> Object:
    return installed["Deployment", "coxswain"]


@pytest.fixture(scope="module")
def pod(deployment: Object) -> Object:
    found: Object = deployment["spec"]["template"]["spec"]
    return found


@pytest.fixture(scope="module")
def container(pod: Object) -> Object:
    (found,) = pod["containers"]
    return dict(found)


def test_the_rendered_file_is_the_overlay() -> None:
    """`make manifests` renders it anew. The overlay transforms nothing, so its files are what comes out."""
    text = RENDERED.read_text(encoding="utf-8")
    assert text.startswith(HEADER)
    assert sorted(yaml.safe_load_all(text), key=identity) == sorted(resources(OVERLAY), key=identity)


def test_there_is_one_operator_at_a_time(deployment: Object) -> None:
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


def test_the_selector_finds_the_pods_and_no_webapps(deployment: Object) -> None:
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert "app.kubernetes.io/component" in labels, "a WebApp called coxswain has the label `name` too"


def test_the_pod_meets_pod_security_restricted(pod: Object, container: Object) -> None:
    """The rules: https://kubernetes.io/docs/concepts/security/pod-security-standards/."""
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert not [field for field in pod if field.startswith("host")]
    assert [volume.keys() - {"name"} for volume in pod["volumes"]] == [{"projected"}]


def test_the_namespace_enforces_pod_security_restricted(installed: dict[tuple[str, str], Object]) -> None:
    labels = installed["Namespace", "coxswain-system"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    assert labels["pod-security.kubernetes.io/enforce-version"] == "latest"


def test_the_image_is_that_of_this_version(container: Object) -> None:
    assert container["image"] == f"{REPOSITORY}:{PROJECT['version']}"
    assert container["imagePullPolicy"] == "IfNotPresent"


def test_the_image_can_be_pulled_from_nowhere(container: Object) -> None:
    """S3: until the installer names a registry. A name without a host would be a public registry's."""
    host = container["image"].partition("/")[0]
    assert host.endswith(".invalid"), "reserved by RFC 2606: it never resolves"


@pytest.mark.parametrize(
    ("label", "field"), [("version", "version"), ("description", "description"), ("licenses", "license")]
)
def test_the_labels_of_the_image_are_those_of_the_project(label: str, field: str) -> None:
    dockerfile = (ROOT / "operator" / "Dockerfile").read_text(encoding="utf-8")
    assert f'org.opencontainers.image.{label}="{PROJECT[field]}"' in dockerfile


def test_the_probes_are_where_the_operator_listens(container: Object) -> None:
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert settings(container["args"], {}).listen == f":{ports['probes']}", "of every address, IPv4 and IPv6"
    for probe, path in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]:
        assert container[probe]["httpGet"] == {"path": path, "port": "probes"}


def test_what_is_in_hand_has_time_to_end(pod: Object) -> None:
    """The drain timeout is there twice: for reconciles, then for the watches."""
    assert pod["terminationGracePeriodSeconds"] > 2 * Settings().drain_timeout


def test_requests_and_limits(container: Object) -> None:
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"memory"}, "a limit of CPU slows the start"


def test_the_token_is_for_this_pod_alone_and_short_lived(
    installed: dict[tuple[str, str], Object], pod: Object, container: Object
) -> None:
    """S10: the operator reads it where a pod's token always is, several times in its life."""
    assert pod["automountServiceAccountToken"] is False
    (volume,) = pod["volumes"]
    (mount,) = container["volumeMounts"]
    token, trust, namespace = volume["projected"]["sources"]
    directory = PurePosixPath(mount["mountPath"])
    assert (mount["name"], mount["readOnly"]) == (volume["name"], True)
    assert str(directory / token["serviceAccountToken"]["path"]) == SERVICE_TOKEN_FILENAME
    assert [str(directory / item["path"]) for item in trust["configMap"]["items"]] == [SERVICE_CERT_FILENAME]
    assert [item["path"] for item in namespace["downwardAPI"]["items"]] == ["namespace"]
    assert token["serviceAccountToken"]["expirationSeconds"] == 600
    # The kubelet renews it after 80 % of its life.
    assert Settings().token_interval < 0.2 * token["serviceAccountToken"]["expirationSeconds"] / 1.5
    account = installed["ServiceAccount", pod["serviceAccountName"]]
    assert account["automountServiceAccountToken"] is False
    (subject,) = installed["ClusterRoleBinding", "coxswain"]["subjects"]
    assert (subject["namespace"], subject["name"]) == (account["metadata"]["namespace"], account["metadata"]["name"])


def test_the_operators_token_is_limited_by_a_policy(installed: dict[tuple[str, str], Object]) -> None:
    """S1: RBAC grants whole kinds. What the policy refuses is tried in tests/integration/test_admission_policy.py."""
    policy = installed["ValidatingAdmissionPolicy", "coxswain-operator"]
    binding = installed["ValidatingAdmissionPolicyBinding", "coxswain-operator"]["spec"]
    assert binding == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}, "in every namespace"
    assert policy["spec"]["failurePolicy"] == "Fail"
    (subject,) = installed["ClusterRoleBinding", "coxswain"]["subjects"]
    (condition,) = policy["spec"]["matchConditions"]
    assert f'"system:serviceaccount:{subject["namespace"]}:{subject["name"]}:"' in condition["expression"]
    asked = {
        (group, resource.partition("/")[0]): set(rule["operations"])
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    verbs = {"create": "CREATE", "patch": "UPDATE", "update": "UPDATE", "delete": "DELETE"}
    granted = {
        (group, resource.partition("/")[0]): {verbs[verb] for verb in rule["verbs"] if verb in verbs}
        for rule in installed["ClusterRole", "coxswain"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if group != "coxswain.dev"
    }
    writable = {kind: written for kind, written in granted.items() if written}
    assert ("apps", "deployments") in writable
    assert [kind for kind, written in writable.items() if not written <= asked.get(kind, set())] == []


def test_a_single_namespace_needs_nothing_cluster_wide() -> None:
    found = {kind for kind, _ in map(identity, resources(SINGLE_NAMESPACE))}
    assert found == {"ServiceAccount", "Role", "RoleBinding", "Deployment"}
    kustomization = yaml.safe_load((SINGLE_NAMESPACE / "kustomization.yaml").read_text(encoding="utf-8"))
    assert kustomization["namespace"] == "default", "it is always there; docs/install.md has it so"


def test_an_operator_of_several_namespaces_has_one_of_its_own() -> None:
    """S2: whoever has `edit` in the operator's namespace can act as the operator."""
    overlay = OVERLAY.parent / "several-namespaces"
    found = {identity(thing): thing for thing in resources(overlay)}
    assert found.keys() == {
        ("ServiceAccount", "coxswain"),
        ("Deployment", "coxswain"),
        ("Namespace", "coxswain-system"),
    }, "and no right in it"
    assert found["Namespace", "coxswain-system"] == yaml.safe_load((OVERLAY / "namespace.yaml").read_text("utf-8"))
    granted = {thing["kind"]: thing for thing in resources(SERVED)}
    assert granted.keys() == {"Role", "RoleBinding"}
    assert not any("namespace" in thing["metadata"] for thing in granted.values()), "kubectl apply -n says it"
    (subject,) = granted["RoleBinding"]["subjects"]
    assert (subject["namespace"], subject["name"]) == ("coxswain-system", "coxswain")


def test_no_role_but_those_of_kubernetes_is_added_to(installed: dict[tuple[str, str], Object]) -> None:
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    aggregated = {
        name: [label.removeprefix(prefix) for label in thing["metadata"]["labels"] if label.startswith(prefix)]
        for (kind, name), thing in installed.items()
        if kind == "ClusterRole"
    }
    assert aggregated == {
        "coxswain": [],
        "coxswain-webapps-view": ["view"],
        "coxswain-webapps-edit": ["edit"],
        "coxswain-webapps-admin": ["admin"],
    }


def test_the_base_of_the_image_is_an_argument_and_its_user_a_number() -> None:
    dockerfile = (ROOT / "operator" / "Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${BASE}"}
    assert re.findall(r"^USER (\S+)", dockerfile, re.MULTILINE) == ["65532:65532"]
