"""The model of the API server against the real one: cases that random requests do not reach.

Pods and Events, discovery, rights, terminating namespaces, and a compacted history.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.disasters import compact
from integration.model_objects import PATHS, manifest_of
from integration.model_sides import CRDS, OPERATOR, Model, Real, Request, Side
from model_cluster.api_server import APPLY, JSON_PATCH, MERGE_PATCH, Expired, Refused, Response

pytestmark = pytest.mark.semantics

CONFIG_MAPS = PATHS["ConfigMap"]
EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"
PODS = "/api/v1/namespaces/{}/pods"

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def own() -> Iterator[ControlPlane]:
    """A Kubernetes without controllers, and without admission plugins that extend pods."""
    flags = ["--disable-admission-plugins=ServiceAccount,DefaultTolerationSeconds,Priority"]
    with ControlPlane(nodes=0, manifests=CRDS, api_server_flags=flags, feature_gates={"WatchList": False}) as cluster:
        for name in ("kube-controller-manager", "kube-scheduler"):
            cluster.stop_program(name)
        yield cluster


@pytest.fixture
def sides(own: ControlPlane) -> list[Side]:
    """Both sides, with a namespace of this test."""
    namespace = f"cases-{next(_numbers)}"
    found = [Side(Real(own), namespace), Side(Model(), namespace)]
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    both(found, Request("POST", "/api/v1/namespaces", body))
    return found


def both(sides: Sequence[Side], request: Request) -> list[Response]:
    """Send a request to both sides; assert that the responses agree."""
    found = [side.ask(request) for side in sides]
    plain = [side.plain(answer) for side, answer in zip(sides, found, strict=True)]
    assert plain[1] == plain[0], f"real: {found[0].body}\nmodel: {found[1].body}"
    return found


def status_of(sides: Sequence[Side], request: Request) -> int:
    """Send a request to both sides; return the status after asserting that the responses agree."""
    return both(sides, request)[0].status


def create(kind: str, name: str) -> Request:
    return Request("POST", PATHS[kind], manifest_of(kind, name))


def apply(kind: str, name: str, *, agent: str = "tester/1") -> Request:
    query = {"fieldManager": "coxswain"}
    return Request("PATCH", f"{PATHS[kind]}/{name}", manifest_of(kind, name), APPLY, agent=agent, query=query)


def test_pods(sides: list[Side]) -> None:
    spec: dict[str, Any] = {"containers": [{"name": "app", "image": "image:1", "resources": {"limits": {"cpu": "1"}}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-", "name": "a"}, "spec": spec}
    waiting = {"name": "app", "image": "image:1", "imageID": "", "ready": False, "restartCount": 0}
    statuses = [
        {"phase": "Pending", "containerStatuses": [{**waiting, "state": {"waiting": {"reason": "ImagePullBackOff"}}}]},
        {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "False"}]},
    ]
    assert status_of(sides, Request("POST", PODS, pod)) == 201
    for status in statuses:
        request = Request("PATCH", f"{PODS}/a/status", {"status": status}, MERGE_PATCH, agent="kubelet")
        assert status_of(sides, request) == 200
    assert status_of(sides, Request("GET", PODS, query={"labelSelector": "!x"})) == 200
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
    assert status_of(sides, Request("DELETE", f"{PODS}/a", body)) == 200
    assert status_of(sides, Request("GET", f"{PODS}/a")) == 404


def test_containers_of_one_name(sides: list[Side]) -> None:
    """Names are unique over containers and init containers."""
    containers = [{"name": name, "image": "image:1"} for name in ("a", "b", "a")]
    init_containers = [{"name": "c", "image": "image:1"}, {"name": "b", "image": "image:1", "restartPolicy": "Always"}]
    spec = {"containers": containers, "initContainers": init_containers}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    made = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": made}
    assert status_of(sides, Request("POST", PATHS["Deployment"], deployment)) == 422


SECRETS = "/api/v1/namespaces/{}/secrets"
PORT: dict[str, Any] = {"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}
SHAPES: dict[str, dict[str, Any]] = {
    "cluster-ip": {"type": "ClusterIP"},
    "node-port": {"type": "NodePort", "externalTrafficPolicy": "Local"},
    "balancer": {"type": "LoadBalancer"},
    "local": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
    "alias": {"type": "ExternalName", "externalName": "shop.example.com"},
    "headless": {"type": "ClusterIP", "clusterIP": "None"},
}
"""The types of Services that the simulation draws, as the operator applies them."""


def service(shape: str, name: str = "a", *, port: int = 80) -> Request:
    """Return the operator's apply of a Service."""
    pods = {"selector": {"app": "a"}, "sessionAffinity": "None", "ports": [{**PORT, "port": port}]}
    spec = {**({} if shape == "alias" else pods), **SHAPES[shape]}
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
    query = {"fieldManager": "coxswain", "force": "true"}
    return Request("PATCH", f"{PATHS['Service']}/{name}", manifest, APPLY, agent="coxswain", query=query)


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("second", SHAPES)
def test_a_service_of_each_type_becomes_each_other_and_comes_back(sides: list[Side], first: str, second: str) -> None:
    """Allocated values are kept, released or allocated; a headless Service stays one, or the change is refused."""
    assert status_of(sides, service(first)) == 201
    for shape in (second, first):
        for port in (80, 81):
            both(sides, service(shape, port=port))
    assert status_of(sides, Request("DELETE", f"{PATHS['Service']}/a")) == 200


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "LoadBalancer"])
def test_a_person_changes_the_type_of_a_service_and_the_operator_applies_it_again(
    sides: list[Side], first: str, kind: str
) -> None:
    both(sides, service(first))
    ports = {"selector": {"app": "a"}, "ports": [PORT]} if first == "alias" else {}
    patch = {"spec": {"type": kind, **ports}}
    both(sides, Request("PATCH", f"{PATHS['Service']}/a", patch, MERGE_PATCH, agent="hand"))
    both(sides, service(first))


