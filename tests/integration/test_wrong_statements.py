"""Common but wrong statements about resourceVersion. Each test refutes one of them."""

import pytest

from cluster import ControlPlane, KubectlError
from integration.collection import Collection

pytestmark = pytest.mark.semantics


def test_a_resource_version_does_not_begin_at_1_for_each_object(collection: Collection) -> None:
    """Wrong: 'a new object has resourceVersion 1, and each change adds 1'. It is the revision of etcd."""
    first, second = collection.create("a"), collection.create("b")
    assert 1 < first < second
    collection.change("b", "2")
    collection.change("b", "3")
    assert collection.change("a", "2") - first > 2, "the changes of b count too"


def test_generation_is_not_a_resource_version(cluster: ControlPlane, namespace: str) -> None:
    """Wrong: 'generation and resourceVersion count the same'. A metadata change does not change the generation."""

    def ask(*arguments: str) -> str:
        return cluster.kubectl("--namespace", namespace, *arguments)

    ask("create", "deployment", "a", "--image=registry.example/a:1", "--replicas=0")
    path = "--output=jsonpath={.metadata.generation} {.metadata.resourceVersion}"
    generation, version = ask("get", "deployment", "a", path).split()
    ask("label", "deployment", "a", "mine=yes")
    later = ask("get", "deployment", "a", path).split()
    assert later[0] == generation == "1"
    assert int(later[1]) > int(version)


@pytest.mark.parametrize("match", ["Before", "After", "NewerThan", "MostRecent"])
def test_there_are_two_values_of_a_match(collection: Collection, match: str) -> None:
    """Wrong: 'resourceVersionMatch can be Before'. The values are Exact and NotOlderThan."""
    version = collection.create("a")
    answer = collection.list(resourceVersion=version, resourceVersionMatch=match)
    assert answer.status == 422
    assert 'supported values: "Exact", "NotOlderThan", ""' in answer.body["message"]


@pytest.mark.parametrize("match", ["Exact", "NotOlderThan"])
def test_a_watch_takes_no_match_without_initial_events(collection: Collection, match: str) -> None:
    """Wrong: 'resourceVersionMatch=NotOlderThan makes a watch consistent'. It is for lists, and streamed lists."""
    version = collection.create("a")
    query = {"watch": "true", "resourceVersion": version, "resourceVersionMatch": match, "timeoutSeconds": 1}
    answer = collection.list(**query)
    assert answer.status == 422
    assert "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided" in answer.body["message"]


@pytest.mark.parametrize("verb", ["get", "watch"])
def test_kubectl_get_has_no_option_for_it(cluster: ControlPlane, namespace: str, verb: str) -> None:
    """Wrong: 'kubectl get --resource-version=N shows an old state'. Only --raw can set the parameter."""
    watch = ("--watch",) if verb == "watch" else ()
    with pytest.raises(KubectlError, match="unknown flag: --resource-version"):
        cluster.kubectl("--namespace", namespace, "get", "leases", *watch, "--resource-version=1")


def test_kubectl_get_raw_reaches_the_parameter(cluster: ControlPlane, namespace: str, collection: Collection) -> None:
    version = collection.create("a")
    collection.change("a", "2")
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    found = cluster.kubectl("get", "--raw", f"{path}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert '"holderIdentity":"1"' in found


def test_an_old_version_of_one_object_is_not_available(collection: Collection) -> None:
    """Wrong: 'GET with resourceVersion returns that version'. It is a lower bound."""
    version = collection.create("a")
    later = collection.change("a", "2")
    assert collection.get("a", resourceVersion=version).version == later
