"""The installed manifests agree with each other, with the settings and with pyproject.toml."""

import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from kubernetes.aio.config.incluster_config import SERVICE_CERT_FILENAME, SERVICE_TOKEN_FILENAME

from cluster.kind.operator_image import REPOSITORY
from coxswain.command_line import settings
from coxswain.kernel.election.slots import slots
from coxswain.settings import MAXIMUM_SLOTS, Settings
from coxswain.webapp.workload import WORKLOAD
from demo.render import HEADER, OVERLAY, RENDERED
from yaml_files import document, documents

ROOT = Path(__file__).parents[2]
SINGLE_NAMESPACE = OVERLAY.parent / "single-namespace"
SERVED = OVERLAY.parent / "served-namespace"
METRICS = OVERLAY.parents[1] / "components" / "metrics"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

Object = dict[str, Any]


def resources(directory: Path) -> list[Object]:
    """Return the objects of a kustomization and of the kustomizations named by it."""
    (path,) = (path for path in directory.iterdir() if path.stem.lower() == "kustomization")
    kustomization = document(path)
    found: list[Object] = []
    for name in [*kustomization["resources"], *kustomization.get("components", [])]:
        path = (directory / name).resolve()
        found += resources(path) if path.is_dir() else documents(path)
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
    """`make manifests` renders the file again. The overlay transforms nothing, so its files are the output."""
    text = RENDERED.read_text(encoding="utf-8")
    assert text.startswith(HEADER)
    assert sorted(documents(RENDERED), key=identity) == sorted(resources(OVERLAY), key=identity)


def test_a_standby_is_there_all_the_time(installed: dict[tuple[str, str], Object], deployment: Object) -> None:
    spec = deployment["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    budget = installed["PodDisruptionBudget", "coxswain"]["spec"]
    assert budget == {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": spec["selector"]}


def test_the_replicas_avoid_each_others_node_but_do_not_need_two(deployment: Object, pod: Object) -> None:
    [preferred] = pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    term = preferred["podAffinityTerm"]
    assert (term["topologyKey"], term["labelSelector"]) == ("kubernetes.io/hostname", deployment["spec"]["selector"])


@pytest.mark.parametrize("overlay", ["cluster", "single-namespace", "several-namespaces", "out-of-cluster"])
def test_the_operator_may_write_its_own_lease_and_no_other(overlay: str) -> None:
    """S1: the rights are in its own namespace, and for the name that the operator uses."""
    found = {identity(thing): thing for thing in resources(OVERLAY.parent / overlay)}
    role, binding = (found[kind, "coxswain-leader-election"] for kind in ("Role", "RoleBinding"))
    assert role["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [WORKLOAD.projector.manager],
            "verbs": ["get", "update"],
        },
    ]
    account = found["ServiceAccount", "coxswain"]["metadata"]
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == account["namespace"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    [subject] = binding["subjects"]
    assert (subject["namespace"], subject["name"]) == (account["namespace"], account["name"])
    others = [rules for thing in found.values() if thing is not role for rules in thing.get("rules") or []]
    assert not [rule for rule in others if {"leases", "*"} & set(rule.get("resources", []))]


def test_the_component_of_slots_grants_the_names_of_all_leases() -> None:
    """S1: RBAC cannot limit `list` by a name."""
    folder = OVERLAY.parents[1] / "components" / "slots"
    [listing, named] = [operation["value"] for operation in document(folder / "role.yaml")]
    names = [slot.lease_name(WORKLOAD.projector.manager) for slot in slots(MAXIMUM_SLOTS)]
    assert listing == {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]}
    assert named == {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": names,
        "verbs": ["get", "update"],
    }


def test_the_component_of_slots_sets_their_number() -> None:
    patch = document(OVERLAY.parents[1] / "components" / "slots" / "deployment.yaml")
    [container] = patch["spec"]["template"]["spec"]["containers"]
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    assert patch["spec"]["replicas"] == 3
    assert settings([], environment).slots == 6


def test_the_lease_is_in_the_namespace_of_the_pod(container: Object) -> None:
    """The projected volume has the namespace, by the downward API."""
    assert "COXSWAIN_LEADER_ELECT" not in str(container)
    made = settings(container["args"], {})
    assert (made.leader_elect, made.leader_elect_namespace) == (True, None)


def test_the_selector_finds_the_pods_and_no_webapps(deployment: Object) -> None:
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert "app.kubernetes.io/component" in labels, "a WebApp called coxswain also has the label `name`"


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
    """S3: until the installer names a registry. A name without a host would refer to a public registry."""
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
    assert settings(container["args"], {}).listen == f":{ports['probes']}", "on every address, IPv4 and IPv6"
    for probe, path in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]:
        assert container[probe]["httpGet"] == {"path": path, "port": "probes"}


def test_what_is_in_hand_has_time_to_end(pod: Object) -> None:
    """The drain timeout counts twice: once for reconciles, then for the watches. The release of the Lease follows."""
    made = Settings()
    assert pod["terminationGracePeriodSeconds"] > 2 * made.drain_timeout + 2 * made.election.request_timeout


def test_requests_and_limits(container: Object) -> None:
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"memory"}, "a CPU limit slows the start"


