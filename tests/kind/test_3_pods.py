"""Init containers, sidecars, a read-only root filesystem and volumes under Pod Security `restricted`."""

import base64
import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cluster.kubectl import KubectlError
from integration.scene import eventually
from kind.client import Client, client_pod
from kind.images import CRASHING, EXIT_CODE, LAST_WORDS, V1, V2
from kind.namespace import Namespace, spec
from kind.timings import Timings

USER = 65532
"""The user id of the images. The default of `fsGroup` needs it in `runAsUser`."""
SIDECAR_PORT = 9090
READ_ONLY = "read-only file system"
"""The text of EROFS in Go. The root directory of the image is not writable for the user, which would be EACCES."""


@pytest.fixture
def restricted(namespace: Namespace) -> Namespace:
    """The namespace of this test, which refuses pods that violate Pod Security `restricted`."""
    namespace.cluster.kubectl("label", "namespace", namespace.name, "pod-security.kubernetes.io/enforce=restricted")
    with pytest.raises(KubectlError, match="violates PodSecurity"):
        namespace.create(client_pod("refused", "serve"))
    return namespace


@pytest.fixture
def storage_class(namespace: Namespace) -> Iterator[str]:
    """The class of one PersistentVolume on a worker, because nothing provisions volumes.

    The directory belongs to root, as new volumes do. The kubelet applies `fsGroup` to a local volume, and not to a
    hostPath (https://kubernetes.io/docs/concepts/storage/volumes/#local).
    """
    cluster, name, worker = namespace.cluster, namespace.name, namespace.cluster.nodes[1]
    path = f"/var/lib/{name}"
    cluster.on_node(worker, "mkdir", path)
    on_worker = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [worker]}]}
    volume = {
        "capacity": {"storage": "1Mi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": name,
        "local": {"path": path},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [on_worker]}},
    }
    namespace.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume})
    yield name
    # Its finalizer keeps it until the claim is deleted with the namespace.
    cluster.kubectl("delete", "persistentvolume", name, "--wait=false")
    cluster.on_node(worker, "rm", "-r", path)


def with_sidecar(image: str) -> dict[str, Any]:
    """Return a spec with two init containers, of which one calls the sidecar, and a Service port of the sidecar."""
    ports = [*spec()["service"]["ports"], {"name": "proxy", "port": SIDECAR_PORT, "targetPort": SIDECAR_PORT}]
    shared = {"name": "shared", "mountPath": "/shared"}
    sidecar = {
        "name": "proxy",
        "image": V1,
        # Listens late: without the startupProbe the first init container would find nobody.
        "args": ["serve", "--version=proxy", f"--port={SIDECAR_PORT}", "--start-after=2s"],
        "ports": [{"name": "proxy", "containerPort": SIDECAR_PORT}],
        "startupProbe": {"tcpSocket": {"port": "proxy"}, "periodSeconds": 1, "failureThreshold": 30},
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "proxy"}, "periodSeconds": 1},
    }
    return spec(
        image,
        replicas=2,
        readOnlyRootFilesystem=True,
        writablePaths=["/cache"],
        volumes=[{**shared, "emptyDir": {}}],
        initContainers=[
            {"name": "call", "image": V1, "args": ["get", f"http://127.0.0.1:{SIDECAR_PORT}/"]},
            {"name": "seed", "image": V1, "args": ["write", "--text=seeded", "/shared/seed"], "volumeMounts": [shared]},
        ],
        sidecars=[sidecar],
        service={"ports": ports},
    )


def of_sidecar(namespace: Namespace) -> str:
    """Return the URL of the sidecar's Service port."""
    return f"{namespace.address().rstrip('/')}:{SIDECAR_PORT}/"


def run(namespace: Namespace, pod: str, *command: str, container: str = "app") -> str:
    """Return the output of the program in a container. Raises KubectlError."""
    return namespace.kubectl("exec", pod, "-c", container, "--", "/workload", *command).strip()


