"""The pod template: volumes, init containers and sidecars, scheduling. tests/golden has a complete one."""

from typing import Any

import pytest

from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.pod_security import violations
from rendered import desired
from unit.objects import webapp

CLAIM = {"name": "data", "mountPath": "/data", "persistentVolumeClaim": {"claimName": "shop"}}
MIGRATE = {"name": "migrate", "image": "registry.example/migrate:1"}
PROXY = {"name": "proxy", "image": "registry.example/proxy:1"}
CONFIG = {"config": {"A": "1", "B": "2"}, "files": [{"path": "/etc/a", "content": "x"}]}


def template(**spec: Any) -> Manifest:
    made: Manifest = desired(webapp(**spec))[-1]["spec"]["template"]
    return made


def pod(**spec: Any) -> Manifest:
    made: Manifest = template(**spec)["spec"]
    return made


def beside(**spec: Any) -> dict[str, Manifest]:
    """Return the init containers and sidecars by name."""
    return {each["name"]: each for each in pod(**spec)["initContainers"]}


def source(**wanted: Any) -> Manifest:
    """Return the source of a volume."""
    [volume] = pod(volumes=[{"name": "v", **wanted}])["volumes"]
    return {key: value for key, value in volume.items() if key != "name"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("shop", "Always"),
        ("registry.example:5000/shop", "Always"),
        ("shop:latest", "Always"),
        (f"shop:latest@sha256:{'0' * 64}", "Always"),
        ("registry.example:5000/latest:1", "IfNotPresent"),
        (f"shop@sha256:{'0' * 64}", "IfNotPresent"),
    ],
)
def test_the_default_of_the_pull_policy_follows_the_image(image: str, policy: str) -> None:
    """The API server sets the default once: it would keep that of the first image."""
    for fields, expected in (({}, policy), ({"imagePullPolicy": "Never"}, "Never")):
        made = pod(image=image, initContainers=[{"name": "i", "image": image, **fields}], **fields)
        policies = [each.get("imagePullPolicy") for each in (*made["containers"], *made["initContainers"])]
        assert policies == [expected] * 2


@pytest.mark.parametrize(
    ("wanted", "stored"),
    [
        ({"emptyDir": {}}, {"emptyDir": {}}),
        ({"emptyDir": {"sizeLimit": "1024Mi"}}, {"emptyDir": {"sizeLimit": "1Gi"}}),
        (
            {"persistentVolumeClaim": {"claimName": "a", "shared": True}},
            {"persistentVolumeClaim": {"claimName": "a"}},
        ),
        ({"secret": {"secretName": "a", "items": []}}, {"secret": {"secretName": "a"}}),
        (
            {"configMap": {"name": "a", "optional": False, "defaultMode": 0}},
            {"configMap": {"name": "a", "optional": False, "defaultMode": 0}},
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}},
        ),
        (
            {"ephemeral": {"storage": "1024Mi"}},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                    }
                }
            },
        ),
    ],
)
def test_sources_have_the_form_that_the_server_stores(wanted: Any, stored: Any) -> None:
    assert source(**wanted) == stored


def test_a_volume_without_a_mount_path_is_for_other_containers() -> None:
    volumes = [{"name": "run", "emptyDir": {}}, {**CLAIM, "readOnly": False}, {**CLAIM, "name": "x", "readOnly": True}]
    made = pod(volumes=volumes, initContainers=[{**MIGRATE, "volumeMounts": [{"name": "run", "mountPath": "/run"}]}])
    assert [volume["name"] for volume in made["volumes"]] == ["run", "data", "x"]
    assert made["containers"][0]["volumeMounts"] == [
        {"name": "data", "mountPath": "/data"},
        {"name": "x", "mountPath": "/data", "readOnly": True},
    ]
    assert made["initContainers"][0]["volumeMounts"] == [{"name": "run", "mountPath": "/run"}]


def test_each_writable_path_is_an_empty_dir_whose_name_follows_the_path() -> None:
    def names(*paths: str) -> dict[str, str]:
        made = pod(writablePaths=list(paths))
        mounts = made["containers"][0]["volumeMounts"]
        assert [{"name": mount["name"], "emptyDir": {}} for mount in mounts] == made["volumes"]
        return {mount["mountPath"]: mount["name"] for mount in mounts}

    assert names("/tmp", "/var/a")["/tmp"] == names("/var/b", "/tmp")["/tmp"]  # noqa: S108 - a path in a container


@pytest.mark.parametrize(
    ("spec", "group"),
    [
        ({"runAsUser": 1000}, None),
        ({"runAsUser": 1000, "volumes": [{"name": "a", "emptyDir": {}}]}, None),
        ({"runAsUser": 1000, "volumes": [CLAIM]}, 1000),
        ({"runAsUser": 1000, "volumes": [{"name": "a", "ephemeral": {"storage": 1}}]}, 1000),
        ({"runAsUser": 1000, "volumes": [CLAIM], "fsGroup": 2000}, 2000),
        ({"volumes": [CLAIM]}, None),
        ({"fsGroup": 2000}, 2000),
    ],
)
def test_claims_are_writable_by_the_user(spec: Any, group: int | None) -> None:
    """A new volume belongs to root, and no container here runs as root."""
    security = pod(**spec)["securityContext"]
    assert (security.get("fsGroup"), "fsGroupChangePolicy" in security) == (group, group is not None)