def test_a_node_port_of_others_is_kept(sides: list[Side]) -> None:
    both(sides, service("node-port"))
    patch = [{"op": "replace", "path": "/spec/ports/0/nodePort", "value": 32_700}]
    both(sides, Request("PATCH", f"{PATHS['Service']}/a", patch, JSON_PATCH, agent="hand"))
    for shape in ("node-port", "balancer", "cluster-ip"):
        both(sides, service(shape))


def test_secrets_and_lists_of_metadata(sides: list[Side]) -> None:
    nothing = Request("GET", SECRETS, metadata_only=True, query={"fieldSelector": "type!=helm.sh/release.v1"})
    assert status_of(sides, nothing) == 200
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"x": "MQ=="}}
    assert status_of(sides, Request("POST", SECRETS, secret, agent="vault")) == 201
    patches: list[dict[str, Any]] = [
        {"data": {"x": "Mg=="}},
        {"metadata": {"labels": {"x": "1"}}},
        {"data": {"x": None, "y": "MQ=="}},
    ]
    for agent, patch in zip(("vault", "hand", "vault"), patches, strict=True):
        assert status_of(sides, Request("PATCH", f"{SECRETS}/a", patch, MERGE_PATCH, agent=agent)) == 200
    other = Request("PATCH", f"{SECRETS}/a", {"type": "example.com/other"}, MERGE_PATCH, agent="hand")
    assert status_of(sides, other) == 422
    assert status_of(sides, nothing) == 200
    assert status_of(sides, Request("DELETE", f"{SECRETS}/a")) == 200


def test_a_lease_is_renewed_by_a_put_with_changes_alone(sides: list[Side]) -> None:
    """A PUT without changes keeps the resourceVersion, so nobody sees it. Its preconditions are checked."""
    leases = PATHS["Lease"]
    first = both(sides, Request("PUT", f"{leases}/a", manifest_of("Lease", "a")))
    versions = [[int(answer.body["metadata"]["resourceVersion"])] for answer in first]
    for holder, version, status in (
        ("a", "$version", 200),
        ("b", "$version", 200),
        ("b", "$first version", 409),
        ("b", "", 422),
    ):
        manifest = manifest_of("Lease", "a")
        manifest["metadata"] = {
            **manifest["metadata"],
            "uid": "$uid",
            **({"resourceVersion": version} if version else {}),
        }
        manifest["spec"] = {**manifest["spec"], "holderIdentity": holder}
        answers = both(sides, Request("PUT", f"{leases}/a", manifest))
        assert answers[0].status == status
        for known, answer in zip(versions, answers, strict=True):
            if status == 200:
                known.append(int(answer.body["metadata"]["resourceVersion"]))
    for known in versions:
        assert known[0] == known[1] < known[2]
    both(sides, Request("DELETE", f"{leases}/a"))
    gone = {**manifest_of("Lease", "a"), "metadata": {"name": "a", "uid": "$uid"}}
    assert status_of(sides, Request("PUT", f"{leases}/a", gone)) == 409


def test_events(sides: list[Side]) -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a.1", "namespace": "$namespace"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "coxswain.dev/operator",
        "reportingInstance": "a",
        "action": "Create",
        "reason": "Created",
        "note": "made it",
        "type": "Normal",
        "regarding": {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "a", "namespace": "$namespace"},
    }
    request = Request("POST", EVENTS, event, agent="coxswain")
    found = [side.ask(request) for side in sides]
    assert [answer.status for answer in found] == [201, 201], found[0].body
    assert [side.ask(request).status for side in sides] == [409, 409]


def test_discovery(sides: list[Side]) -> None:
    for path in ("/api/v1", "/apis/apps/v1", "/apis/coxswain.dev/v1", "/apis/autoscaling/v2"):
        real, model = (side.ask(Request("GET", path)) for side in sides)
        names = {resource["name"] for resource in real.body["resources"]}
        assert {resource["name"] for resource in model.body["resources"]} <= names
    assert [side.ask(Request("GET", "/apis/nothing.example/v1")).status for side in sides] == [404, 404]