def statuses(pod: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the statuses of all containers of a pod by name."""
    status = pod["status"]
    return {each["name"]: each for each in [*status["initContainerStatuses"], *status["containerStatuses"]]}


def test_init_containers_and_a_sidecar_start_in_order(restricted: Namespace, client: Client, timings: Timings) -> None:
    with timings.of("a sidecar and two init containers, 2 replicas: `kubectl apply` to Ready"):
        restricted.apply_ready(with_sidecar(V1))
    name, pod = next(iter(restricted.pods().items()))
    assert [each.get("restartPolicy") for each in pod["spec"]["initContainers"]] == ["Always", None, None]
    found = statuses(pod)
    assert {each: status["restartCount"] for each, status in found.items()} == dict.fromkeys(found, 0)
    call, seed = (found[each]["state"]["terminated"] for each in ("call", "seed"))
    assert (call["exitCode"], seed["exitCode"]) == (0, 0)
    moments = [
        *(found["proxy"]["state"]["running"]["startedAt"], call["startedAt"], call["finishedAt"]),
        *(seed["startedAt"], seed["finishedAt"], found["app"]["state"]["running"]["startedAt"]),
    ]
    assert moments == sorted(moments)
    assert run(restricted, name, "read", "/shared/seed") == "seeded"
    assert client.get(restricted.address()).startswith("v1 web-")
    assert client.get(of_sidecar(restricted)).startswith("proxy web-")


def test_only_the_writable_paths_are_writable(restricted: Namespace) -> None:
    restricted.apply_ready(with_sidecar(V1))
    name = next(iter(restricted.pods()))
    run(restricted, name, "write", "/cache/file")
    assert run(restricted, name, "read", "/cache/file") == "written"
    for container in ("app", "proxy"):
        with pytest.raises(KubectlError, match=READ_ONLY):
            run(restricted, name, "write", "/file", container=container)


def test_a_sidecar_that_ends_is_started_again(restricted: Namespace) -> None:
    restricted.apply_ready(with_sidecar(V1))
    name = next(iter(restricted.pods()))
    # The end of the container may kill the command too.
    with contextlib.suppress(KubectlError):
        run(restricted, name, "stop", container="proxy")

    def anew() -> bool:
        proxy = statuses(restricted.pods()[name])["proxy"]
        return bool(proxy["restartCount"] == 1 and proxy["ready"])

    eventually(anew, "the kubelet starts the sidecar again", timeout=60, pause=0.3)
    restricted.ready()
    restarts = {each: status["restartCount"] for each, status in statuses(restricted.pods()[name]).items()}
    assert restarts == {"proxy": 1, "call": 0, "seed": 0, "app": 0}


def test_a_rolling_update_with_a_sidecar_fails_no_request(
    restricted: Namespace, client: Client, timings: Timings
) -> None:
    restricted.apply_ready(with_sidecar(V1))
    old = set(restricted.pods())
    with client.load(restricted.address()) as load, client.load(of_sidecar(restricted)) as of_proxy:
        with timings.of("rolling update of 2 with a sidecar: new image to Ready; the main container") as row:
            restricted.apply_ready(with_sidecar(V2))
        restricted.gone(*old)
        assert load.versions_now() == {"v2"}
        new = set(restricted.pods())
    row.load = load.report.unharmed()
    assert load.report.versions == {"v1", "v2"}
    assert of_proxy.report.unharmed().pods == old | new


FAILURES: dict[str, tuple[dict[str, Any], str, Sequence[str]]] = {
    "a crash": ({"image": CRASHING}, CRASHING, [f"exit code {EXIT_CODE}", LAST_WORDS]),
    "a read-only root filesystem": (
        {"image": V1, "args": ["write", "/file"]},
        V1,
        ["exit code 1", f"open /file: {READ_ONLY}"],
    ),
}
"""The fields of an init container that fails, its image, and words of the message in the status."""


@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_init_container_harms_no_request_and_is_named(
    restricted: Namespace, client: Client, timings: Timings, name: str
) -> None:
    fields, image, words = FAILURES[name]
    good = spec(V1, replicas=2, readOnlyRootFilesystem=True)
    restricted.apply_ready(good)
    with client.load(restricted.address()) as load:
        with timings.of(f"init container fails, {name}: to its cause in the status") as row:
            restricted.apply({**good, "initContainers": [{"name": "migrate", **fields}]})
            message = restricted.not_ready("CrashLoopBackOff")
        assert all(each in message for each in [f"init container migrate (image {image})", *words]), message
        assert restricted.condition("Available")["status"] == "True"
        old = restricted.pods()
        work = {"name": "work", "mountPath": "/work"}
        corrected = {"name": "migrate", "image": V1, "args": ["write", "/work/file"], "volumeMounts": [work]}
        with timings.of(f"init container fails, {name}: mended, to Ready"):
            restricted.apply_ready({**good, "volumes": [{**work, "emptyDir": {}}], "initContainers": [corrected]})
        restricted.gone(*old)
    row.load = load.report.unharmed()
    assert run(restricted, next(iter(restricted.pods())), "read", "/work/file") == "written"


def test_the_data_of_a_claim_outlive_the_pod(restricted: Namespace, storage_class: str, timings: Timings) -> None:
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Mi"}},
    }
    restricted.create(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim}
    )
    data = {"name": "data", "mountPath": "/data", "subPath": "web", "persistentVolumeClaim": {"claimName": "data"}}
    fields: dict[str, Any] = {"runAsUser": USER, "volumes": [data], "rollout": {"strategy": "Recreate"}}
    restricted.apply_ready(spec(V1, **fields))
    (old,) = restricted.pods()
    run(restricted, old, "write", "--text=kept", "/data/file")
    with timings.of("a WebApp with a claim, strategy Recreate: new image to Ready"):
        restricted.apply_ready(spec(V2, **fields))
    restricted.gone(old)
    (new,) = restricted.pods()
    assert run(restricted, new, "read", "/data/file") == "kept"
    run(restricted, new, "write", "/data/file")


def test_an_ephemeral_claim_goes_with_its_pod(restricted: Namespace, storage_class: str) -> None:
    ephemeral = {"storage": "1Mi", "storageClassName": storage_class}
    scratch = {"name": "scratch", "mountPath": "/scratch", "ephemeral": ephemeral}
    restricted.apply_ready(spec(V1, runAsUser=USER, volumes=[scratch]))
    (name,) = restricted.pods()
    claim = f"{name}-scratch"
    assert restricted.get("persistentvolumeclaim", claim)["status"]["phase"] == "Bound"
    run(restricted, name, "write", "/scratch/file")
    restricted.kubectl("scale", "webapp", "web", "--replicas=0")
    restricted.wait("delete", f"persistentvolumeclaim/{claim}")


def test_configuration_volumes_are_readable(restricted: Namespace) -> None:
    restricted.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "themes"}, "data": {"dark": "black"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tls"}, "stringData": {"tls.crt": "certificate"}},
    )
    items = [{"key": "dark", "path": "dark.css"}]
    token = {"serviceAccountToken": {"path": "token", "audience": "vault"}}
    sources = [token, {"configMap": {"name": "themes"}}, {"secret": {"name": "tls"}}]
    volumes = [
        {"name": "themes", "mountPath": "/etc/themes", "configMap": {"name": "themes", "items": items}},
        # Not for others: readable by the group.
        {"name": "tls", "mountPath": "/etc/tls", "secret": {"secretName": "tls", "defaultMode": 0o440}},
        {"name": "identity", "mountPath": "/identity", "projected": {"defaultMode": 0o440, "sources": sources}},
    ]
    restricted.apply_ready(spec(V1, runAsUser=USER, fsGroup=USER, readOnlyRootFilesystem=True, volumes=volumes))
    (name,) = restricted.pods()
    paths = ("/etc/themes/dark.css", "/etc/tls/tls.crt", "/identity/dark", "/identity/tls.crt")
    assert [run(restricted, name, "read", path) for path in paths] == ["black", "certificate", "black", "certificate"]
    claims = payload(run(restricted, name, "read", "/identity/token"))
    assert claims["aud"] == ["vault"]
    assert claims["sub"] == f"system:serviceaccount:{restricted.name}:web"


def payload(token: str) -> dict[str, Any]:
    """Return the claims of a JSON Web Token (RFC 7519)."""
    part = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found