def test_the_token_is_for_this_pod_alone_and_short_lived(
    installed: dict[tuple[str, str], Object], pod: Object, container: Object
) -> None:
    """S10: the operator reads the token several times during its life, at the usual path in a pod."""
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
    # The kubelet renews the token after 80 % of its lifetime.
    assert Settings().token_interval < 0.2 * token["serviceAccountToken"]["expirationSeconds"] / 1.5
    account = installed["ServiceAccount", pod["serviceAccountName"]]
    assert account["automountServiceAccountToken"] is False
    (subject,) = installed["ClusterRoleBinding", "coxswain"]["subjects"]
    assert (subject["namespace"], subject["name"]) == (account["metadata"]["namespace"], account["metadata"]["name"])


def test_the_operators_token_is_limited_by_a_policy(installed: dict[tuple[str, str], Object]) -> None:
    """S1: RBAC grants whole kinds. tests/integration/test_admission_policy.py tests the refusals of the policy."""
    policy = installed["ValidatingAdmissionPolicy", "coxswain-operator"]
    binding = installed["ValidatingAdmissionPolicyBinding", "coxswain-operator"]["spec"]
    assert binding == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}, (
        "the policy applies to every namespace"
    )
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
    assert found == {"ServiceAccount", "Role", "RoleBinding", "Deployment", "PodDisruptionBudget"}
    kustomization = yaml.safe_load((SINGLE_NAMESPACE / "kustomization.yaml").read_text(encoding="utf-8"))
    assert kustomization["namespace"] == "default", "this namespace always exists; docs/install.md uses it"


def test_an_operator_of_several_namespaces_has_one_of_its_own() -> None:
    """S2: anyone with the role `edit` in the operator's namespace can act as the operator."""
    overlay = OVERLAY.parent / "several-namespaces"
    found = {identity(thing): thing for thing in resources(overlay)}
    assert found.keys() == {
        ("ServiceAccount", "coxswain"),
        ("Deployment", "coxswain"),
        ("PodDisruptionBudget", "coxswain"),
        ("Role", "coxswain-leader-election"),
        ("RoleBinding", "coxswain-leader-election"),
        ("Namespace", "coxswain-system"),
        *map(identity, resources(METRICS)),
    }, "the overlay grants no right in this namespace but that on the Lease"
    assert found["Namespace", "coxswain-system"] == yaml.safe_load((OVERLAY / "namespace.yaml").read_text("utf-8"))
    granted = {thing["kind"]: thing for thing in resources(SERVED)}
    assert granted.keys() == {"Role", "RoleBinding"}
    assert not any("namespace" in thing["metadata"] for thing in granted.values()), (
        "`kubectl apply -n` sets the namespace"
    )
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
        "coxswain-metrics-auth": [],
        "coxswain-metrics-reader": [],
        "coxswain-webapps-view": ["view"],
        "coxswain-webapps-edit": ["edit"],
        "coxswain-webapps-admin": ["admin"],
    }


BASE_INSTALLATIONS = ("cluster", "single-namespace", "several-namespaces", "served-namespace", "routes")


def granting_secrets(things: list[Object]) -> list[Object]:
    """Return the roles with a right on Secrets."""
    rules = {identity(thing): thing.get("rules") or [] for thing in things}
    granting = {"secrets", "*"}
    return [
        thing for thing in things if any(granting & set(rule.get("resources", [])) for rule in rules[identity(thing)])
    ]


@pytest.mark.parametrize("overlay", BASE_INSTALLATIONS)
def test_an_installation_has_no_right_on_secrets_and_asks_for_none(overlay: str) -> None:
    things = resources(OVERLAY.parent / overlay)
    assert granting_secrets(things) == []
    assert "COXSWAIN_WATCH_METADATA" not in str(things)
    assert Settings().watch_metadata == ()


@pytest.mark.parametrize("overlay", ["restart-on", "cluster-restart-on"])
def test_an_overlay_of_its_own_grants_to_list_and_watch_secrets(overlay: str) -> None:
    things = resources(OVERLAY.parent / overlay)
    [role] = granting_secrets(things)
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}]
    bindings = [thing for thing in things if thing.get("roleRef", {}).get("name") == role["metadata"]["name"]]
    [(binding, subject)] = [(each, each["subjects"][0]) for each in bindings]
    assert binding["roleRef"]["kind"] == role["kind"]
    assert (subject["namespace"], subject["name"]) == ("coxswain-system", "coxswain")


def test_the_overlay_for_the_cluster_sets_what_is_watched() -> None:
    path = OVERLAY.parent / "cluster-restart-on" / "kustomization.yaml"
    [patch] = yaml.safe_load(path.read_text(encoding="utf-8"))["patches"]
    [operation] = yaml.safe_load(patch["patch"])
    [variable] = operation["value"]
    assert settings([], {variable["name"]: variable["value"]}).watch_metadata == ("secrets", "configmaps")


def test_the_base_of_the_image_is_an_argument_and_its_user_a_number() -> None:
    dockerfile = (ROOT / "operator" / "Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${BASE}"}
    assert re.findall(r"^USER (\S+)", dockerfile, re.MULTILINE) == ["65532:65532"]