def test_rights(sides: list[Side]) -> None:
    real, model = sides
    assert isinstance(real.server, Real)
    assert isinstance(model.server, Model)
    both(sides, create("ConfigMap", "a"))
    verbs = ("get", "list", "create", "patch", "delete")
    model.server.api.forbidden |= {(verb, "configmaps", model.namespace) for verb in verbs}
    model.server.api.forbidden.add(("patch", "webapps/status", None))
    real.server.impersonate(OPERATOR)
    requests = [
        Request("GET", f"{CONFIG_MAPS}/a", agent="coxswain"),
        Request("GET", CONFIG_MAPS, agent="coxswain"),
        Request("POST", CONFIG_MAPS, manifest_of("ConfigMap", "b"), agent="coxswain"),
        apply("ConfigMap", "a", agent="coxswain"),
        Request("DELETE", f"{CONFIG_MAPS}/a", agent="coxswain"),
        Request("PATCH", f"{PATHS['WebApp']}/a/status", {}, MERGE_PATCH, agent="coxswain"),
    ]
    for request in requests:
        answers = both(sides, request)
        assert answers[0].status == 403
        assert answers[0].body["message"] == answers[1].body["message"]
    model.server.api.forbidden.add(("watch", "configmaps", None))
    with pytest.raises(Refused, match="cannot watch"):
        model.server.api.watch_events(CONFIG_MAPS.replace("{}", model.namespace), since=1, user_agent="coxswain")


def test_the_right_to_create_by_an_apply(sides: list[Side]) -> None:
    """An apply of a missing object needs the verb create as well."""
    real, model = sides
    assert isinstance(real.server, Real)
    assert isinstance(model.server, Model)
    metadata = {"name": "patcher", "namespace": model.namespace}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}]
    group = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}".replace("{}", model.namespace)
    subject = {"kind": "User", "name": "patcher", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "patcher"}
    real.server.send(Request("POST", f"{group}/roles", {"metadata": metadata, "rules": rules}))
    real.server.send(
        Request("POST", f"{group}/rolebindings", {"metadata": metadata, "subjects": [subject], "roleRef": role})
    )
    both(sides, create("ConfigMap", "a"))
    real.server.impersonate("patcher")
    model.server.api.forbidden.add(("create", "configmaps", None))
    model.server.api.restricted_user = "patcher"
    assert status_of(sides, apply("ConfigMap", "a", agent="coxswain")) == 200
    refused = both(sides, apply("ConfigMap", "b", agent="coxswain"))
    assert refused[0].status == 403
    assert refused[0].body["message"] == refused[1].body["message"]


def test_a_terminating_namespace(sides: list[Side]) -> None:
    both(sides, create("ConfigMap", "a"))
    for side in sides:
        answer = side.server.send(Request("DELETE", f"/api/v1/namespaces/{side.namespace}"))
        assert answer.status == 200
        assert answer.body["status"]["phase"] == "Terminating"
    for kind in PATHS:
        for request in (create(kind, "b"), apply(kind, "b")):
            assert status_of(sides, request) == 403
    assert status_of(sides, create("ConfigMap", "a")) in (403, 409)
    assert status_of(sides, apply("ConfigMap", "a")) == 200
    assert status_of(sides, Request("DELETE", f"{CONFIG_MAPS}/a")) == 200


def test_a_namespace_that_is_not_there(sides: list[Side]) -> None:
    for side in sides:
        side.namespace = "nowhere"
    assert status_of(sides, create("ConfigMap", "b")) == 404
    assert status_of(sides, apply("ConfigMap", "b")) == 404
    assert status_of(sides, Request("GET", CONFIG_MAPS)) == 200


def test_a_compacted_history(own: ControlPlane, sides: list[Side]) -> None:
    real, model = sides
    assert isinstance(model.server, Model)
    for name in ("a", "b", "c"):
        both(sides, create("ConfigMap", name))
    start = model.server.api.version
    assert status_of(sides, Request("GET", CONFIG_MAPS, query={"limit": "1"})) == 200
    both(sides, Request("DELETE", f"{CONFIG_MAPS}/b"))
    both(sides, create("ConfigMap", "d"))
    own.stop_program("kube-apiserver")
    compact(own)
    own.start_program("kube-apiserver")
    model.server.api.compact(model.server.api.version)
    page = Request("GET", CONFIG_MAPS, query={"limit": "1", "continue": "$token"})
    expired = both(sides, page)
    assert (expired[0].status, expired[0].body["reason"]) == (410, "Expired")
    for side, answer in zip(sides, expired, strict=True):
        side.tokens[CONFIG_MAPS.replace("{}", side.namespace)] = answer.body["metadata"]["continue"]
    rest = both(sides, Request("GET", CONFIG_MAPS, query={"continue": "$token"}))
    assert [item["metadata"]["name"] for item in rest[0].body["items"]] == ["c", "d"]
    with pytest.raises(Expired):
        model.server.api.watch_events(CONFIG_MAPS.replace("{}", model.namespace), since=start)
    nonsense = Request("GET", CONFIG_MAPS, query={"limit": "1", "continue": "nonsense"})
    assert status_of(sides, nonsense) == 400
    del real