def test_sidecars_start_before_init_containers_unless_they_need_them() -> None:
    sidecars = [{**PROXY, "afterInitContainers": True}, {**PROXY, "name": "early"}, {**PROXY, "name": "other"}]
    made = beside(initContainers=[MIGRATE], sidecars=sidecars)
    assert list(made) == ["early", "other", "migrate", "proxy"]
    assert [name for name, each in made.items() if each.get("restartPolicy") == "Always"] == ["early", "other", "proxy"]


def test_config_and_files_are_in_a_container_that_uses_them() -> None:
    made = beside(
        **CONFIG,
        initContainers=[
            {**MIGRATE, "useConfig": True, "env": [{"name": "A", "value": "mine"}]},
            {**MIGRATE, "name": "b"},
        ],
    )
    assert [(each["name"], each.get("value")) for each in made["migrate"]["env"]] == [("B", None), ("A", "mine")]
    assert [mount["mountPath"] for mount in made["migrate"]["volumeMounts"]] == ["/etc/a"]
    assert made["b"].keys().isdisjoint({"env", "volumeMounts"})


@pytest.mark.parametrize("whole", [None, True, False])
@pytest.mark.parametrize("own", [None, True, False])
def test_a_read_only_root_is_that_of_the_webapp_unless_the_container_says_otherwise(
    whole: bool | None, own: bool | None
) -> None:
    spec: dict[str, Any] = {} if whole is None else {"readOnlyRootFilesystem": whole}
    container = MIGRATE if own is None else {**MIGRATE, "readOnlyRootFilesystem": own}
    made = pod(**spec, initContainers=[container])
    assert made["containers"][0]["securityContext"].get("readOnlyRootFilesystem") is whole
    found = made["initContainers"][0]["securityContext"].get("readOnlyRootFilesystem")
    assert found is (whole if own is None else own)


def test_all_containers_are_restricted() -> None:
    volumes = [CLAIM, {"name": "e", "ephemeral": {"storage": 1}}, {"name": "p", "projected": {"sources": []}}]
    made = template(initContainers=[MIGRATE], sidecars=[{**PROXY, "runAsUser": 5}], volumes=volumes)
    assert violations(made) == []
    for container in made["spec"]["initContainers"]:
        assert violations({"spec": {"containers": [container]}}) == [], "whatever the pod template contains"


def affinity(**wanted: Any) -> Manifest:
    made: Manifest = pod(affinity=wanted)["affinity"]
    return made


REQUIRED, PREFERRED = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
OURS = {"matchLabels": {"coxswain.dev/webapp": "web"}}


@pytest.mark.parametrize(
    ("wanted", "made"),
    [
        (None, OURS),
        ({}, {}),
        ({"matchLabels": {}, "matchExpressions": []}, {}),
        ({"matchLabels": {"a": ""}}, {"matchLabels": {"a": ""}}),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": []}]},
            {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        ),
    ],
)
@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_the_default_of_a_selector_is_this_webapp_and_an_empty_one_is_everything(
    kind: str, wanted: Any, made: Any
) -> None:
    term: dict[str, Any] = {"topologyKey": "zone"} | ({} if wanted is None else {"labelSelector": wanted})
    found = affinity(**{kind: {REQUIRED: [term], PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}})
    expected = {"topologyKey": "zone", "labelSelector": made}
    assert found == {kind: {REQUIRED: [expected], PREFERRED: [{"weight": 1, "podAffinityTerm": expected}]}}


def test_an_empty_namespace_selector_means_all_namespaces() -> None:
    term = {"topologyKey": "zone", "namespaceSelector": {}, "namespaces": [], "matchLabelKeys": []}
    found = affinity(podAffinity={REQUIRED: [term]})["podAffinity"][REQUIRED]
    assert found == [{"topologyKey": "zone", "namespaceSelector": {}, "labelSelector": OURS}]


EMPTY: dict[str, Any] = {
    "affinity": {"nodeAffinity": {}, "podAffinity": {PREFERRED: []}, "podAntiAffinity": {}},
    "dnsConfig": {"searches": [], "options": []},
    "hostAliases": [],
    "volumes": [],
    "writablePaths": [],
    "initContainers": [],
    "sidecars": [],
    "rollout": {"minReadySeconds": 0},
}


@pytest.mark.parametrize("field", EMPTY)
def test_an_empty_field_is_as_none(field: str) -> None:
    assert desired(webapp(**{field: EMPTY[field]})) == desired(webapp())
